"""What a reader of each chapter has before them, beside its budget.

python tools/word_budgets.py                        # every chapter as it is now
python tools/word_budgets.py --before 0685094       # beside what that commit had
python tools/word_budgets.py --site _build/site/_build/html     # and in screens

Words, cells, lines of code and minutes are of what a page shows when it opens; then
come the words and cells that it folds. A screen has 1400 by 900 pixels; the last figure
is the share of the chapter's height that code has.
"""

import argparse
import json
import subprocess
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
# Words of a section of the paper, and below of all of them.
TOGETHER = {"1-paper/3": 15_000, "1-paper/5": 13_000}
PAPER = 55_000
SCREEN = 900  # pixels
HEIGHTS = """() => {
  const height = (node) => node.getBoundingClientRect().height;
  const code = [...document.querySelectorAll(".bd-article .cell_input")];
  const shown = code.filter((cell) => cell.checkVisibility());
  const inputs = shown.map(height).reduce((a, b) => a + b, 0);
  const page = height(document.querySelector(".bd-article"));
  return [document.documentElement.scrollHeight, inputs / page];
}"""

Notebook = dict[str, Any]


class Weight(NamedTuple):
    """What a reader has before them, with folds closed."""

    words: int
    cells: int
    lines: int
    minutes: float
    folded_words: int
    folded_cells: int
    screens: float = 0.0
    code: float = 0.0  # share of the height


def is_paper(name: str) -> bool:
    """Whether a chapter is one of "The paper": sections 1 to 7 and the appendix."""
    return name.startswith("1-paper/")


def prose(cells: list[Notebook]) -> int:
    """Words of Markdown."""
    texts = ("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return sum(len(text.split()) for text in texts)


def weigh(notebook: Notebook, screens: float = 0.0, code: float = 0.0) -> Weight:
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
    time = minutes(notebook)
    return Weight(prose(lesson), len(lesson), lines, time, *folded, screens, code)


def chapter(path: Path) -> str:
    """The name of a chapter: its path in the book, as `1-paper/3-2-attention`."""
    return path.relative_to("book").with_suffix("").as_posix()


def chapters(revision: str | None) -> dict[str, Notebook]:
    """All notebooks, as they are in the folder or were in a commit."""
    if revision is None:
        return {
            chapter(p.relative_to(ROOT)): json.loads(p.read_text("utf-8"))
            for p in sorted(ROOT.glob("book/*/*.ipynb"))
        }
    git = ["git", "-C", str(ROOT)]
    tree = [*git, "ls-tree", "-r", "--name-only", revision, "book/"]
    paths = subprocess.check_output(tree, text=True).split()
    return {
        chapter(Path(path)): json.loads(
            subprocess.check_output([*git, "show", f"{revision}:{path}"], text=True)
        )
        for path in paths
        if path.endswith(".ipynb")
    }


def measured(site: Path, names: list[str]) -> dict[str, tuple[float, float]]:
    """Screens of each chapter in the built site, and the share that code has."""
    from tools.browser import chromium

    sizes = {}
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": SCREEN})
        for name in names:
            page.goto(site.resolve().joinpath("book", f"{name}.html").as_uri())
            page.wait_for_load_state("load")
            height, code = page.evaluate(HEIGHTS)
            sizes[name] = height / SCREEN, code
    return sizes


def columns(weight: Weight | None) -> str:
    """Columns of the table."""
    if weight is None:
        return " " * 40
    seen = f"{weight.words:8,}{weight.cells:5}{weight.lines:5}{weight.minutes:5.0f} min"
    screens = f"{weight.screens:7.1f}{weight.code:5.0%}" if weight.screens else ""
    return f"{seen}{weight.folded_words:7,}{weight.folded_cells:4}{screens}"


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", help="a commit to compare with")
    parser.add_argument("--site", type=Path, help="a built site, to count screens in")
    arguments = parser.parse_args()
    now = chapters(None)
    tall = measured(arguments.site, list(now)) if arguments.site else {}
    after = {name: weigh(each, *tall.get(name, ())) for name, each in now.items()}
    past = chapters(arguments.before) if arguments.before else {}
    before = {name: weigh(each) for name, each in past.items()}
    heads = "words, cells, lines, minutes; folded words, cells"
    print(f"{'':38}{heads}{', before and after' if before else ''}")
    for name in sorted(after | before):
        old, new = columns(before.get(name)) if before else "", after.get(name)
        print(f"{name:38}{old}{columns(new)}{verdict(name, new) if new else '   gone'}")
    for start, limit in TOGETHER.items():
        chosen = [each.words for name, each in after.items() if name.startswith(start)]
        print(f"section {start[-1]}: {sum(chosen):,} of {limit:,} words")
    total = sum(each.words for name, each in after.items() if is_paper(name))
    print(f"the paper: {total:,} of {PAPER:,} words")


if __name__ == "__main__":
    main()
