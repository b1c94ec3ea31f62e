"""The contents of a page in the left sidebar, under the page's own entry: margin.css
shows them on a wide screen, where the paper stands on the right. reach.js marks the
section that one reads. In headings, here and there, √d_k gets its subscript.
"""

import re
from typing import Any

from bs4 import BeautifulSoup
from sphinx.application import Sphinx


def set_subscripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give √d_k its subscript, where HTML has it in a heading or in the contents."""
    places = {"body": r"<h[23]>[^\n]*", "toc": r">[^<]*√d_[^<]*<"}
    if "√d_" not in context.get("toc", ""):
        return
    for name, heading in places.items():
        context[name] = re.sub(heading, subscripts, context[name])


def subscripts(heading: re.Match[str]) -> str:
    """A heading with them."""
    return re.sub(r"√d_(k|model)", r"√<i>d</i><sub>\1</sub>", heading[0])


def add_contents(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Have the theme's sidebar list the page's sections."""
    tree = context.get("generate_toctree_html")
    toc = BeautifulSoup(context.get("toc", ""), "html.parser")
    sections = toc.select_one("ul > li > ul")
    for below in sections.select("ul") if sections else ():
        below.decompose()

    def with_contents(**options: Any) -> Any:
        sidebar = BeautifulSoup(str(tree(**options)), "html.parser")
        here = sidebar.select("li.active > a")
        if here and sections:
            sections["class"] = "aiayn-contents"
            here[-1].insert_after(sections)
        return sidebar

    if tree:
        context["generate_toctree_html"] = with_contents


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.connect("html-page-context", set_subscripts, priority=100)  # before the theme
    app.connect("html-page-context", add_contents, priority=950)  # after accessibility
    return {"parallel_read_safe": True, "parallel_write_safe": True}
