"""The built site, as a reader's browser sees it: AIAYN_SITE names its folder,
`_build/html` if unset.
"""

import os
import re
import threading
from collections.abc import Iterator
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import lxml.html
import pytest
import set_url
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

SITE = Path(os.environ.get("AIAYN_SITE", Path(__file__).parents[2] / "_build" / "html"))
PAGES = [
    path.relative_to(SITE).as_posix()
    for path in sorted(SITE.rglob("*.html"))
    if "_static" not in path.parts
    and 'http-equiv="refresh"' not in path.read_text(encoding="utf-8").lower()
]
# Source and reference look alike for all modules; one of each stands for them.
ALIKE = [
    "aiayn/model.transformer.html",
    "api/command-line.html",
    "api/index.html",
    "api/model.transformer.html",
]
LOOKS = [
    page for page in PAGES if page in ALIKE or not page.startswith(("aiayn/", "api/"))
]
CHART_PAGES = [
    page
    for page in LOOKS
    if 'class="aiayn-chart"' in (SITE / page).read_text(encoding="utf-8")
]

PUBLISHED = f"/{set_url.NOBODY}/" not in set_url.current()

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGES, reason=f"no site in {SITE}: run `make book`"),
]

# What is folded is looked at, too.
OPEN = """() => document
  .querySelectorAll(".bd-article details")
  .forEach((fold) => { fold.open = true; })"""

# Everything that can be wrong with a page once it is drawn, as a list of words.
FAULTS = r"""
() => {
  const faults = [];
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) faults.push(`scrolls sideways: ${width} px wide`);
  if (all("h1").filter((h) => h.checkVisibility()).length !== 1)
    faults.push("not exactly one visible <h1>");
  for (const image of all("img"))
    if (!image.alt.trim()) faults.push(`no alt text: ${image.src}`);
  for (const icon of all("[class*=' fa-']"))
    if (icon.checkVisibility() && !getComputedStyle(icon).maskImage.includes("svg"))
      faults.push(`an icon that is not drawn: ${icon.className}`);
  for (const drawing of all(".aiayn-drawing"))
    if (!drawing.getAttribute("aria-label")) faults.push("a drawing without a name");
  for (const chart of all(".aiayn-chart")) {
    if (!all("svg .role-mark *", chart).length) faults.push("an empty chart");
    if (!chart.getAttribute("aria-label")) faults.push("a chart without a description");
    const svg = chart.querySelector("svg.marks");
    const scale = svg?.getBoundingClientRect().width / svg?.width.baseVal.value;
    const words = all("text", svg).map((word) => getComputedStyle(word).fontSize);
    const least = scale * Math.min(...words.map(parseFloat));
    if (innerWidth < 500 && least < 10.9) faults.push(`a chart's words: ${least} px`);
  }
  for (const view of all(".aiayn-attention"))
    if (!all(".at-grid rect", view).length)
      faults.push("an attention view that is not drawn");
  for (const formula of all(".math"))
    if (all("math", formula).length !== 1 || /[\\&]/.test(formula.textContent))
      faults.push(`not set: ${formula.dataset.tex}`);
  const text = document.querySelector("main").cloneNode(true);
  const other = all("pre, code, script, noscript, math, svg", text);
  other.forEach((node) => node.remove());
  const raw = text.textContent.match(/\\[([].{0,40}|\$[^$]*[\\^_{][^$]*\$/);
  if (raw) faults.push(`raw TeX: ${raw[0]}`);
  return faults;
}
"""
DRAWN = """() => {
  dispatchEvent(new Event("beforeprint"));
  return [...document.querySelectorAll(".aiayn-chart")].every((chart) => chart.drawn);
}"""
DARK = """
() => {
  document.querySelectorAll(".aiayn-chart").forEach((chart) => delete chart.drawn);
  document.documentElement.dataset.theme = "dark";
}
"""


class Quiet(SimpleHTTPRequestHandler):
    """A file server that keeps its log to itself."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the site on a free port of this machine."""
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=SITE)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def phone(browser: Browser, address: str) -> tuple[Page, list[str]]:
    """A window as wide as a phone, which the pages share, and a list of faults."""
    page = browser.new_page(
        viewport={"width": 390, "height": 844}, color_scheme="light"
    )
    page.set_default_timeout(60_000)  # the machine may be busy
    found: list[str] = []

    def on_request(request: Request) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            found.append(f"left the site: {request.url}")

    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            found.append(f"console: {message.text} ({message.location['url']})")

    page.on("request", on_request)
    page.on("console", on_console)
    page.on("pageerror", lambda error: found.append(f"error: {error}"))
    return page, found


@pytest.mark.parametrize(
    "name",
    [
        page if page in LOOKS else pytest.param(page, marks=pytest.mark.nightly)
        for page in PAGES
    ],
)
def test_page(phone: tuple[Page, list[str]], address: str, name: str) -> None:
    """A page draws everything, keeps to itself and a phone's width, light or dark."""
    page, found = phone
    found.clear()
    page.goto(address + name)
    page.evaluate(OPEN)
    for theme in ("light", "dark"):
        if theme == "dark":
            page.evaluate(DARK)
        page.wait_for_function(DRAWN)
        found += [f"{theme}: {fault}" for fault in page.evaluate(FAULTS)]
    assert not found, "\n".join([name, *found])


