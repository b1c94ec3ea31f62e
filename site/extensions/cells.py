"""Cells and boxes: what Markdown and tags cannot say, added as a page is made.

* The title gets the number of the paper's section.
* A blockquote that begins with one of the words in `BOXES`, in bold, becomes a box of
  that kind.
* A code cell gets the HTML id `cell-ID` and, if it is exported, a badge that leads to
  its place in the package and to its entry in the reference.
* A full stop or comma behind a formula stays on the formula's line.
* The badge "Open in Colab", meant for readers on GitHub, is left out: the page has a
  button for that, and a picture from another host would tell that host who reads.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from modules import module_name, package
from notebooks import Notebook, before_parsing, code_cells, number_title
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
BADGE = re.compile(
    r"\[!\[[^]]*\]\([^)]*\)\]\(https://colab\.research\.google\.com/[^)]*\)\n*"
)
BOXES = {"Paper", "Misread", "Exercise", "Try", "Note", "Alternative"}


def name_cells(app: Sphinx, docname: str, notebook: Notebook) -> None:
    """Write into a code cell's metadata, which reach the page, its id and the module it
    is exported to.
    """
    default = notebook["metadata"].get("aiayn", {}).get("module")
    for cell in code_cells(notebook):
        tags = cell["metadata"].get("tags", [])
        exports = [tag for tag in tags if tag.partition(":")[0] == "export"]
        module = exports[0].partition(":")[2] or default if exports else None
        cell["metadata"]["aiayn"] = {"id": cell["id"], "module": module}


def drop_badge(app: Sphinx, docname: str, notebook: Notebook) -> None:
    """Leave out the badge by which readers on GitHub open a chapter in Colab."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = BADGE.sub("", "".join(cell["source"]))


class Boxes(SphinxTransform):
    """Turn blockquotes that begin with a known word in bold into boxes."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        for quote in list(self.document.findall(nodes.block_quote)):
            first = quote[0]
            if isinstance(first, nodes.paragraph):
                # The parser opens a line with an empty text.
                first.children = [child for child in first if child != ""]
            strong = first[0] if first.children else None
            if not isinstance(strong, nodes.strong):
                continue
            word = re.split(r"\W", strong.astext())[0]
            if word not in BOXES:
                continue
            first.remove(strong)
            label = nodes.paragraph("", "", *strong.children, classes=["aiayn-label"])
            trim(label, -1)
            trim(first, 0)
            text = quote.children if first.astext().strip() else quote.children[1:]
            classes = ["aiayn-box", f"aiayn-box-{word.lower()}"]
            quote.replace_self(nodes.container("", label, *text, classes=classes))


def trim(paragraph: nodes.paragraph, end: int) -> None:
    """Remove the stops and spaces between a label and its text, as they no longer share
    a line.
    """
    if paragraph.children and isinstance(text := paragraph[end], nodes.Text):
        trimmed = text.rstrip(" .:") if end else text.lstrip(" .:\n")
        paragraph.replace(text, nodes.Text(trimmed))


class Punctuation(SphinxTransform):
    """Keep the punctuation behind a formula from starting the next line."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        for formula in list(self.document.findall(nodes.math)):
            text = formula.next_node(descend=False, siblings=True)
            if not isinstance(text, nodes.Text):
                continue
            if marks := re.match(r"[.,;:!?)’”]+", text):
                formula.parent.replace(text, nodes.Text(text[marks.end() :]))
                both = formula.deepcopy(), nodes.Text(marks[0])
                pair = nodes.inline("", "", *both, classes=["aiayn-nowrap"])
                formula.replace_self(pair)


class Cells(SphinxTransform):
    """Give code cells their ids, to which Markdown may link, and exported ones their
    badges.
    """

    default_priority = 800  # after citations and terms have been looked for

    def apply(self, **kwargs: Any) -> None:
        places = self.env.metadata[self.env.docname].setdefault("myst_slugs", {})
        for container in self.document.findall(nodes.container):
            metadata = container.get("cell_metadata", {})
            if container.get("nb_element") == "cell_code" and "aiayn" in metadata:
                cell = metadata["aiayn"]
                place = f"cell-{cell['id']}"
                container["ids"].append(place)
                # Line, id and title, as MyST notes them of headings.
                places[place] = (0, place, cell["id"])
                if cell["module"]:
                    container.insert(0, self.badge(cell["id"], cell["module"]))

    def badge(self, cell: str, module: str) -> nodes.paragraph:
        """The line above an exported cell; warn if the package lacks the cell."""
        path = f"aiayn/{module.replace('.', '/')}.py"
        source = Path(self.app.srcdir, path)
        origin = f"# {self.env.docname}.ipynb, cell {cell}\n"
        if not source.is_file() or origin not in source.read_text(encoding="utf-8"):
            message = "cell %s is not in %s; run `make export`"
            LOGGER.warning(message, cell, path, location=self.env.docname)
        about = package(self.app).get(module_name(Path(path).relative_to("aiayn")))
        badge = nodes.paragraph("", "exported to ", classes=["aiayn-badge"])
        if about is None:
            badge += nodes.Text(module)
            return badge
        public = (about.entries[name] for name in about.public if name in about.entries)
        entry = next((each.name for each in public if each.cell == cell), "")
        badge += self.link(about.qualified, about.source_page, f"cell-{cell}")
        badge += nodes.Text(" · ")
        place = f"{about.qualified}.{entry}" if entry else ""
        badge += self.link("reference", about.page, place)
        return badge

    def link(self, text: str, page: str, place: str) -> nodes.reference:
        """A link to a place of another page, or to its top."""
        target = self.app.builder.get_relative_uri(self.env.docname, page)
        address = f"{target}#{place}" if place else target
        return nodes.reference("", text, refuri=address, internal=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    before_parsing(app, number_title)
    before_parsing(app, name_cells)
    before_parsing(app, drop_badge)
    app.add_transform(Boxes)
    app.add_transform(Punctuation)
    app.add_transform(Cells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
