"""Code of 88 columns has room on a page of 1400 pixels: no reader scrolls sideways."""

import pytest
from playwright.sync_api import Browser, Page
from test_site import PAGES, address, pytestmark

__all__ = ["address", "pytestmark"]  # used by pytest

TOO_WIDE = """() => [...document.querySelectorAll("main pre")]
  .filter((code) => code.checkVisibility() && code.scrollWidth > code.clientWidth + 1)
  .map((code) => code.textContent.trim().split("\\n")
    .reduce((one, other) => one.length < other.length ? other : one))"""


@pytest.fixture(scope="module")
def desk(browser: Browser) -> Page:
    """A window as wide as a laptop's, without scripts: none of them sets code."""
    context = browser.new_context(
        viewport={"width": 1400, "height": 900}, java_script_enabled=False
    )
    return context.new_page()


@pytest.mark.parametrize("name", [page for page in PAGES if page.startswith("book/")])
def test_no_code_scrolls_sideways(desk: Page, address: str, name: str) -> None:
    desk.goto(address + name)
    assert desk.evaluate(TOO_WIDE) == []
