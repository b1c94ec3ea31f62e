"""Notes from the paper: site/extensions/paper_notes.py and what it shows."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

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
