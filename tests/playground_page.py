"""The playground's page, as its tests open it."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from aiayn.shipped import pretrained
from aiayn.translation import Translator

ROOT = Path(__file__).parents[1]
SITE = Path(os.environ.get("AIAYN_SITE", ROOT / "_build" / "html"))
PAGE = SITE.resolve() / "book" / "0-start" / "2-playground.html"
WINDOWS = [(1400, 900), (390, 844)]
with_site = pytest.mark.skipif(
    not PAGE.exists(), reason=f"no site in {SITE}: run `make book`"
)

NAMES = ("synthetic-en-de", "en-de")  # of the models
TIRED = "The animal did not cross the street because it was too tired."

# The model's scripts are there; where the page would start a worker, the test makes the
# model in the page.
LOAD = """([name, files]) => {
  const [settings, ...weights] = files.map((file) => Playground.arrived.get(file));
  window.loaded ??= {};
  window.loaded[name] = Playground.unpack(settings, weights.join(""));
}"""

# Notes what is written of the German.
WATCH = """() => {
  window.seen = [];
  const german = () => document.querySelector(".pg-german")?.textContent;
  const playground = document.querySelector(".aiayn-playground");
  new MutationObserver(() => seen.push(german()))
    .observe(playground, { childList: true, subtree: true });
}"""


@cache
def translator(name: str = NAMES[0]) -> Translator:
    """The model in PyTorch."""
    return Translator(*pretrained(name))


def models_of_page() -> list[dict[str, Any]]:
    """What the playground's page has of its models."""
    text = PAGE.read_text(encoding="utf-8")
    place = text[text.index('class="aiayn-playground"') :]
    found = re.search(r'<script type="application/json">(.*?)</script>', place, re.S)
    assert found
    return list(json.loads(found[1]))


@contextmanager
def both_models(browser: Browser) -> Iterator[Page]:
    """A window with both models in JavaScript, its page opened from disk."""
    page = browser.new_page()
    page.goto(PAGE.as_uri())
    for model in models_of_page():
        files = []
        for address in model["addresses"]:
            path = (PAGE.parent / address.split("?")[0]).resolve()
            page.add_script_tag(path=path)
            files.append(path.name)
        page.evaluate(LOAD, [model["name"], files])
    yield page
    page.close()


@contextmanager
def opened_page(browser: Browser, size: tuple[int, int]) -> Iterator[Page]:
    """A reader of the playground who wants no motion; errors and requests that leave
    the disk fail the test.
    """
    width, height = size
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
    page.goto(PAGE.as_uri())
    yield page
    page.close()
    assert not faults


def check_page(page: Page) -> None:
    """In both themes nothing is at fault."""
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        no_fault(page)


def no_fault(page: Page) -> None:
    """Axe finds nothing in the playground, and nothing is wider than the window."""
    page.wait_for_selector(".pg-panel:not(.pg-waiting)")  # what is old is faint
    faults = Axe().run(page, context=".aiayn-playground")
    assert faults.violations_count == 0, faults.generate_report()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert page.viewport_size and width <= page.viewport_size["width"]
