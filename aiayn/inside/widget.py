"""What the pictures below are made of: HTML with style and script.

From "Pages to look at":
https://github.com/OWNER/aiayn/blob/main/book/11-11-pages-to-look-at.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-11-pages-to-look-at.ipynb, cell widget
import json
from importlib.resources import files

# The files, .css and .js, that a kind of picture is made of.
PARTS = {
    "attention": ["widget", "heads", "attention"],
    "steps": ["widget", "vectors", "steps"],
    "film": ["widget", "vectors", "film"],
}


def static(*names: str) -> str:
    """The text of files of `aiayn/inside/static`, one after the other."""
    folder = files("aiayn.inside") / "static"
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def style(kind: str) -> str:
    """The element with the style of a kind of picture."""
    return f"<style>{static(*(f'{part}.css' for part in PARTS[kind]))}</style>"


def script(kind: str) -> str:
    """The element with the script, which draws all pictures of a kind on the page."""
    return f"<script>{static(*(f'{part}.js' for part in PARTS[kind]))}</script>"


def place(kind: str, rows: str, shown: object) -> str:
    """A table for readers without JavaScript, and what the script draws, as JSON."""
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("<", r"\u003c")  # in a script, it could begin an element
    data = f'<script type="application/json">{text}</script>'
    return f'<div class="aiayn-widget aiayn-{kind}">{rows}{data}</div>'


def widget(kind: str, rows: str, shown: object) -> str:
    """A picture that carries its style and its script, for a notebook."""
    return f"<div>{style(kind)}{place(kind, rows, shown)}{script(kind)}</div>"
