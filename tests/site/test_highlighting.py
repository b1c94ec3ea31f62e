"""Code in colours, without elements that have none."""

import sys
from io import StringIO
from pathlib import Path

import pytest
from pygments import highlight
from pygments.lexers import PythonLexer
from pygments.styles import get_style_by_name
from pygments.token import Text

sys.path.insert(0, str(Path(__file__).parents[2] / "site" / "extensions"))
from highlighting import PLAIN, ColouredWords


@pytest.mark.parametrize("name", ["light", "dark"])
def test_what_is_text_has_no_colour_of_its_own(name: str) -> None:
    style = get_style_by_name(f"a11y-high-contrast-{name}")
    for kind in PLAIN:
        assert style.style_for_token(kind) == style.style_for_token(Text), kind


def test_only_what_has_a_colour_is_an_element() -> None:
    written = StringIO()
    highlight("x = self.f(1)\n", PythonLexer(), ColouredWords(nowrap=True), written)
    assert written.getvalue() == (
        'x <span class="o">=</span> <span class="bp">self</span>'
        '<span class="o">.</span>f(<span class="mi">1</span>)\n'
    )
