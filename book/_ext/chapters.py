"""Chapters: what Markdown and tags alone cannot say, added when a chapter becomes a page.

* A blockquote that begins with one of the `BOXES` in bold becomes a box of that kind.
* A code cell gets the HTML id `cell-ID`; if it is exported, a badge that leads to its place in the module's page.
* Every module of the package has a page, `aiayn/NAME.html`, in which each piece leads back to its cell.
* The badge "Open in Colab", meant for readers on GitHub, is left out: the page has a button for that, and a picture
  from another host would tell that host who reads.
* A drawing, `![what it shows](_static/NAME.svg)`, is put into the page itself, so that it follows the page's theme.

The rule for drawings. An SVG file has a viewBox, and takes its colours from the page with a fallback for white paper:
`var(--aiayn-ink, #1f2328)` for lines and words, `var(--aiayn-muted, #57606a)` for what stands back,
`var(--aiayn-paper, #ffffff)` for the ground, `var(--aiayn-rule, #d0d7de)` for frames, `var(--aiayn-blue, #1d5b99)`,
`var(--aiayn-red, #a93a2c)`, `var(--aiayn-green, #2f6f4f)`, `var(--aiayn-violet, #6b4c9a)`,
`var(--aiayn-ochre, #85590b)` for accents and, with `-wash` after the name, for pale fills (`--aiayn-blue-wash,
#e6eef7`; see book.css). They stand in attributes (`stroke="var(--aiayn-ink, #1f2328)"`): a <style> element would leak
into the page. A first <rect> fills the ground, for GitHub's dark theme. Ids begin with the file's name, as a page may
hold several drawings. Words are <text> in `font-family="sans-serif"`, 13 to 16 units high in a drawing 720 wide.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from notebooks import Notebook, before_parsing, code_cells
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
BOXES = ("Paper", "Misread", "Exercise", "Claim", "Note", "Alternative")
PIECE = re.compile(r'<span class="c1"># (book/([^,<]+)\.ipynb), cell ([\w-]+)</span>')
INDEX = "aiayn/index"


def name_cells(app: Sphinx, docname: str, notebook: Notebook) -> None:
    """Write into each code cell's metadata, which myst-nb hands on, its id and the module it is exported to."""
    default = notebook["metadata"].get("aiayn", {}).get("module")
    for cell in code_cells(notebook):
        exports = [tag for tag in cell["metadata"].get("tags", []) if tag.partition(":")[0] == "export"]
        module = (exports[0].partition(":")[2] or default) if exports else None
        cell["metadata"]["aiayn"] = {"id": cell["id"], "module": module}


class Boxes(SphinxTransform):
    """Turn blockquotes that begin with a known bold word into boxes."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        for quote in list(self.document.findall(nodes.block_quote)):
            strong = next(quote.findall(nodes.strong), None)
            first = quote[0]
            kind = re.match(r"\w*", strong.astext()) if strong else None
            if strong is None or kind is None or kind[0] not in BOXES or first[0] is not strong:
                continue
            first.remove(strong)
            label = nodes.paragraph("", "", *strong.children, classes=["aiayn-label"])
            strip_end(label)
            if first.children and isinstance(first[0], nodes.Text):
                first.replace(first[0], nodes.Text(first[0].lstrip(" .:")))
            rest = quote.children if first.astext() or len(first) > 1 else quote.children[1:]
            quote.replace_self(nodes.container("", label, *rest, classes=["aiayn-box", f"aiayn-{kind[0].lower()}"]))


def strip_end(label: nodes.paragraph) -> None:
    """A label stands on a line of its own and needs no full stop."""
    if isinstance(label[-1], nodes.Text):
        label.replace(label[-1], nodes.Text(label[-1].rstrip(" .:")))


class ColabBadge(SphinxTransform):
    """Leave out the badge by which readers on GitHub open a chapter in Colab."""

    default_priority = 20  # before Sphinx collects pictures

    def apply(self, **kwargs: Any) -> None:
        for image in list(self.document.findall(nodes.image)):
            if image["uri"].startswith("https://colab.research.google.com/"):
                link = image.parent
                paragraph = link.parent
                paragraph.remove(link)
                if not paragraph.astext().strip():
                    paragraph.parent.remove(paragraph)


class Cells(SphinxPostTransform):
    """Give code cells their ids and exported ones their badges."""

    default_priority = 5
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for container in self.document.findall(nodes.container):
            cell = container.get("cell_metadata", {}).get("aiayn")
            if container.get("nb_element") != "cell_code" or cell is None:
                continue
            anchor = f"cell-{cell['id']}"
            container["ids"].append(anchor)
            if cell["module"]:
                source = Path(self.app.srcdir, "aiayn", f"{cell['module']}.py")
                origin = f"# {self.env.doc2path(self.env.docname, base=False)}, cell {cell['id']}\n"
                if not source.is_file() or origin not in source.read_text(encoding="utf-8"):
                    message = "cell %s: not in aiayn/%s.py; run `make export`"
                    LOGGER.warning(message, cell["id"], cell["module"], location=self.env.docname)
                    continue
                page = self.app.builder.get_relative_uri(self.env.docname, f"aiayn/{cell['module']}")
                name = f"exported to {qualified(cell['module'])}"
                link = nodes.reference("", name, refuri=f"{page}#{anchor}", internal=True)
                container.insert(0, nodes.paragraph("", "", link, classes=["aiayn-badge"]))


class Drawings(SphinxPostTransform):
    """Put the book's own SVG drawings into the page."""

    default_priority = 5
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for image in list(self.document.findall(nodes.image)):
            if image["uri"].endswith(".svg") and "://" not in image["uri"]:
                text = Path(self.app.srcdir, image["uri"]).read_text(encoding="utf-8")
                opening = f'<svg class="aiayn-drawing" role="img" aria-label="{html.escape(image["alt"])}"'
                drawing = opening + text[text.index("<svg") + len("<svg") :]
                image.replace_self(nodes.raw("", drawing, format="html"))


def qualified(module: str) -> str:
    """The name by which Python knows a module."""
    return "aiayn" if module == "__init__" else f"aiayn.{module}"


def module_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for every module of the package, and one that lists them."""
    rows = []
    for path in sorted(Path(app.srcdir, "aiayn").glob("*.py")):
        page, name, source = f"aiayn/{path.stem}", qualified(path.stem), path.read_text(encoding="utf-8")
        code = app.builder.highlighter.highlight_block(source, "python")
        chapters = {f"book/{docname}" for _, docname, _ in PIECE.findall(code)} & app.env.found_docs
        links = ", ".join(
            f'<a href="{app.builder.get_relative_uri(page, docname)}">{html.escape(app.env.titles[docname].astext())}</a>'
            for docname in sorted(chapters)
        )
        
        def home(match: re.Match[str]) -> str:
            """The comment above a piece, as a place to link to and a link to the cell."""
            origin, docname, cell = match.groups()
            ...

        yield page, {"title": name, "body": body, "parents": parents}, "page.html"
