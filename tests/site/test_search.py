"""The search: its order, its keys, pages from disk."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from test_site import PAGES, SITE
from test_wayfinding import CHAPTER, visit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGES, reason=f"no site in {SITE}: run `make book`"),
]

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


def test_search_by_keyboard(desktop: Page) -> None:
    """From the dialog to the place that was meant, with a word spelt wrong."""
    visit(desktop, CHAPTER)
    desktop.keyboard.press("Control+k")
    desktop.keyboard.type("lable smoothing")
    expect(desktop.locator(".aiayn-found")).to_contain_text("label smoothing")
    field = desktop.get_by_role("combobox")
    desktop.keyboard.press("ArrowDown")
    chosen = desktop.locator("[role=option][aria-selected=true]")
    expect(field).to_have_attribute(
        "aria-activedescendant", str(chosen.get_attribute("id"))
    )
    expect(chosen).to_contain_text("5.4 Regularization")
    desktop.keyboard.press("Enter")
    desktop.wait_for_url(re.compile("5-4-regularization.html#"))
    desktop.keyboard.press("Control+k")
    desktop.keyboard.type("beam")
    desktop.locator(".aiayn-results a").first.wait_for()
    desktop.keyboard.press("Enter")  # nothing chosen: all results
    desktop.wait_for_url(re.compile(r"search.html\?q=beam"))
    expect(desktop.locator("#search-results a").first).to_contain_text(
        re.compile("beam", re.IGNORECASE)
    )


def test_the_tab_key_and_enter_lead_to_a_result(desktop: Page) -> None:
    """Tab goes into the list, and arrows on in it. On the search's page, Enter alone
    opens the first result.
    """
    visit(desktop, "search.html?q=beam")
    field = desktop.locator(".bd-search-container input")
    results = desktop.locator("#search-results a")
    expect(results.nth(2)).to_be_visible()
    field.focus()
    desktop.keyboard.press("Tab")
    expect(results.first).to_be_focused()
    desktop.keyboard.press("ArrowDown")
    expect(results.nth(1)).to_be_focused()
    expect(results.nth(1)).to_have_attribute("aria-selected", "true")
    for _ in range(2):
        desktop.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    desktop.keyboard.type(" search")
    expect(results.first).to_contain_text("Beam search")
    desktop.keyboard.press("Enter")
    desktop.wait_for_url(re.compile("6-1-machine-translation.html"))
    visit(desktop, CHAPTER)
    desktop.keyboard.press("Control+k")
    desktop.keyboard.type("beam")
    in_dialog = desktop.locator("dialog .aiayn-results a").first
    expect(in_dialog).to_be_visible()
    desktop.keyboard.press("Tab")
    expect(in_dialog).to_be_focused()


def test_search_says_that_it_found_nothing(desktop: Page) -> None:
    """A query that was sent to search.html is asked there at once."""
    visit(desktop, "search.html?q=zzqxw")
    expect(desktop.locator("#search-results .aiayn-found")).to_have_text(
        "Nothing found"
    )
