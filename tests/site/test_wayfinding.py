"""Finding one's way: how much of a page is open, the search, previews of links. All of
it also on pages that are opened from disk.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from test_site import PAGES, SITE

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGES, reason=f"no site in {SITE}: run `make book`"),
]

CHAPTER = "book/1-paper/3-2-attention.html"
OPEN = """(selector) => [...document.querySelectorAll(`.bd-article ${selector}`)]
  .map((fold) => fold.open)"""
EXPORTED = "[class*='tag_export'] details.hide"
OTHER = f"details:not({EXPORTED})"


@pytest.fixture
def reader(browser: Browser) -> Iterator[Page]:
    """A window of its own, with a storage of its own, onto pages from disk."""
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    faults = list[str]()
    page.on("pageerror", lambda error: faults.append(error.message))
    yield page
    page.context.close()
    assert not faults


def visit(page: Page, name: str) -> None:
    """Open a page of the site from disk."""
    path, _, query = name.partition("?")
    page.goto(f"{(SITE.resolve() / path).as_uri()}?{query}")


def test_three_depths_are_remembered(reader: Page) -> None:
    """Folds are closed; then the exported ones open, then all; on the next page too."""
    visit(reader, CHAPTER)
    group = reader.get_by_role("group", name="How much to show")
    expect(group.get_by_role("radio", name="Read")).to_be_checked()
    assert not any(reader.evaluate(OPEN, "details"))
    group.get_by_role("radio", name="Read").focus()
    reader.keyboard.press("ArrowRight")
    assert all(reader.evaluate(OPEN, EXPORTED))
    assert not any(reader.evaluate(OPEN, OTHER))
    reader.keyboard.press("ArrowRight")
    assert all(reader.evaluate(OPEN, "details"))
    visit(reader, "book/1-paper/3-5-positional-encoding.html")
    expect(reader.get_by_role("radio", name="Everything")).to_be_checked()
    assert all(reader.evaluate(OPEN, "details"))
    reader.get_by_role("radio", name="Read").check()
    assert not any(reader.evaluate(OPEN, "details"))


def test_depths_without_storage(reader: Page) -> None:
    """A browser that keeps nothing lets the switch work all the same."""
    reader.add_init_script(
        """Storage.prototype.getItem = Storage.prototype.setItem = function (name) {
          if (name === "depth") throw new DOMException("refused", "SecurityError");
          return null;
        };"""
    )
    visit(reader, CHAPTER)
    reader.get_by_role("radio", name="Everything").check()
    assert all(reader.evaluate(OPEN, "details"))


def test_print_and_pages_without_scripts_have_no_switch(browser: Browser) -> None:
    """There the folds are as the page has them."""
    page = browser.new_page(java_script_enabled=False)
    visit(page, CHAPTER)
    expect(page.locator(".aiayn-depth")).not_to_be_visible()
    page.close()
    page = browser.new_page()
    visit(page, CHAPTER)
    page.get_by_role("radio", name="Everything").check()
    code = page.locator(f".bd-article {EXPORTED} .highlight").first
    expect(code).to_be_visible()
    page.emulate_media(media="print")
    expect(page.locator(".aiayn-depth")).not_to_be_visible()
    expect(code).not_to_be_visible()
    page.close()
