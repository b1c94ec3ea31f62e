"""Make one PDF of the built site: python tools/pdf.py SITE OUTPUT.

Chromium opens every page as a reader would, so that charts are drawn and formulas
typeset by the scripts of the site. What it then shows is put together into one long
page without scripts, whose links lead to places on itself, and printed.
site/static/print.css says how paper looks; what only a whole book has (title page,
contents, running heads) is said here.
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
DRAWN = """
() => document.readyState === "complete" && dispatchEvent(new Event("beforeprint"))
  && [...document.querySelectorAll(".aiayn-chart")].every((chart) => chart.drawn)
"""

# Hands over the article as it stands. Its ids get the page's name in front, because two
# pages may use the same. A link becomes one to a place in the book or, where the book
# has not got the page, to the web.
TAKE = r"""
({names, base, online}) => {
  const article = document.querySelector("article.bd-article");
  const own = (id) => `${names[location.href.split("#")[0]]}--${id}`;
  const unprinted = "script, noscript, a.headerlink, .vega-bindings";
  article.querySelectorAll(unprinted).forEach((node) => node.remove());
  article.querySelectorAll("details").forEach((node) => { node.open = true; });
  for (const code of article.querySelectorAll("pre"))
    if (code.textContent.split("\n").length > 12) {
      const box = code.closest(".cell_input") ?? code.closest("[class*='highlight-']");
      box?.classList.add("aiayn-long");
    }
  // A formula that is wider than the paper gets smaller.
  for (const formula of article.querySelectorAll("div.math")) {
    const room = formula.clientWidth, width = formula.scrollWidth;
    if (width > room) formula.style.fontSize = `${Math.floor((95 * room) / width)}%`;
  }
  const mentions = ["for", "aria-labelledby", "aria-describedby", "aria-controls"];
  const here = `url($1#${own("")}`;
  for (const node of article.querySelectorAll("*")) {
    for (const {name, value} of [...node.attributes]) {
      if (name === "id") node.id = own(value);
      else if (mentions.includes(name))
        node.setAttribute(name, value.split(" ").map(own).join(" "));
      else if (value.includes("url(")) // Vega puts the page's address before the #
        node.setAttribute(name, value.replace(/url\((["']?)[^#)]*#/g, here));
      else if (name.endsWith("href") && value.startsWith("#") && node.localName !== "a")
        node.setAttribute(name, `#${own(value.slice(1))}`);
    }
    const full = (name) => new URL(node.getAttribute(name), document.baseURI).href;
    if (node.localName === "img") node.src = full("src");
    if (node.localName === "a" && node.hasAttribute("href")) {
      const [page, place] = full("href").split("#");
      const inner = place ? `--${decodeURIComponent(place)}` : "";
      const outer = place ? `#${place}` : "";
      if (names[page]) node.setAttribute("href", `#${names[page]}${inner}`);
      else if (page.startsWith(base))
        node.setAttribute("href", online + page.slice(base.length) + outer);
    }
  }
  return {
    html: article.innerHTML,
    title: article.querySelector("h1").textContent.trim(),
    styles: [...document.querySelectorAll('link[rel="stylesheet"]')]
      .map((link) => link.outerHTML.replace(link.getAttribute("href"), link.href)),
  };
}
"""

# A link into what paper leaves out leads to the nearest place above it that is printed.
REDIRECT = """
() => {
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    const id = decodeURIComponent(link.getAttribute("href").slice(1));
    const target = document.getElementById(id);
    let place = target;
    while (place && !place.checkVisibility()) place = place.parentElement;
    if (place === target) continue;
    while (place && !place.id) place = place.parentElement;
    if (place) link.setAttribute("href", `#${place.id}`);
  }
}
"""

STYLE = """
:root { --aiayn-sans: "Liberation Sans", Arial, sans-serif; }
@page {
  @top-right { color: #57606a; font: 8.5pt "Liberation Sans", Arial, sans-serif; }
}
@page front { @bottom-center { content: none; } }
.front, .chapter { break-after: page; }
.chapter:last-child { break-after: auto; }
.toctree-wrapper { display: none; } /* empty, and yet it may need a page */
.front { page: front; }
.title-page { display: flex; flex-direction: column; height: 250mm; }
.title-page h1 {
  font: 600 40pt/1.1 var(--aiayn-serif);
  margin: 62mm 0 0;
  text-wrap: balance;
}
.title-page .under {
  color: var(--aiayn-muted);
  font: 15pt/1.4 var(--aiayn-serif);
  margin-top: 6mm;
}
.title-page .rule {
  border-top: 2pt solid var(--aiayn-blue);
  margin-top: 10mm;
  width: 32mm;
}
.title-page .foot { font: 9.5pt/1.6 var(--aiayn-sans); margin-top: auto; }
.toc h2 { font: 600 22pt/1.2 var(--aiayn-serif); margin: 0 0 6mm; }
.toc h3 {
  color: var(--aiayn-muted);
  font: 600 8.5pt/1 var(--aiayn-sans);
  margin: 5mm 0 1.5mm;
}
.toc a {
  color: inherit;
  display: flex;
  font: 10.5pt/1.55 var(--aiayn-serif);
  text-decoration: none;
}
.toc a.inner { padding-left: 6mm; }
.toc a::before {
  border-bottom: 1px dotted var(--aiayn-muted);
  content: "";
  flex: 1;
  margin: 0 2mm 1.6mm;
  order: 1;
}
.toc a > :last-child {
  font-variant-numeric: tabular-nums;
  min-width: 7mm;
  order: 2;
  text-align: right;
}
"""


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
            if chapter["file"].startswith("api/"):  # to be looked up, on a screen
                continue
            found.append(Entry(chapter["file"], part["caption"], False))
            found += [
                Entry(inner["file"], part["caption"], True)
                for inner in chapter.get("sections", [])
            ]
    return found


def settings() -> dict[str, Any]:
    """What the site says of itself."""
    read: dict[str, Any] = yaml.safe_load(
        (ROOT / "_config.yml").read_text(encoding="utf-8")
    )
    return read


def online() -> str:
    """Where the site is published."""
    owner, name = set_url.current().removeprefix("https://github.com/").split("/")
    return f"https://{owner}.github.io/{name}/"


def combine(browser: Browser, site: Path, chosen: list[Entry]) -> str:
    """The chosen pages of the site as one."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": 1000}, color_scheme="light"
    )
    page.set_default_timeout(120_000)
    page.emulate_media(media="print")
    names = {(site / f"{entry.page}.html").as_uri(): entry.name for entry in chosen}
    where = {"names": names, "base": f"{site.as_uri()}/", "online": online()}
    taken = []
    for address_of_page in names:
        page.goto(address_of_page)
        page.wait_for_function(DRAWN)
        taken.append(page.evaluate(TAKE, where))
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
        f"<style>{STYLE}{''.join(heads)}</style>"
        f'<section class="front title-page">{front}</section>'
        f'<div class="front toc"><h2>Contents</h2>{"".join(lines)}</div>'
        '<main class="bd-main"><div class="bd-content">'
        f'<div class="bd-article-container">{"".join(chapters)}</div>'
        "</div></main></html>"
    )


def print_book(browser: Browser, text: str, output: Path) -> None:
    """Print twice: only then do the contents know where everything came to stand."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": 1000}, color_scheme="light"
    )
    page.set_default_timeout(600_000)
    with tempfile.TemporaryDirectory() as folder:
        source, proof = Path(folder, "book.html"), Path(folder, "proof.pdf")
        for last, target in ((False, proof), (True, output)):
            source.write_text(text, encoding="utf-8")
            page.goto(source.as_uri())
            page.evaluate("document.fonts.ready.then(() => true)")
            page.emulate_media(media="print")
            page.evaluate(REDIRECT)
            page.pdf(
                path=target,
                prefer_css_page_size=True,
                print_background=True,
                tagged=last,
                outline=last,
            )
            if not last:
                text = numbered(text, proof)
    page.close()


def numbered(text: str, proof: Path) -> str:
    """The text with the pages' numbers that a first printing has shown."""
    with pikepdf.open(proof) as book:
        numbers = {
            page.objgen: number for number, page in enumerate(book.pages, start=1)
        }
        places = {
            str(name): numbers[place[0].objgen]
            for name, place in book.Root.Dests.items()
        }
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
