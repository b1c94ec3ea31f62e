"""The package's text: a page for every module, and the list of chapters with the
modules that they write.

A generated module names the origin of each of its pieces in a comment. On the page with
the module's text, aiayn/NAME.html, that comment is a place to link to and leads back to
the cell. What a module is for, and how its parts are called, is said in the reference
(reference.py).
"""

import re
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

from docutils import nodes
from modules import ORIGIN, Module, package
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def module_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The text of every module, on a page."""
    for module in package(app).values():
        page, chapter = module.source_page, module.chapter
        reference = link(app, page, module.page, "Reference")
        head = f"<h1>{module.qualified}</h1><p>{reference}"
        code = app.builder.highlighter.highlight_block(module.source, "python")
        if chapter in app.env.found_docs:
            title = escape(app.env.titles[chapter].astext())
            head += f" · written in {link(app, page, chapter, title)}"
            home = app.builder.get_relative_uri(page, chapter)
            comment = rf'(?<=<span class="c1">){ORIGIN}(?=</span>)'
            code = re.sub(comment, place(home), code)
        context = {"title": f"{module.qualified}, source", "body": f"{head}</p>{code}"}
        yield page, context, "page.html"


def place(home: str) -> Callable[[re.Match[str]], str]:
    """What stands for a comment that names a cell: a link to it; and the first one is a
    place to link to.
    """
    seen = set[str]()

    def origin(found: re.Match[str]) -> str:
        path, _, cell = found.groups()
        # A cell may go on with several classes.
        name = "" if cell in seen else f' id="cell-{cell}"'
        seen.add(cell)
        return (
            f'<a class="aiayn-origin"{name} href="{home}#cell-{cell}">'
            f"# {path}, cell {cell}</a>"
        )

    return origin


def link(app: Sphinx, page: str, target: str, text: str) -> str:
    """An HTML link from one page to another."""
    return f'<a href="{app.builder.get_relative_uri(page, target)}">{text}</a>'


class ChapterList(nodes.General, nodes.Element):
    """Where `{chapters}` stands until all titles are known."""


class Chapters(SphinxDirective):
    """`{chapters}`: the chapters in reading order, each with the modules that it
    writes.
    """

    def run(self) -> list[nodes.Node]:
        return [ChapterList()]


def list_chapters(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the list where the directive stands."""
    written: dict[str | None, list[Module]] = {}
    for module in package(app).values():
        written.setdefault(module.chapter, []).append(module)

    def entries(parent: str) -> str:
        items = ""
        for chapter in app.env.toctree_includes.get(parent, []):
            text = escape(app.env.titles[chapter].astext())
            title = link(app, docname, chapter, text)
            names = [
                link(app, docname, module.page, f"<code>{module.qualified}</code>")
                for module in written.get(chapter, [])
            ]
            items += f"<li>{' · '.join([title, *names])}{entries(chapter)}</li>"
        return f'<ul class="aiayn-chapters">{items}</ul>' if items else ""

    for node in list(doctree.findall(ChapterList)):
        node.replace_self(nodes.raw("", entries(app.config.root_doc), format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    # It numbers sections once all pages are read, so that they may be read side by side
    # (tools/site.py); but it does not say so.
    app.extensions["sphinx_multitoc_numbering"].parallel_read_safe = True
    app.add_node(ChapterList)
    app.add_directive("chapters", Chapters)
    app.connect("doctree-resolved", list_chapters)
    app.connect("html-collect-pages", module_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
