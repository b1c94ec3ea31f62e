"""Numbers in sentences that drag: `<span data-dial="d_k">64</span>` in a chapter.

Such a number sets the parameter of the next chart that is chosen there by a row of
radio buttons. Others of the same paragraph follow: `data-shows="root"` is the dial's
square root, `data-shows="FIELD" data-where="field=value, …"` is what the chart's data
say. Without scripts, and on GitHub, all of them are plain numbers.
"""

from page_files import load_where
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    load_where(app, "data-dial=", "dials.css", "dials.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
