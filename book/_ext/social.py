"""Every page says in its head what it is, for search engines and for those who pass its address on.

sphinxext-opengraph does so for pages made from text. This ends its descriptions with a whole word, and adds
the pages that have no text, as the package's.
"""

import re
from html import escape
from typing import Any

from sphinx.application import Sphinx


def describe(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Mend a page's description, or describe it by its title and the book's."""
    if doctree:
        context["metatags"] = re.sub(r' \S*\.\.\.(?=" />)', " …", context["metatags"])
    else:
        text = escape(f"{context.get('title', pagename)}: {app.config.ogp_site_name}")
        context["metatags"] = f'<meta name="description" content="{text}" />\n'


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.setup_extension("sphinxext.opengraph")
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
