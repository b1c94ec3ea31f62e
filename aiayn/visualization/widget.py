# Made by `make export` from book/3-workshop/12-visualizations.ipynb
"""What the pictures below are made of: HTML with style and script."""

# book/3-workshop/12-visualizations.ipynb, cell widget
import json
from importlib.resources import files

# The files, .css and .js, that a kind of picture is made of.
STATIC_FILES = {
    "attention": ["widget", "heads", "attention"],
    "steps": ["widget", "vectors", "toolbar", "stage", "steps"],
    "decoding": ["widget", "decoding"],
}


def read_static(*names: str) -> str:
    """The text of files of `aiayn/visualization/static`, one after the other."""
    folder = files("aiayn.visualization") / "static"
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def style(kind: str) -> str:
    """The element with the style of a kind of picture."""
    return (
        f"<style>{read_static(*(f'{part}.css' for part in STATIC_FILES[kind]))}</style>"
    )


def script(kind: str) -> str:
    """The element with the script, which draws all pictures of a kind on the page."""
    scripts = [f"{part}.js" for part in STATIC_FILES[kind]]
    return f"<script>{read_static(*scripts)}</script>"


def html_data(kind: str, rows: str, shown: object) -> str:
    """A table for readers without JavaScript, and what the script draws, as JSON."""
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("<", r"\u003c")  # in a script, it could begin an element
    data = f'<script type="application/json">{text}</script>'
    return f'<div class="aiayn-widget aiayn-{kind}">{rows}{data}</div>'


def html_widget(kind: str, rows: str, shown: object) -> str:
    """A picture that carries its style and its script, for a notebook."""
    return f"<div>{style(kind)}{html_data(kind, rows, shown)}{script(kind)}</div>"
