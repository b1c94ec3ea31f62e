"""Folds: what is in them, what opens them, and what a chapter weighs without them."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import word_budgets
from playwright.sync_api import Browser, expect

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("AIAYN_SITE", ROOT / "_build" / "html")).resolve()
sys.path.insert(0, str(ROOT / "site" / "extensions"))

from folds import summary  # noqa: E402
from notebooks import without_evidence  # noqa: E402


def cell(source: str, *tags: str, **more: Any) -> dict[str, Any]:
    kind = "markdown" if source.startswith(("#", "A ")) else "code"
    return {
        "cell_type": kind,
        "source": source,
        "metadata": {"tags": list(tags)},
        "outputs": [],
        **more,
    }


CHART = [{"data": {"application/vnd.vegalite.v5+json": {}, "text/plain": "…"}}]
CELLS = [
    cell("# A chapter of five words"),
    cell("1 + 1\n2 + 2"),
    cell("draw()", "hide-input", outputs=CHART),
    cell("## Evidence\n\nTwo words and four."),
    cell("### Within"),
    cell("claim()", "claim:0-a"),
    cell("## Where next\n\nOn."),
]


def test_evidence_ends_with_the_next_section() -> None:
    assert without_evidence({"cells": CELLS}) == [*CELLS[:3], CELLS[6]]


def test_a_chapter_weighs_what_is_open() -> None:
    weight = word_budgets.weigh({"cells": CELLS})
    assert (weight.words, weight.cells, weight.lines) == (6 + 4, 4, 2)
    assert (weight.folded_words, weight.folded_cells) == (6 + 2, 3)
    over = weight._replace(words=3600, folded_cells=36)
    assert word_budgets.verdict("1-paper/1-x", over) == (
        "   over by 100 words, 1 folded cells"
    )


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (cell("draw()", "hide-input", outputs=CHART), "Code of this figure"),
        (cell("claim()", "hide-input", "claim:0-a"), "Code of this check"),
        (cell("assert x", "check", "hide-input"), "Code of this check"),
        (cell("x = 1", "hide-input", "solution"), "Solution in code"),
        (cell("x = 1", "hide-input"), "Show the code"),
        (cell("x = 1", "hide-input", "export:data.io"), "The package's code"),
        (
            cell("def f():\n    pass\n\nclass A:\n    x = 1", "hide-input", "export"),
            "The package's code: f, A",
        ),
    ],
)
def test_a_fold_says_what_is_in_it(made: dict[str, Any], words: str) -> None:
    assert summary(made) == words


def chapters_with_evidence() -> list[str]:
    """The first chapter with a section Evidence, which stands for all."""
    for path in sorted(ROOT.glob("book/1-paper/*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        if len(without_evidence(notebook)) < len(notebook["cells"]):
            return [f"book/1-paper/{path.stem}.html"]
    return []


@pytest.mark.browser
@pytest.mark.parametrize("name", chapters_with_evidence())
def test_evidence_is_folded_until_a_link_leads_into_it(
    browser: Browser, name: str
) -> None:
    page = browser.new_page()
    page.goto((SITE / name).as_uri())
    fold = page.locator("details.aiayn-evidence")
    cells = fold.locator("div.cell[id^=cell-], div.cell span[id^=cell-]")
    expect(fold).not_to_have_attribute("open", "")
    expect(page.get_by_role("heading", name="Evidence")).to_be_visible()
    expect(cells.first).not_to_be_visible()
    page.goto(f"{(SITE / name).as_uri()}#{cells.first.get_attribute('id')}")
    expect(fold).to_have_attribute("open", "")
    page.close()
