"""Errata: `{erratum}` on book/errata.md says what is said where, what is right, and which cell shows it.

    ```{erratum} the chapter and the id of the cell, or more of them
    :said: what is said, and where
    What is right.
    ```

A cell that the book no longer has is an error of the build: an erratum without its proof is an assertion.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from notebooks import code_cells, number_title, title
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)


class Erratum(SphinxDirective):
    """`{erratum}`: an entry of the errata. Without a cell, `text` says where the paper settles the matter."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"said": directives.unchanged_required, "text": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        entry = nodes.container(classes=["aiayn-erratum"])
        said = nodes.container(classes=["aiayn-said"])
        self.state.nested_parse(StringList([self.options["said"]], source=""), self.content_offset, said)
        entry += said
        self.state.nested_parse(self.content, self.content_offset, entry)
        line = nodes.paragraph("", classes=["aiayn-place"])
        places = [place.partition("#") for place in " ".join(self.arguments).split()]
        for chapter, cells in groupby(places, key=lambda place: place[0]):
            line += [nodes.Text(" · " if len(line) else "Shown in "), *self.links(chapter, cells)]
        if "text" in self.options:
            line += nodes.Text(f"{'; i' if len(line) else 'I'}n the paper’s text: {self.options['text']}")
        if not len(line):
            LOGGER.warning("an erratum names the cell that shows it", location=self.get_location())
        entry += line
        return [entry]

    def links(self, chapter: str, cells: Iterable[tuple[str, str, str]]) -> Iterator[nodes.Node]:
        """The chapter's title, and a link to each of the cells."""
        path = Path(self.env.app.srcdir, f"book/{chapter}.ipynb")
        self.env.note_dependency(str(path))
        notebook = json.loads(path.read_text(encoding="utf-8"))
        known = {cell["id"] for cell in code_cells(notebook)}
        number_title(self.env.app, f"book/{chapter}", notebook)
        yield nodes.Text(f"{title(notebook)}, cell ")
        page = self.env.app.builder.get_relative_uri(self.env.docname, f"book/{chapter}")
        for number, (_, _, cell) in enumerate(cells):
            if cell not in known:
                LOGGER.warning("%s has no cell %s", chapter, cell, location=self.get_location())
            if number:
                yield nodes.Text(" and ")
            yield nodes.reference("", cell, refuri=f"{page}#cell-{cell}", internal=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_directive("erratum", Erratum)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
