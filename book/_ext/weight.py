"""Weight: of what the theme and MathJax bring along, the site takes what its pages use.

* Icons. The theme draws some fifteen icons with a script of 1.5 MB that knows thousands, or with a font.
  Here the shapes of those that the pages name are cut out of that script when the site is built, and
  written into icons.css. (Templates in book/_templates leave the script out.)
* MathJax. Its parts are loaded one by one, without the menu: that is the largest part, and it would make
  every formula a stop for the Tab key. Formulas keep their MathML for screen readers. Of the 24 MB in
  sphinx-mathjax-offline only these parts reach the site.
"""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pydata_sphinx_theme
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)

FONT_AWESOME = "theme/pydata_sphinx_theme/static/scripts/fontawesome.js"
ICON = re.compile(r'class="[^"]*\bfa(?:s|b|-solid|-brands) fa-([\w-]+)')
ICON_RULES = """\
/* Icons of Font Awesome Free by @fontawesome, https://fontawesome.com/license/free (CC BY 4.0). */
:is(.fas, .fab, .fa-solid, .fa-brands)[class*=" fa-"]::before { content: none; } /* or the font would load */
:is(.fas, .fab, .fa-solid, .fa-brands)[class*=" fa-"] {
  background: currentcolor;
  height: 1em;
  mask: var(--icon) center / contain no-repeat;
  vertical-align: -0.125em;
  width: 1.25em;
}
@media (forced-colors: active) {
  :is(.fas, .fab, .fa-solid, .fa-brands)[class*=" fa-"] { background: CanvasText; }
}
"""

# What they stand on they load themselves, in the right order.
MATHJAX_PARTS = ["input/tex", "output/chtml", "a11y/assistive-mml"]
MATHJAX_LOADS = ["core", "output/chtml/fonts/tex"]
# And these when a formula needs them.
MATHJAX_FOLDERS = ["input/tex/extensions", "output/chtml/fonts/woff-v2"]


def shape(name: str, script: str) -> str | None:
    """An icon as an SVG picture in an address; a solid one where there is a choice."""
    # name:[width,height,[other names],"code point","path"]; the solid ones come last in the script.
    entry = rf'[{{,]"?{re.escape(name)}"?:\[(\d+),(\d+),\[[^\]]*\],"[0-9a-f]+","([^"]+)"'
    found = re.findall(entry, script)
    if not found:
        return None
    width, height, path = found[-1]
    box = f"viewBox='0 0 {width} {height}'"
    return f"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' {box}><path d='{path}'/></svg>"


def write_icons(app: Sphinx, exception: Exception | None) -> None:
    """Write the icons that the finished pages name."""
    if exception or app.builder.format != "html":
        return
    pages = (path.read_text(encoding="utf-8") for path in Path(app.outdir).rglob("*.html"))
    names = {name for page in pages for name in ICON.findall(page)}
    script = (Path(pydata_sphinx_theme.__file__).parent / FONT_AWESOME).read_text(encoding="utf-8")
    rules = ICON_RULES
    for name in sorted(names):
        address = shape(name, script)
        if address is None:
            LOGGER.warning("Font Awesome has no icon fa-%s", name)
        rules += f'.fa-{name} {{ --icon: url("{address}"); }}\n'
    Path(app.outdir, "_static", "icons.css").write_text(rules, encoding="utf-8")


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
    app.connect("build-finished", write_icons)
    app.add_css_file("icons.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
