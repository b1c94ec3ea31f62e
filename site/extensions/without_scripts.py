"""Without scripts, pages are light or dark as the reader's system is.

All colours hang on `data-theme`, in which a script of the theme writes "light" or
"dark". Where none runs it stays "auto": for then, these rules are written once more,
into a style sheet that only such pages load (site/templates/layout.html).
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

# In the order in which a page has them.
SHEETS = ["styles/pydata-sphinx-theme.css", "pygments.css"]
SHEETS += ["styles/sphinx-book-theme.css", "book.css"]
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
THEME = re.compile(r'\[data-theme(?:="?(light|dark)"?)?\]')
RULE = re.compile(r"[^{};]*html\[data-theme[^{}]*\{[^{}]*\}")


def themed_rules(css: str) -> dict[str, str]:
    """The rules of either theme, as they are for a page that has none yet."""
    found = dict.fromkeys(("light", "dark"), "")
    for rule in RULE.findall(COMMENT.sub("", css)):
        for theme in found:
            if {*THEME.findall(rule)} & {theme, ""}:
                found[theme] += THEME.sub('[data-theme="auto"]', rule.strip()) + "\n"
    return found


def write_sheet(app: Sphinx, exception: Exception | None) -> None:
    """Put the style sheet beside those of the site that was built."""
    static = Path(app.outdir, "_static")
    rules = [themed_rules((static / name).read_text("utf-8")) for name in SHEETS]
    light, dark = ("".join(each[theme] for each in rules) for theme in rules[0])
    (static / "without-scripts.css").write_text(
        f"@media screen {{\n{light}}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n",
        encoding="utf-8",
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.connect("build-finished", write_sheet, priority=900)  # after the theme's
    return {"parallel_read_safe": True, "parallel_write_safe": True}
