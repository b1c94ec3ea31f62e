"""How heavy chapters are beside their budgets: words, cells, lines of code, screens.

python tools/word_budgets.py                     # every chapter as it is now
python tools/word_budgets.py --before 0685094    # beside what that commit had
python tools/word_budgets.py --site _build/html  # and screens, measured in the site

A screen has 1400 by 900 pixels.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
WORDS, CELLS = 3500, 70  # of a chapter of the paper
# Words, where others than those.
BUDGETS = {"0-start/4-how-this-book-works": 1500, "0-start/1-one-page": 1500}
# Words of a section of the paper, and below of all of them.
TOGETHER = {"1-paper/3": 15_000, "1-paper/5": 13_000}
PAPER = 60_000
SCREEN = 900  # pixels

Notebook = dict[str, Any]


class Weight(NamedTuple):
    """What a reader has before them."""

    words: int
    cells: int
    lines: int
    screens: float | None = None


def is_paper(name: str) -> bool:
    """Whether a chapter is one of "The paper": sections 1 to 7 and the appendix."""
    return name.startswith("1-paper/")


def weigh(notebook: Notebook, screens: float | None = None) -> Weight:
    """Weigh a chapter."""
    text = {"markdown": "", "code": "", "raw": ""}
    for cell in notebook["cells"]:
        text[cell["cell_type"]] += "".join(cell["source"]) + "\n"
    lines = len(text["code"].splitlines())
    return Weight(len(text["markdown"].split()), len(notebook["cells"]), lines, screens)


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
    listed = subprocess.check_output(
        [*git, "ls-tree", "-r", "--name-only", revision, "book/"], text=True
    )
    found = {}
    for path in listed.split():
        if path.endswith(".ipynb"):
            blob = subprocess.check_output(
                [*git, "show", f"{revision}:{path}"], text=True
            )
            found[chapter(Path(path))] = json.loads(blob)
    return found


def measured(site: Path, names: list[str]) -> dict[str, float]:
    """Screens of each chapter in the built site."""
    sys.path.insert(0, str(ROOT))
    from tools.browser import chromium

    found = {}
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": SCREEN})
        for name in names:
            page.goto(site.resolve().joinpath("book", f"{name}.html").as_uri())
            page.wait_for_load_state("load")
            found[name] = (
                page.evaluate("document.documentElement.scrollHeight") / SCREEN
            )
    return found


def shown(weight: Weight | None) -> str:
    """Columns of the table."""
    if weight is None:
        return " " * 20
    screens = "" if weight.screens is None else f"{weight.screens:8.1f}"
    return f"{weight.words:8,}{weight.cells:6}{weight.lines:6}{screens}"


def verdict(name: str, weight: Weight) -> str:
    """Say what exceeds its budget."""
    limit = BUDGETS.get(name, WORDS if is_paper(name) else None)
    over = [f"{weight.words - limit:,} words"] if limit and weight.words > limit else []
    over += (
        [f"{weight.cells - CELLS} cells"]
        if is_paper(name) and weight.cells > CELLS
        else []
    )
    return f"   over by {', '.join(over)}" if over else ""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", help="a commit to compare with")
    parser.add_argument("--site", type=Path, help="a built site, to count screens in")
    arguments = parser.parse_args()
    now = chapters(None)
    tall = measured(arguments.site, list(now)) if arguments.site else {}
    after = {name: weigh(notebook, tall.get(name)) for name, notebook in now.items()}
    before = {}
    if arguments.before:
        before = {
            name: weigh(notebook)
            for name, notebook in chapters(arguments.before).items()
        }
    print(f"{'':36}{'words, cells, lines' + (' before' if before else ''):>20}")
    for name in sorted(after | before):
        old = shown(before.get(name)) if before else ""
        new = after.get(name)
        print(f"{name:36}{old}{shown(new)}{verdict(name, new) if new else '   gone'}")
    for start, limit in TOGETHER.items():
        total = sum(
            weight.words for name, weight in after.items() if name.startswith(start)
        )
        print(f"section {start[-1]}: {total:,} of {limit:,} words")
    total = sum(weight.words for name, weight in after.items() if is_paper(name))
    print(f"the paper: {total:,} of {PAPER:,} words")


if __name__ == "__main__":
    main()
