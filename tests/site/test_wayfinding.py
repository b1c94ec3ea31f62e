"""Finding one's way: how much of a page is open, the search, previews of links. All of
it also on pages that are opened from disk.
"""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
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

# What one types, and a part of the page's address that has to come first.
SPELT_RIGHT = {
    "attention": "3-2-attention",
    "self attention": "4-why-self-attention",
    "positional encoding": "3-5-positional-encoding",
    "multi-head attention": "3-2-attention",
    "label smoothing": "5-4-regularization",
    "byte pair encoding": "5-1-data-and-batching",
    "beam search": "6-1-machine-translation",
    "kv cache": "3-0-model-architecture",
    "lr schedule": "5-3-optimizer",
    "train own data": "how-to/1-own-pairs",
    "playground": "2-playground",
    "dropout": "5-4-regularization",
    "constituency parsing": "6-3-constituency-parsing",
    "MultiHeadAttention": "api/model.attention",
    "errata": "reference/errata",
}
# With one error: here the page may also come second.
SPELT_WRONG = {
    "attenion": "3-2-attention",
    "sotfmax": "3-4-embeddings-and-softmax",
    "postional encoding": "3-5-positional-encoding",
    "multi-haed attention": "3-2-attention",
    "lable smoothing": "5-4-regularization",
    "byte piar encoding": "5-1-data-and-batching",
    "beam saerch": "6-1-machine-translation",
    "learnig rate schedule": "5-3-optimizer",
    "plaground": "2-playground",
    "optimzer": "5-3-optimizer",
}


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


@pytest.fixture(scope="module")
def searcher(browser: Browser) -> Iterator[Page]:
    """A page from disk with the search's index loaded."""
    page = browser.new_page()
    visit(page, CHAPTER)
    page.keyboard.press("Control+k")
    page.keyboard.type("attention")
    page.locator(".aiayn-results a").first.wait_for()
    yield page
    page.close()


@pytest.mark.parametrize(
    ("query", "address", "places"),
    [
        *((query, address, 1) for query, address in SPELT_RIGHT.items()),
        *((query, address, 2) for query, address in SPELT_WRONG.items()),
    ],
)
def test_search_ranks(searcher: Page, query: str, address: str, places: int) -> None:
    """The page that a query means comes first, or second with a typing error."""
    found = searcher.evaluate("(query) => AiaynFind.find(query).results", query)
    pages = list(dict.fromkeys(each["address"].partition("#")[0] for each in found))
    assert any(address in page for page in pages[:places]), pages[:5]


def test_search_by_keyboard(reader: Page) -> None:
    """From the dialog to the place that was meant, with a word spelt wrong."""
    visit(reader, CHAPTER)
    reader.keyboard.press("Control+k")
    reader.keyboard.type("lable smoothing")
    expect(reader.locator(".aiayn-found")).to_contain_text("label smoothing")
    field = reader.get_by_role("combobox")
    reader.keyboard.press("ArrowDown")
    chosen = reader.locator("[role=option][aria-selected=true]")
    expect(field).to_have_attribute(
        "aria-activedescendant", str(chosen.get_attribute("id"))
    )
    expect(chosen).to_contain_text("5.4 Regularization")
    reader.keyboard.press("Enter")
    reader.wait_for_url(re.compile("5-4-regularization.html#"))
    reader.keyboard.press("Control+k")
    reader.keyboard.type("beam")
    reader.locator(".aiayn-results a").first.wait_for()
    reader.keyboard.press("Enter")  # nothing chosen: all results
    reader.wait_for_url(re.compile(r"search.html\?q=beam"))
    expect(reader.locator("#search-results a").first).to_contain_text(
        re.compile("beam", re.IGNORECASE)
    )


def test_search_says_that_it_found_nothing(reader: Page) -> None:
    """A query that was sent to search.html is asked there at once."""
    visit(reader, "search.html?q=zzqxw")
    expect(reader.locator("#search-results .aiayn-found")).to_have_text("Nothing found")


