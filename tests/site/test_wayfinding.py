"""Finding one's way: how much of a page is open, the sidebar, the way on."""

import gzip
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect
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


def visit(page: Page, name: str) -> None:
    """Open a page of the site from disk."""
    path, _, query = name.partition("?")
    page.goto(f"{(SITE.resolve() / path).as_uri()}?{query}")


def test_three_depths_are_remembered(desktop: Page) -> None:
    """Folds are closed; then the exported ones open, then all; on the next page too."""
    visit(desktop, CHAPTER)
    group = desktop.get_by_role("group", name="How much to show")
    expect(group.get_by_role("radio", name="Read")).to_be_checked()
    assert not any(desktop.evaluate(OPEN, "details"))
    group.get_by_role("radio", name="Read").focus()
    desktop.keyboard.press("ArrowRight")
    assert all(desktop.evaluate(OPEN, EXPORTED))
    assert not any(desktop.evaluate(OPEN, OTHER))
    desktop.keyboard.press("ArrowRight")
    assert all(desktop.evaluate(OPEN, "details"))
    visit(desktop, "book/1-paper/3-5-positional-encoding.html")
    expect(desktop.get_by_role("radio", name="Everything")).to_be_checked()
    assert all(desktop.evaluate(OPEN, "details"))
    desktop.get_by_role("radio", name="Read").check()
    assert not any(desktop.evaluate(OPEN, "details"))


def test_depths_without_storage(desktop: Page) -> None:
    """A browser that keeps nothing lets the switch work all the same."""
    desktop.add_init_script(
        """Storage.prototype.getItem = Storage.prototype.setItem = function (name) {
          if (name === "depth") throw new DOMException("refused", "SecurityError");
          return null;
        };"""
    )
    visit(desktop, CHAPTER)
    desktop.get_by_role("radio", name="Everything").check()
    assert all(desktop.evaluate(OPEN, "details"))


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


@pytest.mark.parametrize("name", [CHAPTER, "book/index.html"])
def test_scripts_of_a_page_are_small(desktop: Page, name: str) -> None:
    """Vega aside; the index is loaded only by who searches."""
    loaded = set[str]()
    desktop.on("request", lambda request: loaded.add(request.url.partition("?")[0]))
    visit(desktop, name)
    desktop.wait_for_timeout(500)
    scripts = [
        Path(url.removeprefix("file://"))
        for url in loaded
        if url.endswith(".js") and "vega" not in url
    ]
    assert not [path for path in scripts if path.parent.name == "search"]
    size = sum(len(gzip.compress(path.read_bytes())) for path in scripts)
    assert 0 < size < 250_000


# What the sidebar and the foot of a module's page lead to.
MODULE = "api/model.attention.html"


@pytest.mark.parametrize("name", ["book/reference/errata.html", MODULE])
def test_the_sidebar_shows_the_page_that_one_is_on(desktop: Page, name: str) -> None:
    """Also when it was at its top on the page before."""
    visit(desktop, "book/index.html")
    visit(desktop, name)
    desktop.wait_for_function("document.readyState === 'complete'")
    expect(
        desktop.locator("#pst-primary-sidebar li.active > a").last
    ).to_be_in_viewport()


def test_a_page_says_where_it_stands_and_what_comes_next(desktop: Page) -> None:
    """Its part, its chapter, its minutes, what one needs; why to read the next one."""
    visit(desktop, "book/1-paper/3-5-positional-encoding.html")
    line = desktop.locator(".aiayn-place-line")
    minutes = r"[1-9]\d? min"
    expect(line).to_have_text(
        re.compile(f"^The paper › 3 › 3.5 · {minutes} · you need 3.2")
    )
    onwards = desktop.locator("a.right-next")
    expect(onwards).to_contain_text(re.compile(minutes))
    expect(onwards.locator(".aiayn-why")).to_contain_text("What all this costs")
    line.get_by_role("link", name="3.2").click()
    desktop.wait_for_url(re.compile("3-2-attention"))


def test_modules_lead_to_the_next(desktop: Page) -> None:
    """By the foot of the page."""
    visit(desktop, MODULE)
    desktop.locator("a.right-next").click()
    desktop.wait_for_url(re.compile(r"api/model\.\w+\.html"))
    desktop.locator("a.left-prev").click()
    desktop.wait_for_url(re.compile(re.escape(MODULE)))


def test_an_address_that_leads_nowhere(browser: Browser) -> None:
    """Whatever folder it names, the page is drawn and its links lead home."""
    page, root = browser.new_page(), SITE.resolve()
    home = "https://nobody.github.io/some-copy/"

    def answer(route: Route) -> None:
        path = root / route.request.url.removeprefix(home).partition("?")[0]
        route.fulfill(path=path if path.is_file() else root / "404.html")

    page.route(f"{home}**", answer)
    page.goto(f"{home}book/1-paper/no-such-page.html")
    field = page.locator(".bd-search-container input")
    field.fill("attention")
    first = page.locator("#search-results a").first
    expect(first).to_contain_text("3.2 Attention")
    first.click()
    page.wait_for_url(f"{home}book/1-paper/3-2-attention.html")
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_results_and_previews(desktop: Page, theme: str) -> None:
    """Colours, names and roles of what only appears when one asks for it."""
    desktop.emulate_media(color_scheme=theme)
    visit(desktop, CHAPTER)
    desktop.keyboard.press("Control+k")
    desktop.keyboard.type("lable")
    desktop.locator(".aiayn-results a").first.wait_for()
    desktop.keyboard.press("ArrowDown")
    expect(desktop.locator("#pst-search-dialog [aria-selected=true]")).to_be_visible()
    found = Axe().run(desktop, context="#pst-search-dialog")
    assert not found.response["violations"], found.generate_report()
    desktop.keyboard.press("Escape")
    desktop.evaluate(
        "document.querySelectorAll('details').forEach((d) => d.open = true)"
    )
    desktop.locator(".bd-article a[href$='.causal_mask']").first.hover()
    expect(desktop.locator("#aiayn-preview")).to_be_visible()
    for part in ("#aiayn-preview", ".aiayn-depth"):
        found = Axe().run(desktop, context=part)
        assert not found.response["violations"], found.generate_report()


def test_weight_of_the_site() -> None:
    """Without the PDF and the zip, that of both models and all notebooks included."""
    files = [path for path in SITE.rglob("*") if path.is_file()]
    counted = [path for path in files if path.suffix not in {".pdf", ".zip"}]
    assert sum(path.stat().st_size for path in counted) < 50_000_000
    assert not [path for path in files if path.suffix == ".map"]
