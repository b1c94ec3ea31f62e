"""Notes from the paper: site/extensions/paper_notes.py and what it shows."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Page, expect
from test_site import PAGES, SITE

BOOK = Path(__file__).parents[2] / "book"
sys.path.insert(0, str(BOOK.parent / "site" / "extensions"))

from paper_notes import shapes  # noqa: E402

ENTRIES = yaml.safe_load(
    (BOOK / "data" / "paper-notes.yml").read_text(encoding="utf-8")
)


def exported(chapter: str) -> dict[str, str]:
    """The source of the exported cells of a chapter, without those that only import."""
    notebook = json.loads((BOOK / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    return {
        cell["id"]: "".join(cell["source"])
        for cell in notebook["cells"]
        if any(tag.startswith("export") for tag in cell["metadata"].get("tags", []))
        and (chapter == "0-start/1-one-page" or "imports" not in cell["id"])
    }


def test_section_3_and_the_one_page_are_complete() -> None:
    """A cell that is added has its entry, and one that goes leaves none behind."""
    chapters = {f"1-paper/{path.stem}" for path in BOOK.glob("1-paper/3-*.ipynb")}
    chapters |= {"0-start/1-one-page"}
    wanted = {chapter: set(exported(chapter)) for chapter in chapters}
    assert {chapter: set(cells) for chapter, cells in ENTRIES.items()} == wanted


@pytest.mark.parametrize("chapter", ENTRIES)
def test_entries_are_short_and_have_addresses_of_their_own(chapter: str) -> None:
    entries = ENTRIES[chapter].values()
    addresses = [entry["address"] for entry in entries]
    assert len(set(addresses)) == len(addresses)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", address) for address in addresses)
    assert all(re.fullmatch(r"\d(\.\d){0,2}", entry["section"]) for entry in entries)
    assert all(len(entry["says"].split()) <= 45 for entry in entries)


def test_shapes_are_those_of_the_signatures() -> None:
    source = """
def scores(Q: Float[Tensor, "*batch n d_k"], scale: float) -> Float[Tensor, "n m"]: ...
class Kept:
    def __init__(self, x: Float[Tensor, "batch n"]) -> None: ...
    def select(self, rows: Int[Tensor, " kept"] | None = None) -> None: ...
    def both(self, x: Bool[Tensor, "... #n"]) -> tuple[Int[Tensor, "n"], Int]: ...
    def plain(self, x: int) -> int: ...
"""
    assert shapes(source) == [
        "scores Q (…, n, d_k) → (n, m)",
        "select rows (kept)",
        "both x (…, n) → (n)",
    ]


@pytest.mark.parametrize("chapter", ENTRIES)
def test_the_shapes_of_the_one_page_are_written_the_others_read(chapter: str) -> None:
    """So that no list stands where a signature says the same."""
    cells: dict[str, Any] = ENTRIES[chapter]
    written = {name for name, entry in cells.items() if "shapes" in entry}
    assert written == (
        set(cells) - {"imports"} if chapter == "0-start/1-one-page" else set()
    )


# Notes that are seen: their boxes, how far below the top of their cells they begin, and
# what they cover of the text.
NOTES = """() => {
  const notes = [...document.querySelectorAll(".aiayn-paper-note")]
    .filter((note) => note.checkVisibility());
  const boxes = notes.map((note) => note.getBoundingClientRect());
  return {
    drift: notes.map((note, at) =>
      boxes[at].top - note.parentElement.getBoundingClientRect().top),
    overlap: boxes.slice(1).filter((box, at) => box.top < boxes[at].bottom).length,
    text: Math.max(...[...document.querySelectorAll(".bd-article :is(p, pre, h2)")]
      .filter((each) => !each.closest(".aiayn-paper-note") && each.checkVisibility())
      .map((each) => each.getBoundingClientRect().right)),
    left: Math.min(...boxes.map((box) => box.left)),
    right: Math.max(...boxes.map((box) => box.right)),
  };
}"""


@pytest.mark.browser
@pytest.mark.skipif(not PAGES, reason=f"no site in {SITE}: run `make book`")
@pytest.mark.parametrize("width", [1280, 1400, 1920])
def test_the_paper_stands_in_the_margin(desktop: Page, width: int) -> None:
    """Level with its cell; the page's contents are in the left sidebar."""
    desktop.set_viewport_size({"width": width, "height": 900})
    desktop.goto((SITE / "book/1-paper/3-2-attention.html").resolve().as_uri())
    expect(desktop.locator(".aiayn-contents")).to_be_visible()
    expect(desktop.locator("#pst-secondary-sidebar")).not_to_be_visible()
    for depth in ("Read", "Code"):
        desktop.get_by_role("radio", name=depth).check()
        seen = desktop.evaluate(NOTES)
        assert seen["overlap"] == 0
        assert seen["text"] < seen["left"] < seen["right"] <= width
        assert depth == "Code" or max(seen["drift"]) < 30
    mark = desktop.locator(".aiayn-marks a").first
    mark.click()
    expect(desktop.locator(".aiayn-entry:target")).to_be_in_viewport()


@pytest.mark.browser
@pytest.mark.skipif(not PAGES, reason=f"no site in {SITE}: run `make book`")
def test_a_narrow_page_folds_the_paper(desktop: Page) -> None:
    desktop.set_viewport_size({"width": 1279, "height": 900})
    desktop.goto((SITE / "book/1-paper/3-2-attention.html").resolve().as_uri())
    expect(desktop.locator(".aiayn-contents")).not_to_be_visible()
    expect(desktop.locator("#pst-secondary-sidebar")).to_be_visible()
    note = desktop.locator(".aiayn-paper-note").first
    expect(note.locator("p").first).not_to_be_visible()
    note.locator("summary").click()
    expect(note.locator("p").first).to_be_visible()
