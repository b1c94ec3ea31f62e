"""Accessibility: what the theme leaves out for readers with a keyboard or a screen
reader.

* The arrows that fold the sidebar's chapters get names.
* On a module's page the sidebar marks the reference, which the table of contents has in
  place of all modules.
* The corner of a table whose first column names the rows has nothing to say: it is no
  heading.
* German in emphasis, and in cells of tables, is marked as German, to be pronounced so.
  Authors mark nothing: what has a letter or a small word that English has not is
  German. A noun that stands alone stays as it is.
* reach.js lets the keyboard scroll what is wider than the page, makes the sidebar a
  landmark, and has it show the page that one is on. The theme's own script for the
  first of these is taken out: it lays out all folded code before a page is ready.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform

FOLD = re.compile(
    r'(<a class="[^"]*\breference\b[^>]*>)([^<]*)(</a>\s*<details[^>]*>\s*<summary)>'
)
CORNER = re.compile(r'<th class="head">(<p></p>)?</th>')

GERMAN = re.compile(
    "[äöüß]|\\b(?:am|als|auf|das|dass|dem|den|der|die|durfte|ein|eine|einige|er|es|ihre?"
    "|im|ist|keine?n?|mein|mit|muss|musste|nach|nicht|nie|rief|sah|schon|seinen|sie|und"
    "|waren|weil|wird|zur?)\\b",
    re.IGNORECASE,
)


# `addTabStopsToScrollableElements`, as it stands in the theme's minified script.
SCROLLABLE = re.compile(
    r',"complete"===document\.readyState\?(\w+)\(\)'
    r':window\.addEventListener\("load",\1\)'
)


class MarkGerman(SphinxPostTransform):
    """Give what is German the class of which docutils makes the attribute `lang`."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for node in self.document.findall(
            lambda node: isinstance(node, nodes.emphasis | nodes.entry)
        ):
            if GERMAN.search(node.astext()):
                node["classes"].append("language-de")


def name_folds(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let the theme's function that draws the sidebar name what each arrow folds."""
    draw: Callable[..., Any] | None = context.get("generate_toctree_html")
    if draw is None:
        return

    def drawn(*args: Any, **kwargs: Any) -> str:
        page = FOLD.sub(
            r'\1\2\3 aria-label="Sections of \2">', str(draw(*args, **kwargs))
        )
        if pagename.startswith("api/"):
            link = '"><a class="reference internal" href="index.html"'
            page = page.replace(f"l1{link}", f"l1 current active{link}")
        return page

    context["generate_toctree_html"] = drawn


def leave_scrolling_to_reach(app: Sphinx, exception: Exception | None) -> None:
    """Take the last call out of the theme's script.

    Raises
    ------
    ExtensionError
        If the script of this version of the theme ends otherwise.
    """
    if exception:
        return
    path = Path(app.outdir, "_static/scripts/pydata-sphinx-theme.js")
    script, found = SCROLLABLE.subn("", path.read_text(encoding="utf-8"))
    if found != 1:
        raise ExtensionError(f"{path.name} does not end as SCROLLABLE has it")
    path.write_text(script, encoding="utf-8")


def empty_corners(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write a heading of a table without words as a plain cell."""
    if body := context.get("body"):
        context["body"] = CORNER.sub("<td></td>", body)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.connect("html-page-context", name_folds, priority=900)  # after the theme's
    app.connect("build-finished", leave_scrolling_to_reach)
    app.connect("html-page-context", empty_corners)
    app.add_post_transform(MarkGerman)
    app.add_js_file("reach.js", defer="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
