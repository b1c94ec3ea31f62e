"""Folds: what a page shows when it opens is the lesson.

* A cell tagged `hide-input` has its code folded. The fold says what is in
  it: a part of the package, the code of a figure, a check, or the solution of an
  exercise (without the line by which Colab folds that).
* A section named Evidence, with the claims and the experiments, is one fold; folds.js
  opens it for a link that leads into it.
* Under the title of a page with folds a switch says how many of them are open. Where
  no script runs, and on paper, there is none, and the folds are closed.
"""

import ast
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from notebooks import EVIDENCE, Notebook, before_parsing, code_cells
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

TITLE = "# @title Solution\n"
DEPTHS = {
    "read": ("Read", "The text, with short code. The rest is folded."),
    "code": ("Code", "Also the code that the package is made of."),
    "everything": (
        "Everything",
        "Also the code of figures, checks, evidence and solutions.",
    ),
}
PICTURES = ("application/vnd.vegalite", "image/", "text/html")


def defined(source: str) -> list[str]:
    """The functions and classes of a cell, by name."""
    return [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]


def summary(cell: dict[str, Any]) -> str:
    """What is in the fold of a cell's code."""
    tags = cell["metadata"].get("tags", [])
    if "solution" in tags:
        return "Solution in code"
    if any(tag.partition(":")[0] == "export" for tag in tags):
        names = defined("".join(cell["source"]))
        return "The package's code" + (": " + ", ".join(names) if names else "")
    if "check" in tags or any(tag.startswith("claim") for tag in tags):
        return "Code of this check"
    kinds = {kind for each in cell["outputs"] for kind in each.get("data", {})}
    if any(kind.startswith(PICTURES) for kind in kinds):
        return "Code of this figure"
    return "Show the code"


def name_summaries(app: Sphinx, docname: str, notebook: Notebook) -> None:
    """Give every fold its words, and take Colab's line away from solutions."""
    for cell in code_cells(notebook):
        tags = cell["metadata"].get("tags", [])
        if "solution" in tags:
            cell["source"] = "".join(cell["source"]).removeprefix(TITLE)
        if "hide-input" in tags:
            words = summary(cell)
            prompts = {"code_prompt_show": words, "code_prompt_hide": words}
            cell["metadata"].setdefault("mystnb", {}).update(prompts)


class Evidence(SphinxTransform):
    """Fold the sections of that name, under their titles."""

    default_priority = 900

    def apply(self, **kwargs: Any) -> None:
        for section in self.document.findall(nodes.section):
            if section[0].astext() == EVIDENCE:
                summary = "<summary>Claims, checks and experiments</summary>"
                start = f'<details class="aiayn-evidence">{summary}'
                section.insert(1, nodes.raw("", start, format="html"))
                section.append(nodes.raw("", "</details>", format="html"))


class FoldExported(SphinxPostTransform):
    """Fold the code of exported cells under their badges.

    myst-nb looks at the first part of a cell alone, and there that is the badge.
    """

    default_priority = 198  # before myst-nb's
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for cell in self.document.findall(nodes.container):
            if cell.get("hide_mode") == "input":
                for part in list(cell.children):
                    if part.get("nb_element") == "cell_code_source":
                        words = cell["prompt_show"]
                        fold = HideCodeCellNode(prompt_show=words, prompt_hide=words)
                        fold["classes"].append("above-input")
                        cell.replace(part, fold)
                        fold.append(part)
                del cell["hide_mode"]


def depth_switch() -> str:
    """The switch, as HTML; book.css shows the words of the one that is chosen."""
    choices = notes = ""
    for depth, (name, words) in DEPTHS.items():
        button = f'<input type="radio" name="depth" value="{depth}"'
        choices += f"<label>{button}{' checked' * (depth == 'read')}>{name}</label>"
        notes += f'<span data-depth="{depth}">{words}</span>'
    return (
        '<fieldset class="aiayn-depth pst-js-only"><legend>How much to show</legend>'
        f'<div>{choices}</div><p aria-live="polite">{notes}</p></fieldset>'
    )


def finish_folds(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let a fold be read out by the words one sees, and not, like every other, as
    hidden content; and put the switch under the title of a page with folds.
    """
    if "body" in context:
        hidden = '<summary aria-label="Toggle hidden content">'
        body = context["body"].replace(hidden, "<summary>")
        if "<details" in body and app.env.doc2path(page).endswith(".ipynb"):
            body = body.replace("</h1>", f"</h1>\n{depth_switch()}", 1)
            app.add_js_file("folds.js", defer="defer")
        context["body"] = body


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    before_parsing(app, name_summaries)
    app.add_transform(Evidence)
    app.add_post_transform(FoldExported)
    app.connect("html-page-context", finish_folds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
