"""Sizes of formulas: each keeps its place free until MathJax sets it, so that the text
around it does not jump.

Until then a page holds its TeX, which is longer than the formula, mostly: lines would
break elsewhere. Ziamath knows the sizes of formulas; book.css hides the TeX and
reserves them, where scripts run at all.
"""

import html
import re
from functools import cache
from typing import Any

from sphinx.application import Sphinx
from ziamath import Latex

FORMULA = re.compile(
    r'(<(span|div) class="math notranslate nohighlight")(.*?>)(.*?)(?=</\2>)', re.DOTALL
)
MARKS = re.compile(r"\\[(\[]|\\[)\]]")
WIDER = 1.08  # than ziamath's: another typeface


@cache
def size(tex: str, inline: bool) -> tuple[float, float] | None:
    """Width and height of a formula, in units of the type size; None if ziamath cannot
    read it.
    """
    try:
        width, height = Latex(tex, size=100, inline=inline).getsize()
    except Exception:  # it raises what its parsers raise, and MathJax knows more TeX
        return None
    return WIDER * width / 100, WIDER * height / 100


def reserve(found: re.Match[str]) -> str:
    """The formula's element, with its size."""
    start, element, rest, tex = found.groups()
    sizes = size(MARKS.sub("", html.unescape(tex)).strip(), element == "span")
    style = (
        "" if sizes is None else f' style="--w:{sizes[0]:.2f}em;--h:{sizes[1]:.2f}em"'
    )
    return f"{start}{style}{rest}{tex}"


def write_sizes(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write the sizes of a page's formulas into it."""
    if "body" in context:
        context["body"] = FORMULA.sub(reserve, context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.connect("html-page-context", write_sizes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
