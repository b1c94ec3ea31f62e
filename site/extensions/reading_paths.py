"""The front page's ways to read, with their times."""

import json
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from notebooks import Notebook, without_evidence
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WORDS, LETTERS = 200, 800  # read in a minute: words of prose, or characters of code
PLAYED = 10  # minutes for the playground
ASIDE = {"exercise", "solution", "check", "remove-cell", "hide-input"}
# Not read by eyes: a figure's alternative text, the rules of tables.
UNSEEN = re.compile(r"!\[[^\]]*\]\([^)]*\)|\|[-| ]*")
TASK = re.compile(r"(## Exercises\n*)?> \*\*Exercise|<details><summary>Solution")


class ReadingPath(SphinxDirective):
    """`{reading-path} TITLE`: a way to read; its time is that of the chapters that the
    text links to.

    With `:all:`, it is that of all chapters; how-to pages are to be looked up.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"all": directives.flag}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        text = "\n".join(self.content)
        names = re.findall(r"\(([\w/-]+)\.ipynb\)", text)
        played = PLAYED * text.count("/2-playground.md)")
        pages = (
            self.env.found_docs
            if "all" in self.options
            else [f"book/{name}" for name in names]
        )
        paths = [
            Path(self.env.doc2path(page))
            for page in pages
            if not page.startswith("book/how-to/")
        ]
        notebooks = [
            json.loads(path.read_text(encoding="utf-8"))
            for path in paths
            if path.suffix == ".ipynb"
        ]
        title = nodes.paragraph("", self.arguments[0], classes=["aiayn-path-title"])
        time = nodes.paragraph(
            "",
            spoken(played + sum(map(minutes, notebooks))),
            classes=["aiayn-path-time"],
        )
        path = nodes.container("", title, time)
        self.state.nested_parse(self.content, self.content_offset, path)
        return [path]


def minutes(notebook: Notebook) -> float:
    """How long a chapter takes to read with its folds closed, without its exercises."""
    words = letters = 0
    for cell in without_evidence(notebook):
        source = "".join(cell["source"])
        if ASIDE & set(cell["metadata"].get("tags", [])) or TASK.match(source):
            continue
        if cell["cell_type"] == "markdown":
            words += len(UNSEEN.sub(" ", source).split())
        else:
            letters += len("".join(source.split()))
    return words / WORDS + letters / LETTERS


def spoken(time: float) -> str:
    """Minutes, in words: to five minutes, or from two hours on, to half hours."""
    if time < 120:
        return f"{5 * round(time / 5)} minutes of reading"
    return f"{round(time / 30) / 2:g} hours of reading".replace(".5", "½")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_directive("reading-path", ReadingPath)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
