"""Files of the theme that no page asks for do not come with the site: the icons (of
which icons.css has the few that are used), source maps and other languages. Nor do
the rules that name each of the icons, a quarter of the theme's styles, or the
indentation of the notebooks to download, a sixth of them.
"""

import json
import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

UNUSED = [
    "locales",
    "scripts/fontawesome.js",
    "scripts/*.LICENSE.txt",
    "vendor/fontawesome",
]
ICONS = re.compile(r'(?:\.fa-[\w-]+::?before,?)+\{content:"[^"]*"\}')


def remove_unused(app: Sphinx, exception: Exception | None) -> None:
    """Remove them from the site that was built."""
    static = Path(app.outdir, "_static")
    unused = [*static.rglob("*.map")]
    for pattern in UNUSED:
        unused += static.glob(pattern)
    for path in unused:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    styles = static / "styles" / "pydata-sphinx-theme.css"
    rules = styles.read_text(encoding="utf-8")
    styles.write_text(ICONS.sub("", rules), encoding="utf-8")
    for path in Path(app.outdir, "_sources").rglob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        compact = json.dumps(notebook, ensure_ascii=False, separators=(",", ":"))
        path.write_text(compact, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.connect("build-finished", remove_unused)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
