"""The book on paper, from a few pages of the built site: whole, linked, and nothing
cut.
"""

import re
from pathlib import Path
from typing import Any

import pdf
import pytest
from playwright.sync_api import Browser
from pypdf import PdfReader
from test_site import PAGES, SITE

pytestmark = [
    pytest.mark.browser,
    pytest.mark.nightly,
    pytest.mark.skipif(not PAGES, reason=f"no site in {SITE}: run `make book`"),
]

# Prose with a drawing, an exercise; many formulas and charts; wide tables; the claims.
SAMPLE = {
    "book/index",
    "book/1-paper/3-3-feed-forward",
    "book/1-paper/3-5-positional-encoding",
    "book/reference/claims",
}
CHOSEN = [entry for entry in pdf.entries() if entry.page in SAMPLE]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[PdfReader, list[str]]:
    """A book of the chosen pages, and the text of each sheet."""
    path = tmp_path_factory.mktemp("paper") / "book.pdf"
    pdf.make(SITE.resolve(), path, CHOSEN)
    book = PdfReader(path)
    return book, [page.extract_text() for page in book.pages]


def chapters(book: PdfReader) -> dict[str, int]:
    """What stands at the top of the outline, and its page."""
    tops = [entry for entry in book.outline if not isinstance(entry, list)]
    return {str(top.title): book.get_destination_page_number(top) for top in tops}


def links(book: PdfReader) -> list[tuple[int, Any]]:
    """Every link, with the page it is on."""
    return [
        (number, note.get_object())
        for number, page in enumerate(book.pages)
        for note in page.get("/Annots", [])
        if note.get_object()["/Subtype"] == "/Link"
    ]


def test_every_chapter_begins_a_page_that_the_outline_and_the_contents_name(
    printed: tuple[PdfReader, list[str]],
) -> None:
    book, texts = printed
    found = chapters(book)
    assert len(found) == 1 + len(CHOSEN)  # and the title page
    for title, page in list(found.items())[1:]:
        top = texts[page].replace("\n", " ")
        assert title in top[: 2 * len(title) + 10], (
            f"{title}: page {page + 1} begins {top[:80]}"
        )
        assert re.search(rf"{re.escape(title)}\s*{page + 1}\b", texts[1]), (
            f"{title}: not in the contents"
        )


def test_no_page_is_empty(printed: tuple[PdfReader, list[str]]) -> None:
    for number, text in enumerate(printed[1], start=1):
        assert len(text.split()) > 20, f"page {number}: {text}"


def test_links_lead_to_places_in_the_book_or_to_the_web(
    printed: tuple[PdfReader, list[str]],
) -> None:
    book, _ = printed
    inner = [(page, note["/Dest"]) for page, note in links(book) if "/Dest" in note]
    outer = [note["/A"]["/URI"] for _, note in links(book) if "/A" in note]
    names = book.named_destinations
    assert not {
        name for _, name in inner if isinstance(name, str) and name not in names
    }
    assert {page for page, _ in inner} > {1}, "only the contents lead into the book"
    assert outer and all(
        address.startswith(("https://", "http://")) for address in outer
    )
    assert not [
        address
        for address in outer
        if "127.0.0.1" in address or address.startswith("file:")
    ]


def test_it_says_what_it_is(printed: tuple[PdfReader, list[str]]) -> None:
    book, _ = printed
    assert book.metadata is not None and book.metadata.title and book.metadata.author
    assert book.page_mode == "/UseOutlines"


# Whatever sticks out to the right of the paper, or is wider than a box that hides what
# does not fit.
CUT = """
() => {
  const room = document.documentElement.clientWidth + 1;
  const shown = document.querySelectorAll("main *:not(.visually-hidden)");
  const cut = [...shown].filter((node) => {
    const box = node.getBoundingClientRect();
    if (!box.width || node.parentElement.closest("svg, math")) return false;
    const { overflowX } = getComputedStyle(node);
    const hides = !["visible", "clip"].includes(overflowX) && node.localName !== "svg";
    const wide = node.clientWidth && node.scrollWidth > node.clientWidth + 1;
    return box.right > room || (hides && wide);
  });
  const words = (node) =>
    `${node.closest("article").id}: ${node.outerHTML.slice(0, 120)}`;
  return cut.slice(0, 20).map(words);
}
"""


def test_nothing_is_cut_at_the_edge_of_the_paper(
    browser: Browser, tmp_path: Path
) -> None:
    """As Chromium lays it out for print, on a page as wide as the paper's text."""
    text = pdf.combine(browser, SITE.resolve(), CHOSEN)
    (tmp_path / "book.html").write_text(text, encoding="utf-8")
    page = browser.new_page(
        viewport={"width": pdf.WIDTH, "height": 1000}, color_scheme="light"
    )
    page.emulate_media(media="print")
    page.goto((tmp_path / "book.html").as_uri())
    found = page.evaluate(CUT)
    page.close()
    assert not found, "\n".join(found)
