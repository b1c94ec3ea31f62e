"""What keeps the browser busy while a page loads."""

import json
from typing import Any

import pages
import pytest
from playwright.sync_api import Browser, Page
from test_site import LOOKS, SITE

CHAPTER = "book/1-paper/3-2-attention.html"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not LOOKS, reason=f"no site in {SITE}: run `make book`"),
]


@pytest.fixture(scope="module")
def chapter(window: Page) -> Page:
    """Chapter 3.2, of all pages the one with the most in it."""
    window.goto((SITE.resolve() / CHAPTER).as_uri(), wait_until="load")
    window.wait_for_timeout(500)
    return window


def test_what_is_folded_is_not_laid_out(chapter: Page) -> None:
    """Who asks how wide it is lays it out; the theme asked every piece of code, and
    gave each a place among the stops of the Tab key.
    """
    folded = chapter.locator("details:not([open]) pre")
    assert folded.count() > 20
    assert chapter.locator("details:not([open]) pre[tabindex]").count() == 0


@pytest.mark.parametrize("place", ["body", ".bd-article p", ".cell .highlight pre"])
def test_what_a_script_adds_restyles_little(
    browser: Browser, chapter: Page, place: str
) -> None:
    """A rule that asks the whole page what is in it (`body:has(…)`) may style all of
    it anew.
    """
    script = """(place) => {
      const added = document.createElement("b");
      document.querySelector(place).append(added);
      document.body.offsetHeight;
      added.remove();
      document.body.offsetHeight;
    }"""
    browser.start_tracing(page=chapter, categories=["devtools.timeline"])
    chapter.evaluate(script, place)
    events: list[dict[str, Any]] = json.loads(browser.stop_tracing())["traceEvents"]
    restyled = [event["args"].get("elementCount", 0) for event in events]
    assert 0 < sum(restyled) < 400  # the page has thousands


@pytest.mark.nightly
@pytest.mark.parametrize("name", LOOKS)
def test_a_page_does_not_keep_the_browser_busy(browser: Browser, name: str) -> None:
    """On a slow computer; the best of three loads counts, as this machine may have
    something else to do.
    """
    with pages.served(SITE) as address:
        loads = (pages.load(browser, address, name) for _ in range(3))
        assert any(load.blocked_ms <= pages.BLOCKED for load in loads)
