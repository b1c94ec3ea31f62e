"""The package: a page for every module, and the list of chapters with the modules that they write.

A generated module names the origin of each of its pieces in a comment. On the module's page,
aiayn/NAME.html, that comment is a place to link to and leads back to the cell.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ORIGIN = r"# ((book/[^,<\n]+)\.ipynb), cell ([\w-]+)"  # path, page, cell
INDEX = "aiayn/index"


def qualified(module: str) -> str:
    """The name by which Python knows a module."""
    return f"aiayn.{module}".removesuffix(".__init__")


def modules(app: Sphinx) -> dict[str, str]:
    """The source of every module."""
    folder = Path(app.srcdir, "aiayn")
    paths = {".".join(path.relative_to(folder).with_suffix("").parts): path for path in folder.rglob("*.py")}
    return {name: paths[name].read_text(encoding="utf-8") for name in sorted(paths)}


def chapter_of(app: Sphinx, source: str) -> str | None:
    """The page of the chapter that writes a module (there is one, says the export), if the book has it."""
    origin = re.search(f"^{ORIGIN}$", source, re.MULTILINE)
    return origin[2] if origin and origin[2] in app.env.found_docs else None


def module_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The page of every module, and one that lists them."""
    rows = []
    for module, source in modules(app).items():
        page, name, chapter = f"aiayn/{module}", qualified(module), chapter_of(app, source)
        head = f"<h1>{name}</h1><p>{link(app, page, INDEX, 'The package')}"
        row = f"<tr><td>{link(app, INDEX, page, f'<code>{name}</code>')}</td><td>"
        if chapter:
            title = escape(app.env.titles[chapter].astext())
            head += f" · written in {link(app, page, chapter, title)}"
            row += link(app, INDEX, chapter, title)
        code = app.builder.highlighter.highlight_block(source, "python")
        if chapter:
            home = app.builder.get_relative_uri(page, chapter)
            place = rf'<a class="aiayn-origin" id="cell-\3" href="{home}#cell-\3"># \1, cell \3</a>'
            code = re.sub(rf'(?<=<span class="c1">){ORIGIN}(?=</span>)', place, code)
        rows.append(f"{row}</td></tr>")
        yield page, {"title": name, "body": f"{head}</p>{code}"}, "page.html"
    body = (
        "<h1>The package</h1><p>Every module of <code>aiayn</code> is written by a chapter of the book. "
        'Each piece of it names the cell that it comes from.</p><div class="pst-scrollable-table-container">'
        '<table class="table"><thead>'
        f"<tr><th>module</th><th>chapter</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
    yield INDEX, {"title": "The package", "body": body}, "page.html"


def link(app: Sphinx, page: str, target: str, text: str) -> str:
    """An HTML link from one page to another."""
    return f'<a href="{app.builder.get_relative_uri(page, target)}">{text}</a>'


class ChapterList(nodes.General, nodes.Element):
    """Where `{chapters}` stands until all titles are known."""


class Chapters(SphinxDirective):
    """`{chapters}`: the chapters in reading order, each with the modules that it writes."""

    def run(self) -> list[nodes.Node]:
        return [ChapterList()]


def list_chapters(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the list where the directive stands."""
    written: dict[str, list[str]] = {}
    for module, source in modules(app).items():
        written.setdefault(chapter_of(app, source) or "", []).append(module)

    def entries(parent: str) -> str:
        items = ""
        for chapter in app.env.toctree_includes.get(parent, []):
            title = link(app, docname, chapter, escape(app.env.titles[chapter].astext()))
            names = [
                link(app, docname, f"aiayn/{module}", f"<code>{qualified(module)}</code>")
                for module in written.get(chapter, [])
            ]
            items += f"<li>{' · '.join([title, *names])}{entries(chapter)}</li>"
        return f'<ul class="aiayn-chapters">{items}</ul>' if items else ""

    for node in list(doctree.findall(ChapterList)):
        node.replace_self(nodes.raw("", entries(app.config.root_doc), format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_node(ChapterList)
    app.add_directive("chapters", Chapters)
    app.connect("doctree-resolved", list_chapters)
    app.connect("html-collect-pages", module_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
