"""What the tests of the playground share: a reader who opens its page."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("AIAYN_SITE", ROOT / "_build" / "html"))
PLAYGROUND = SITE.resolve() / "book" / "0-start" / "2-playground.html"


@pytest.fixture
def reader(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A reader of the playground who wants no motion, with a phone unless a test names
    a window; errors and requests that leave the disk fail the test.
    """
    width, height = getattr(request, "param", (390, 844))
    page = browser.new_page(
        viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    page.set_default_timeout(60_000)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))

    def note(url: str) -> None:
        if not url.startswith(("file:", "blob:")):
            faults.append(url)

    page.on("request", lambda request: note(request.url))
    page.goto(PLAYGROUND.as_uri())
    yield page
    page.close()
    assert not faults


@pytest.fixture
def open_link(reader: Page) -> Callable[[str], None]:
    """Opens the playground's page anew, at an address."""

    def follow(address: str) -> None:
        reader.goto("about:blank")  # the same page with another # would not load again
        reader.goto(address)

    return follow


@pytest.fixture
def desktop(browser: Browser) -> Iterator[Page]:
    """A window of its own, with a storage of its own, onto pages from disk."""
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    faults = list[str]()
    page.on("pageerror", lambda error: faults.append(error.message))
    yield page
    page.context.close()
    assert not faults
