"""Previews of links: what they show, and to whom."""

import pytest
from playwright.sync_api import Browser, Page, expect
from test_site import PAGES, SITE
from test_wayfinding import CHAPTER, visit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGES, reason=f"no site in {SITE}: run `make book`"),
]

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
def test_previews_of_links(desktop: Page, name: str, link: str, words: str) -> None:
    """Who points at a link sees what it leads to; Escape closes it."""
    visit(desktop, name)
    desktop.evaluate(
        "document.querySelectorAll('details').forEach((d) => d.open = true)"
    )
    desktop.locator(f".bd-article {link}").first.hover()
    preview = desktop.locator("#aiayn-preview")
    expect(preview).to_be_visible()
    expect(preview).to_contain_text(words)
    assert preview.locator("a[href], [id], [tabindex]").count() == 0
    desktop.keyboard.press("Escape")
    expect(preview).not_to_be_visible()


def test_preview_of_a_formula_on_the_page_by_keyboard(desktop: Page) -> None:
    """It is set as it is in the text, and belongs to the link that has the focus."""
    visit(desktop, "book/1-paper/3-2-attention.html")
    desktop.evaluate(
        """() => {
          const link = document.createElement("a");
          link.href = "#the-formula";
          link.textContent = "the formula";
          document.querySelector(".bd-article p").append(link);
        }"""
    )
    link = desktop.locator(".bd-article p a[href='#the-formula']")
    desktop.keyboard.press("Tab")
    link.focus()
    preview = desktop.locator("#aiayn-preview")
    expect(preview).to_be_visible()
    expect(preview.locator("math").first).to_be_visible()
    expect(link).to_have_attribute("aria-describedby", "aiayn-preview")
    desktop.keyboard.press("Tab")
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
    page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    page.locator(".bd-article a[href$='.causal_mask']").first.tap()
    page.wait_for_timeout(600)
    expect(page.locator("#aiayn-preview")).not_to_be_visible()
    context.close()
