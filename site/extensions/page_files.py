"""Scripts and styles that only some pages need."""

from typing import Any

from sphinx.application import Sphinx


def load_where(app: Sphinx, mark: str, *names: str) -> None:
    """Load files on pages whose HTML holds the mark, and only there."""

    def load(
        app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
    ) -> None:
        if mark not in context.get("body", ""):
            return
        for name in names:
            if name.endswith(".css"):
                app.add_css_file(name)
            else:
                app.add_js_file(name, defer="defer")

    app.connect("html-page-context", load)
