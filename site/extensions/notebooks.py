"""What the other extensions share: change a notebook, as parsed JSON, before myst-nb
reads it.

Sphinx's `source-read` event hands over a page's text. That is an earlier and simpler
place to step in than myst-nb's own plug-ins, which have to be declared as entry points
of an installed distribution.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

Notebook = dict[str, Any]
EVIDENCE = "Evidence"  # the title of a section that a page folds
PAPER = "book/1-paper/"  # the chapters that follow the paper, section by section


def before_parsing(
    app: Sphinx, change: Callable[[Sphinx, str, Notebook], None]
) -> None:
    """Have `change(app, docname, notebook)` edit every notebook in place before it is
    parsed.
    """

    def on_source_read(app: Sphinx, docname: str, source: list[str]) -> None:
        if app.env.doc2path(docname).endswith(".ipynb"):
            notebook = json.loads(source[0])
            if not all("id" in cell for cell in notebook["cells"]):
                fault = "a cell has no id; save the notebook as format 4.5"
                raise ExtensionError(f"{docname}.ipynb: {fault}")
            change(app, docname, notebook)
            source[0] = json.dumps(notebook)

    app.connect("source-read", on_source_read)


def code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    """The notebook's code cells, in order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def without_evidence(notebook: Notebook) -> list[dict[str, Any]]:
    """The cells outside of sections named Evidence."""
    cells, folded = [], False
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            title = "".join(cell["source"]).partition("\n")[0]
            if title.startswith("## "):
                folded = title == f"## {EVIDENCE}"
        if not folded:
            cells.append(cell)
    return cells


def number_title(_: object, docname: str, notebook: Notebook) -> None:
    """Put the paper's section number before the title: chapters refer to each other by
    it.
    """
    section = notebook["metadata"].get("aiayn", {}).get("paper", "")
    if section == "appendix":
        section = docname.removeprefix(PAPER).partition("-")[0]  # after the last one
    if docname.startswith(f"{PAPER}{section.replace('.', '-')}-"):
        for cell in notebook["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown" and source.startswith("# "):
                cell["source"] = source.replace("# ", f"# {section} ", 1)
                return


def title(notebook: Notebook) -> str:
    """The notebook's title, as plain words."""
    markdown = (c for c in notebook["cells"] if c["cell_type"] == "markdown")
    texts = ("".join(cell["source"]) for cell in markdown)
    first = next(text for text in texts if text.startswith("# "))
    return first.partition("\n")[0].strip("# ")


@cache
def chapters(folder: Path) -> dict[str, tuple[str, str]]:
    """Title and section of the paper ("" if of none) of every notebook in the folder
    book/, by its page.
    """
    found = {}
    for path in sorted(folder.glob("*/*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        page = f"book/{path.parent.name}/{path.stem}"
        number_title(None, page, notebook)
        section = notebook["metadata"].get("aiayn", {}).get("paper", "")
        found[page] = title(notebook), section
    return found
