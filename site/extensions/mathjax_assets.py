"""MathJax: the site takes those of its parts that pages use.

Its parts are loaded one by one, without the menu: that is the largest part, and it
would make every formula a stop for the Tab key. Formulas keep their MathML for screen
readers. Of the 24 MB in sphinx-mathjax-offline only these parts reach the site.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

# What they stand on they load themselves, in the right order.
MATHJAX_PARTS = ["input/tex", "output/chtml", "a11y/assistive-mml"]
MATHJAX_LOADS = ["core", "output/chtml/fonts/tex"]
# And these when a formula needs them.
MATHJAX_FOLDERS = ["input/tex/extensions", "output/chtml/fonts/woff-v2"]


def configure_mathjax(app: Sphinx, config: Config) -> None:
    """Have MathJax load its parts, and no more."""
    config.mathjax_path = "mathjax/startup.js"
    config.mathjax3_config = (config.mathjax3_config or {}) | {
        "loader": {"load": MATHJAX_PARTS},
        "startup": {"input": ["tex"], "output": "chtml"},
    }


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Copy these parts, and what they may load, into the site."""
    if exception or app.builder.format != "html":
        return
    package = find_spec("sphinx-mathjax-offline")
    assert package is not None and package.origin is not None
    source = Path(package.origin).parent / "static" / "mathjax"
    target = Path(app.outdir, "_static", "mathjax")
    for part in ["startup", *MATHJAX_PARTS, *MATHJAX_LOADS]:
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / f"{part}.js", target / f"{part}.js")
    for folder in MATHJAX_FOLDERS:
        shutil.copytree(source / folder, target / folder, dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.connect("config-inited", configure_mathjax)
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