def test_charts_follow_the_theme(phone: tuple[Page, list[str]], address: str) -> None:
    """A chart's words change their colour with the page's."""
    page, _ = phone
    page.goto(address + CHART_PAGES[0])
    page.wait_for_function(DRAWN)
    words = page.locator(".aiayn-chart .role-axis-label text").first
    light = words.get_attribute("fill")
    page.evaluate(DARK)
    page.wait_for_function(DRAWN)
    assert words.get_attribute("fill") != light


def test_formulas_need_no_script(browser: Browser, address: str) -> None:
    """They are drawn as they should be, not as a line of text."""
    name = f"{address}book/1-paper/3-2-attention.html"
    bare = browser.new_context(java_script_enabled=False).new_page()
    bare.goto(name)
    formula = bare.locator("div.math math").first
    assert formula.evaluate("math => math.getBoundingClientRect().height") > 30
    bare.context.close()


def test_charts_without_javascript(browser: Browser, address: str) -> None:
    """A reader without JavaScript sees every chart's picture."""
    page = browser.new_page(java_script_enabled=False)
    page.goto(address + CHART_PAGES[0])
    charts = page.locator(".aiayn-chart")
    for number in range(charts.count()):
        charts.nth(number).scroll_into_view_if_needed()
        expect(charts.nth(number).locator("img")).to_be_visible()
    page.close()


def test_charts_when_vega_does_not_come(browser: Browser, address: str) -> None:
    """Of a script that does not arrive the reader sees no gap: the pictures stand in
    for the charts.
    """
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.route("**/*vega*", lambda route: route.abort())
    page.goto(address + CHART_PAGES[0])
    charts = page.locator(".aiayn-chart")
    for number in range(charts.count()):
        charts.nth(number).scroll_into_view_if_needed()
        expect(charts.nth(number).locator("img")).to_be_visible()
    # Charts are drawn again for this.
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_timeout(200)
    assert not errors
    page.close()


def test_every_icon_has_its_shape() -> None:
    """What a page names of the theme's icons, icons.css draws, and no other; until the
    book has an address, some buttons are not there.
    """
    pages = [(SITE / page).read_text(encoding="utf-8") for page in PAGES]
    named = {
        icon
        for page in pages
        for icon in re.findall(
            r'class="[^"]*\bfa(?:s|b|-solid|-brands) fa-([\w-]+)', page
        )
    }
    styles = (SITE / "_static" / "icons.css").read_text(encoding="utf-8")
    drawn = set(re.findall(r"^\.fa-([\w-]+) \{", styles, re.MULTILINE))
    if not PUBLISHED:
        drawn -= {"github", "lightbulb", "rocket"}
    assert named == drawn


def test_search(phone: tuple[Page, list[str]], address: str) -> None:
    """The search finds a word of the book."""
    page, _ = phone
    page.goto(f"{address}search.html?q=attention")
    expect(page.locator("#search-results a").first).to_be_visible()


@cache
def parsed(path: Path) -> lxml.html.HtmlElement:
    """A page of the site."""
    return lxml.html.parse(path).getroot()


@cache
def anchors(path: Path) -> frozenset[str]:
    """The ids of a page."""
    return frozenset(parsed(path).xpath("//@id"))


def dead(page: Path, target: str) -> bool:
    """Whether a link from `page` leads nowhere in the site; links to other hosts are
    not followed.
    """
    link = urlsplit(target)
    if link.scheme or link.netloc:
        return False
    path = (page.parent / unquote(link.path)).resolve() if link.path else page
    path = path / "index.html" if path.is_dir() else path
    fragment = unquote(link.fragment)
    return not path.is_file() or bool(
        path.suffix == ".html" and fragment and fragment not in anchors(path)
    )


@pytest.mark.parametrize("name", PAGES)
def test_links(name: str) -> None:
    """Every link, picture, script and style of a page leads to something, and every
    #place in it is there.
    """
    page = SITE.resolve() / name
    targets = {target for _, _, target, _ in parsed(page).iterlinks()}
    assert not sorted(target for target in targets if dead(page, target))


def test_no_page_leads_to_an_address_that_nobody_has() -> None:
    """Before the first push, links to the repository are text (`unpublished`)."""
    for name in PAGES:
        page = parsed(SITE.resolve() / name)
        links = [str(link) for link in page.xpath("//body//@href | //body//@src")]
        assert not [link for link in links if f"/{set_url.NOBODY}" in link], name


@pytest.mark.parametrize("name", PAGES)
def test_ids_are_unique(name: str) -> None:
    """No two places of a page have one name: drawings bring ids of their own."""
    ids = parsed(SITE.resolve() / name).xpath("//main//@id")
    assert len(ids) == len(set(ids)), sorted(
        {name for name in ids if ids.count(name) > 1}
    )


def test_pages_of_the_package() -> None:
    """Every module has its page, and every piece in it leads to its cell."""
    package = Path(__file__).parents[2] / "aiayn"
    for module in package.rglob("*.py"):
        text = module.read_text(encoding="utf-8")
        origins = re.findall(r"^ *(# book/.+\.ipynb, cell .+)$", text, re.MULTILINE)
        name = ".".join(module.relative_to(package).with_suffix("").parts).removesuffix(
            ".__init__"
        )
        page = parsed(SITE.resolve() / "aiayn" / f"{name}.html")
        assert [
            link.text_content() for link in page.find_class("aiayn-origin")
        ] == origins, module.name
