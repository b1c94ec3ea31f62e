"""Numbers in sentences that drag: `<span data-dial="d_k">64</span>` in a chapter.

Such a number sets the parameter of the next chart that is chosen there by a row of
radio buttons. Others of the same paragraph follow: `data-shows="root"` is the dial's
square root, `data-shows="FIELD" data-where="field=value, …"` is what the chart's data
say. Without scripts, and on GitHub, all of them are plain numbers.
"""

from typing import Any

from sphinx.application import Sphinx


def load_scripts(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Load script and style on pages with such numbers, and only there."""
    if "data-dial=" in context.get("body", ""):
        app.add_css_file("dials.css")
        app.add_js_file("dials.js", defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.connect("html-page-context", load_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
