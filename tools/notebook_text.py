"""Chapters as text: write notebooks in jupytext's py:percent form, and read them back.

    python tools/notebook_text.py write [CHAPTER ...]    book/X.ipynb -> book/X.py
    python tools/notebook_text.py read  [CHAPTER ...]    book/X.py    -> book/X.ipynb

jupytext does the conversion. What this adds is that a cell's id, by which the package
names its origin, stands in the text as `id="…"`, and that `read` keeps the outputs of
every cell whose source is unchanged.
"""

import argparse
from pathlib import Path

import jupytext
import nbformat

BOOK = Path(__file__).resolve().parent.parent / "book"
HEADER = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def write(notebook: Path) -> Path:
    """Write `notebook` as text beside it."""
    chapter = nbformat.read(notebook, as_version=4)
    for cell in chapter.cells:
        cell.metadata["id"] = cell.id
    kept = "aiayn,kernelspec,-jupytext"
    chapter.metadata["jupytext"] = {"notebook_metadata_filter": kept}
    text_file = notebook.with_suffix(".py")
    text_file.write_text(jupytext.writes(chapter, fmt="py:percent"), encoding="utf-8")
    return text_file


def read(text_file: Path) -> Path:
    """Read `text_file` back into its notebook; cells whose source is unchanged
    keep their outputs.
    """
    notebook = text_file.with_suffix(".ipynb")
    chapter = jupytext.read(text_file, fmt="py:percent")
    old = {}
    if notebook.exists():
        old = {cell.id: cell for cell in nbformat.read(notebook, as_version=4).cells}
    for number, cell in enumerate(chapter.cells):
        cell.id = cell.metadata.pop("id", f"cell-{number}")
        before = old.get(cell.id)
        same = before is not None and before.get("source") == cell.source
        if cell.cell_type == "code" and same:
            cell.outputs, cell.execution_count = before.outputs, before.execution_count
    metadata = {"aiayn": chapter.metadata.get("aiayn", {}), **HEADER}
    chapter.metadata = nbformat.from_dict(metadata)
    chapter.nbformat, chapter.nbformat_minor = 4, 5
    nbformat.validate(chapter)
    nbformat.write(chapter, notebook)
    return notebook


def main() -> None:
    """Convert the chapters named on the command line, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("direction", choices=["write", "read"])
    about = "a chapter's name, such as 1-paper/3-2-attention; none means all"
    parser.add_argument("chapter", nargs="*", help=about)
    arguments = parser.parse_args()
    kinds = {"write": (write, ".ipynb"), "read": (read, ".py")}
    convert, suffix = kinds[arguments.direction]
    named = [BOOK / f"{name}{suffix}" for name in arguments.chapter]
    for path in named or sorted(BOOK.glob(f"*/*{suffix}")):
        print(convert(path))


if __name__ == "__main__":
    main()
