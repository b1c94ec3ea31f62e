"""Exercises: on the page, a solution is folded and says what it is.

A cell tagged `solution` opens with the comment by which Colab folds it; a page needs no
such line. myst-nb folds the cell, for its tag `hide-input`, under words of its own;
here they are the counterpart of the fold below it, "Solution in words". book.css draws
the parts of an exercise as one.
"""

from typing import Any

from notebooks import Notebook, before_parsing, code_cells
from sphinx.application import Sphinx

TITLE = "# @title Solution\n"
SUMMARY = "Solution in code"


def fold_solutions(app: Sphinx, docname: str, notebook: Notebook) -> None:
    """Give every solution its summary, and take Colab's line away."""
    for cell in code_cells(notebook):
        if "solution" in cell["metadata"].get("tags", []):
            cell["source"] = "".join(cell["source"]).removeprefix(TITLE)
            cell["metadata"]["mystnb"] = {
                "code_prompt_show": SUMMARY,
                "code_prompt_hide": SUMMARY,
            }


def name_folds(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let a fold be read out by the words one sees, and not, like every other, as
    hidden content.
    """
    if "body" in context:
        context["body"] = context["body"].replace(
            '<summary aria-label="Toggle hidden content">', "<summary>"
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    before_parsing(app, fold_solutions)
    app.connect("html-page-context", name_folds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
