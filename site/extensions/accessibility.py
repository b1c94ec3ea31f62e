"""Accessibility: what the theme leaves out for readers with a keyboard or a screen
reader.

* The arrows that fold the sidebar's chapters get names.
* On a module's page the sidebar marks the reference, which the table of contents has in
  place of all modules.
* reach.js lets the keyboard scroll long formulas, makes the sidebar a landmark, and has
  it show the page that one is on.
"""

import re
from collections.abc import Callable
from typing import Any

from sphinx.application import Sphinx

FOLD = re.compile(
    r'(<a class="[^"]*\breference\b[^>]*>)([^<]*)(</a>\s*<details[^>]*>\s*<summary)>'
)


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


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.connect("html-page-context", name_folds, priority=900)  # after the theme's
    app.add_js_file("reach.js", defer="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
