"""What a reader of each chapter has before them, beside its budget.

python tools/word_budgets.py

Words, cells, lines of code and minutes are of what a page shows when it opens; then
come the words and cells that it folds.
"""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "site" / "extensions")]
from notebooks import without_evidence  # noqa: E402
from reading_paths import minutes  # noqa: E402

WORDS, CELLS = 3500, 70  # of a chapter of the paper; folded, half as many again
# Words, where others than those.
BUDGETS = {
    "0-start/1-one-page": 1500,
    "0-start/3-synthetic-corpus": 1150,
    "0-start/5-how-this-book-works": 1500,
}
# Words of a section of the paper, and of all of them.
TOGETHER = {"1-paper/3": 15_000, "1-paper/5": 13_000, "1-paper/": 55_000}
Notebook = dict[str, Any]


class Weight(NamedTuple):
    """What a reader has before them, with folds closed."""

    words: int
    cells: int
    lines: int
    minutes: float
    folded_words: int
    folded_cells: int


def is_paper(name: str) -> bool:
    """Whether a chapter is one of "The paper": sections 1 to 7 and the appendix."""
    return name.startswith("1-paper/")


def prose(cells: list[Notebook]) -> int:
    """Words of Markdown."""
    texts = ("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return sum(len(text.split()) for text in texts)


def weigh(notebook: Notebook) -> Weight:
    """Weigh a chapter."""
    lesson = without_evidence(notebook)
    whole: list[Notebook] = notebook["cells"]
    opened = (
        "".join(cell["source"])
        for cell in lesson
        if cell["cell_type"] == "code"
        and not {"hide-input", "remove-cell"} & set(cell["metadata"].get("tags", []))
    )
    lines = sum(len(source.splitlines()) for source in opened)
    folded = prose(whole) - prose(lesson), len(whole) - len(lesson)
    return Weight(prose(lesson), len(lesson), lines, minutes(notebook), *folded)


def verdict(name: str, weight: Weight) -> str:
    """Say what exceeds its budget."""
    limit = BUDGETS.get(name, WORDS if is_paper(name) else None)
    over = [f"{weight.words - limit:,} words"] if limit and weight.words > limit else []
    if is_paper(name):
        for number, most, what in (
            (weight.cells, CELLS, "cells"),
            (weight.folded_words, WORDS // 2, "folded words"),
            (weight.folded_cells, CELLS // 2, "folded cells"),
        ):
            over += [f"{number - most:,} {what}"] if number > most else []
    return f"   over by {', '.join(over)}" if over else ""


def main() -> None:
    """Print the table."""
    weights = dict[str, Weight]()
    print(f"{'':38}words, cells, lines, minutes; folded words, cells")
    for path in sorted(ROOT.glob("book/*/*.ipynb")):
        name = f"{path.parent.name}/{path.stem}"
        weights[name] = w = weigh(json.loads(path.read_text(encoding="utf-8")))
        seen = f"{w.words:8,}{w.cells:5}{w.lines:5}{w.minutes:5.0f} min"
        folded = f"{w.folded_words:7,}{w.folded_cells:4}"
        print(f"{name:38}{seen}{folded}{verdict(name, w)}")
    for start, limit in TOGETHER.items():
        words = sum(w.words for name, w in weights.items() if name.startswith(start))
        print(f"{start}: {words:,} of {limit:,} words")


if __name__ == "__main__":
    main()