# Where a link stands, which one it is, and what its preview says.
PREVIEWS = [
    ("book/1-paper/1-introduction.html", "a[href*='#claim-1-a']", "hidden states"),
    ("book/1-paper/3-2-attention.html", "a[href$='.causal_mask']", "Which of"),
    (
        "book/reference/notation.html",
        "a[href$='#label-smoothing-by-hand']",
        "Label smoothing, by hand",
    ),
    ("book/reference/errata.html", "a[href*='#cell-table-2']", "TABLE_2"),
    ("api/model.attention.html", "a.reference[href^='#aiayn']", ""),
    (
        "book/1-paper/5-1-data-and-batching.html",
        "a.aiayn-cite",
        "Workshop on Statistical Machine Translation",
    ),
]


@pytest.mark.parametrize(("name", "link", "words"), PREVIEWS)
def test_previews_of_links(reader: Page, name: str, link: str, words: str) -> None:
    """Who points at a link sees what it leads to; Escape closes it."""
    visit(reader, name)
    reader.evaluate(
        "document.querySelectorAll('details').forEach((d) => d.open = true)"
    )
    reader.locator(f".bd-article {link}").first.hover()
    preview = reader.locator("#aiayn-preview")
    expect(preview).to_be_visible()
    expect(preview).to_contain_text(words)
    assert preview.locator("a[href], [id], [tabindex]").count() == 0
    reader.keyboard.press("Escape")
    expect(preview).not_to_be_visible()


def test_preview_of_a_formula_on_the_page_by_keyboard(reader: Page) -> None:
    """It is set as it is in the text, and belongs to the link that has the focus."""
    visit(reader, "book/1-paper/3-2-attention.html")
    reader.evaluate("MathJax.startup.promise")
    reader.evaluate(
        """() => {
          const link = document.createElement("a");
          link.href = "#the-formula";
          link.textContent = "the formula";
          document.querySelector(".bd-article p").append(link);
        }"""
    )
    link = reader.locator(".bd-article p a[href='#the-formula']")
    reader.keyboard.press("Tab")
    link.focus()
    preview = reader.locator("#aiayn-preview")
    expect(preview).to_be_visible()
    expect(preview.locator("mjx-container").first).to_be_visible()
    expect(link).to_have_attribute("aria-describedby", "aiayn-preview")
    reader.keyboard.press("Tab")
    expect(preview).not_to_be_visible()
    expect(link).not_to_have_attribute("aria-describedby", "aiayn-preview")


def test_touch_opens_no_preview(browser: Browser) -> None:
    """There a link is for going where it leads."""
    context = browser.new_context(
        has_touch=True, viewport={"width": 390, "height": 844}
    )
    page = context.new_page()
    visit(page, CHAPTER)
    page.evaluate("addEventListener('click', (event) => event.preventDefault(), true)")
    page.locator(".bd-article a[href$='.causal_mask']").first.tap()
    page.wait_for_timeout(600)
    expect(page.locator("#aiayn-preview")).not_to_be_visible()
    context.close()


@pytest.mark.parametrize("name", [CHAPTER, "book/index.html"])
def test_scripts_of_a_page_are_small(reader: Page, name: str) -> None:
    """Vega aside; the index is loaded only by who searches."""
    loaded = set[str]()
    reader.on("request", lambda request: loaded.add(request.url.partition("?")[0]))
    visit(reader, name)
    reader.wait_for_timeout(500)
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


@pytest.mark.parametrize(
    "name", ["book/reference/errata.html", MODULE, "book/index.html"]
)
def test_the_sidebar_shows_the_page_that_one_is_on(reader: Page, name: str) -> None:
    """Also when it was at its top on the page before."""
    visit(reader, "book/index.html")
    visit(reader, name)
    reader.wait_for_function("document.readyState === 'complete'")
    here = reader.locator("#pst-primary-sidebar li.active > a").last
    if name != "book/index.html":
        expect(here).to_be_in_viewport()


def test_modules_lead_to_the_next(reader: Page) -> None:
    """By the foot of the page."""
    visit(reader, MODULE)
    reader.locator("a.right-next").click()
    reader.wait_for_url(re.compile(r"api/model\.\w+\.html"))
    reader.locator("a.left-prev").click()
    reader.wait_for_url(re.compile(re.escape(MODULE)))


def test_an_address_that_leads_nowhere(browser: Browser) -> None:
    """Whatever folder it names, the page is drawn and its links lead home."""
    page, root = browser.new_page(), SITE.resolve()
    home = "https://nobody.github.io/aiayn/"

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
