"""Where one is and where to go: above a title its place in the book, how long it
takes and what one needs first; at the foot why to read the next page, and its minutes.

book/data/chapters.yml says what one needs, and why; reading_paths counts minutes.
"""

import html
import json
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from notebooks import chapters
from reading_paths import LETTERS, WORDS, minutes
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def walk(
    entries: list[dict[str, Any]], above: list[str]
) -> Iterator[tuple[str, list[str]]]:
    """Every page below these entries of _toc.yml, with the pages above it."""
    for entry in entries:
        yield entry["file"], above
        yield from walk(entry.get("sections", []), [*above, entry["file"]])


@cache
def places(folder: Path) -> dict[str, tuple[str, list[str]]]:
    """The part that each page belongs to, and the pages above it, from _toc.yml."""
    toc = yaml.safe_load((folder / "_toc.yml").read_text(encoding="utf-8"))
    return {
        page: (part["caption"], above)
        for part in toc["parts"]
        for page, above in walk(part["chapters"], [])
    }


@cache
def ways(folder: Path) -> dict[str, dict[str, Any]]:
    """What chapters.yml says of each page."""
    text = (folder / "book" / "data" / "chapters.yml").read_text(encoding="utf-8")
    return {f"book/{name}": entry for name, entry in yaml.safe_load(text).items()}


@cache
def duration(path: Path) -> str:
    """The minutes that a chapter takes, "" for what is no notebook."""
    if path.suffix != ".ipynb":
        return ""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return f"{max(1, round(minutes(notebook)))} min"


def short(app: Sphinx, page: str) -> str:
    """A page's number in the paper, else its title."""
    title = app.env.titles[page].astext()
    number = chapters(Path(app.srcdir, "book")).get(page, ("", ""))[1]
    return number if number and title.startswith(f"{number} ") else title


def above_title(app: Sphinx, page: str) -> str:
    """The line above a title, in HTML."""
    part, above = places(Path(app.srcdir))[page]
    entry = ways(Path(app.srcdir)).get(page)

    def link(other: str) -> str:
        address = app.builder.get_relative_uri(page, other)
        title = html.escape(app.env.titles[other].astext())
        return (
            f'<a href="{address}" title="{title}">{html.escape(short(app, other))}</a>'
        )

    trail = [html.escape(part), *map(link, above), html.escape(short(app, page))]
    parts = [f'<nav aria-label="Place in the book">{" › ".join(trail)}</nav>']
    if time := duration(Path(app.env.doc2path(page))):
        rate = f"{WORDS} words or {LETTERS} characters of code a minute"
        parts.append(f'<span title="{rate}">{time}</span>')
    pages = (f"book/{name}" for name in (entry or {}).get("needs", ()))
    if needs := [link(each) for each in pages if each in app.env.titles]:
        parts.append(f"<span>you need {' and '.join(needs)}</span>")
    return f'<div class="aiayn-place-line">{" · ".join(parts)}</div>\n'


def show_ways(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put the line above the title, and what the foot needs into the context."""
    known = places(Path(app.srcdir))
    if page in known and "body" in context:
        context["body"] = context["body"].replace(
            "<h1>", above_title(app, page) + "<h1>", 1
        )
    names = [app.config.root_doc, *known]
    after = dict(pairwise(names)).get(page, "")
    if "next" in context and after in ways(Path(app.srcdir)):
        context["next_why"] = ways(Path(app.srcdir))[after]["why"]
        context["next_time"] = duration(Path(app.env.doc2path(after)))


def check(app: Sphinx, env: Any) -> None:
    """Warn of pages that chapters.yml lacks, and of those that are none."""
    pages = {page for page in places(Path(app.srcdir)) if page.startswith("book/")}
    entries = ways(Path(app.srcdir))
    named = {f"book/{name}" for entry in entries.values() for name in entry["needs"]}
    for page in sorted(pages - entries.keys()):
        LOGGER.warning("chapters.yml: %s is missing", page)
    for page in sorted((entries.keys() | named) - pages):
        LOGGER.warning("chapters.yml: there is no %s", page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.connect("env-check-consistency", check)
    app.connect("html-page-context", show_ways)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
