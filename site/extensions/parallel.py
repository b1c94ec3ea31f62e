"""Lets Sphinx read the pages side by side, as `tools/site.py` asks it to."""

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    # It numbers sections once all pages are read, so that it is safe; but it does not
    # say so, and Sphinx would warn and read the pages one after the other.
    app.extensions["sphinx_multitoc_numbering"].parallel_read_safe = True
    return {"parallel_read_safe": True, "parallel_write_safe": True}
