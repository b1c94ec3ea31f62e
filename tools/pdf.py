"""Make one PDF of the built site: python tools/pdf.py SITE OUTPUT.

Chromium opens every page as a reader would, so that charts are drawn and formulas
typeset by the scripts of the site. What it then shows is put together into one long
page without scripts, whose links lead to places on itself, and printed.
site/static/print.css says how paper looks; what only a whole book has (title page,
contents, running heads) is said in site/print/book.css; book.js is what the pages run.
"""

import html
import json
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pikepdf
import set_url
import yaml
from browser import NoBrowser, chromium
from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 665  # pixels between the margins of print.css
SIZE: Any = {"width": WIDTH, "height": 1000}
PRINT = ROOT / "site" / "print"


@dataclass(frozen=True)
class Entry:
    """A line of the contents."""

    page: str  # as in _toc.yml
    part: str  # "" for what comes before the first part
    inner: bool  # it is a section of the chapter before

    @property
    def name(self) -> str:
        """What its places in the book begin with."""
        return self.page.removeprefix("book/").replace("/", "-")


def entries() -> list[Entry]:
    """The book's pages in reading order, without the package's reference."""
    table = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    found = [Entry(table["root"], "", False)]
    for part in table["parts"]:
        for chapter in part["chapters"]:
            found.append(Entry(chapter["file"], part["caption"], False))
            sections = chapter.get("sections", [])
            found += [Entry(each["file"], part["caption"], True) for each in sections]
    # The reference is there to be looked up, on a screen.
    return [entry for entry in found if not entry.page.startswith("api/")]


def settings() -> dict[str, Any]:
    """What the site says of itself."""
    text = (ROOT / "_config.yml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def online() -> str:
    """Where the site is published."""
    owner, name = set_url.current().removeprefix("https://github.com/").split("/")
    return f"https://{owner}.github.io/{name}/"


def combine(browser: Browser, site: Path, chosen: list[Entry]) -> str:
    """The chosen pages of the site as one."""
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    page.set_default_timeout(120_000)
    page.emulate_media(media="print")
    names = {(site / f"{entry.page}.html").as_uri(): entry.name for entry in chosen}
    where = {"names": names, "base": f"{site.as_uri()}/", "online": online()}
    taken = []
    for address_of_page in names:
        page.goto(address_of_page)
        page.add_script_tag(path=PRINT / "book.js")
        page.wait_for_function("book.isDrawn()")
        taken.append(page.evaluate("(where) => book.take(where)", where))
    page.close()
    return page_of_all(chosen, taken)


def page_of_all(chosen: list[Entry], taken: list[dict[str, Any]]) -> str:
    """One page of HTML: title, contents (a `PAGE-OF-name` for a number), chapters."""
    heads, lines, part = [], [], ""
    for entry, chapter in zip(chosen, taken, strict=True):
        title = html.escape(chapter["title"])
        if entry.part != part:
            lines.append(f"<h3>{html.escape(entry.part)}</h3>")
            part = entry.part
        inner = ' class="inner"' * entry.inner
        number = f"<span>PAGE-OF-{entry.name}</span>"
        lines.append(f'<a{inner} href="#{entry.name}"><span>{title}</span>{number}</a>')
        # A page style of its own for every chapter, as a running head cannot be taken
        # from the text.
        style = f"chapter-{entry.name}"
        quoted = json.dumps(chapter["title"], ensure_ascii=False)
        heads.append(
            f"#{entry.name} {{ page: {style}; }}"
            f" @page {style} {{ @top-right {{ content: {quoted}; }} }}"
        )
    chapters = (
        f'<article class="bd-article chapter" id="{entry.name}"'
        f' style="page: chapter-{entry.name}">{chapter["html"]}</article>'
        for entry, chapter in zip(chosen, taken, strict=True)
    )
    sheets = dict.fromkeys(sheet for chapter in taken for sheet in chapter["styles"])
    style = (PRINT / "book.css").read_text(encoding="utf-8")
    title, _, under = settings()["title"].partition(", ")
    front = (
        f'<h1>{html.escape(title)}</h1><p class="under">{html.escape(under)}</p>'
        f'<div class="rule"></div><p class="foot">{html.escape(settings()["author"])},'
        f" {settings()['copyright']}"
        f'<br>To run: <a href="{set_url.current()}">{set_url.current()}</a>'
        f'<br>To read online: <a href="{online()}">{online()}</a></p>'
    )
    return (
        f'<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">'
        f"<title>{html.escape(settings()['title'])}</title>{''.join(sheets)}"
        f"<style>{style}{''.join(heads)}</style>"
        f'<section class="front title-page">{front}</section>'
        f'<div class="front toc"><h2>Contents</h2>{"".join(lines)}</div>'
        '<main class="bd-main"><div class="bd-content">'
        f'<div class="bd-article-container">{"".join(chapters)}</div>'
        "</div></main></html>"
    )


def print_book(browser: Browser, text: str, output: Path) -> None:
    """Print twice: only then do the contents know where everything came to stand."""
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    page.set_default_timeout(600_000)
    with tempfile.TemporaryDirectory() as folder:
        source, proof = Path(folder, "book.html"), Path(folder, "proof.pdf")
        for last, target in ((False, proof), (True, output)):
            source.write_text(text, encoding="utf-8")
            page.goto(source.as_uri())
            page.evaluate("document.fonts.ready.then(() => true)")
            page.emulate_media(media="print")
            page.add_script_tag(path=PRINT / "book.js")
            page.evaluate("book.redirect()")
            as_styled: Any = {"prefer_css_page_size": True, "print_background": True}
            page.pdf(path=target, tagged=last, outline=last, **as_styled)
            if not last:
                text = numbered(text, proof)
    page.close()


def numbered(text: str, proof: Path) -> str:
    """The text with the pages' numbers that a first printing has shown."""
    with pikepdf.open(proof) as book:
        numbers = {page.objgen: number for number, page in enumerate(book.pages, 1)}
        places = book.Root.Dests.items()
        places = {str(name): numbers[place[0].objgen] for name, place in places}
    return re.sub("PAGE-OF-([^<]+)", lambda name: str(places[f"/{name[1]}"]), text)


def make(site: Path, output: Path, chosen: list[Entry]) -> None:
    """Print the chosen pages of a built site as one book."""
    with chromium() as browser:
        print_book(browser, combine(browser, site, chosen), output)
    with pikepdf.open(output, allow_overwriting_input=True) as book:
        book.docinfo["/Author"] = settings()["author"]
        # Readers open with the chapters at the side.
        book.Root.PageMode = pikepdf.Name.UseOutlines
        # Chromium writes what a screen reader needs at length: this leaves a quarter.
        book.save(output, object_stream_mode=pikepdf.ObjectStreamMode.generate)


if __name__ == "__main__":
    try:
        make(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), entries())
    except NoBrowser as error:
        sys.exit(f"the book cannot be printed: {error}")
