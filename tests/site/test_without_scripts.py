"""Pages for readers without scripts."""

from typing import Any

import pytest
from playwright.sync_api import Browser
from test_site import PAGES, SITE

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGES, reason=f"no site in {SITE}: run `make book`"),
]

COLOURS = """() => [...document.querySelectorAll("body, main p, .highlight .k")]
  .map((node) => getComputedStyle(node))
  .map(({ backgroundColor, color }) => `${color} on ${backgroundColor}`)"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_system_chooses_the_theme(browser: Browser, theme: Any) -> None:
    """Text and code have the colours that scripts give them."""
    seen = list[list[str]]()
    for scripts in (True, False):
        context = browser.new_context(java_script_enabled=scripts, color_scheme=theme)
        page = context.new_page()
        page.goto((SITE / "book/1-paper/7-conclusion.html").resolve().as_uri())
        seen.append(page.evaluate(COLOURS))
        context.close()
    assert seen[0] == seen[1] and len({*seen[0]}) > 2
