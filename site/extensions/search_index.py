"""The search's index: every place of the finished site that one may look for or link
to, in a script that also a page opened from disk can load.

A place is a page, a section, a name of the package, an option of the command line, a
claim, a term, a work, or a cell that another page links to. find.js ranks them, and
previews.js shows them where a link leads to one.
"""

import json
import re
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lxml.html
import yaml
from lxml.html import HtmlElement
from sphinx.application import Sphinx

SYNONYMS = "book/data/synonyms.yml"
FILES = "site/search"  # what a page loads when its reader begins to search
LONGEST = 12  # lines of code that a preview shows

# Not read as text: code and what it prints, drawings, the names of exported cells.
UNREAD = (
    "self::script or self::style or self::svg or self::pre or self::dl or self::table"
    " or contains(@class, 'cell_input') or contains(@class, 'cell_output')"
    " or contains(@class, 'aiayn-badge') or contains(@class, 'aiayn-depth')"
    " or contains(@class, 'headerlink') or contains(@class, 'aiayn-entry')"
    " or contains(@class, 'aiayn-data') or contains(@class, 'aiayn-references')"
    " or contains(@class, 'aiayn-place') or self::summary"
)
# Places by what their elements look like, in this order.
KINDS = {
    "section": "//article//section[@id]",
    "name": "//article//dt[contains(@class, 'sig-object py')][@id]",
    "option": "//article//dt[contains(@class, 'sig-object std')][@id]",
    "claim": "//article//div[contains(@class, 'aiayn-entry')][@id]",
    "term": "//article//dl[contains(@class, 'glossary')]/dt[@id]",
    "work": "//article//li[starts-with(@id, 'ref-')]",
    "cell": "//article//div[contains(@class, 'cell_input')]",
}
SIGNS = {
    "cdot": "·", "times": "×", "le": "≤", "ge": "≥", "ne": "≠", "approx": "≈",
    "in": "∈", "sum": "Σ", "infty": "∞", "top": "ᵀ", "dots": "…", "ldots": "…",
    "to": "→", "lfloor": "⌊", "rfloor": "⌋", "pm": "±", "quad": " ", "sqrt": "√",
}  # fmt: skip


def plain(tex: str) -> str:
    """A formula as a line of text."""
    tex = re.sub(r"\\[()\[\]]|\\[,;!:> ]|&|\\\\", " ", tex)
    tex = re.sub(r"\\(?:begin|end)\{\w+\*?\}|\\(?:left|right|big)\b", "", tex)
    tex = re.sub(r"\\d?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", tex)
    tex = re.sub(r"\\(?:mathrm|text|operatorname|mathbb|mathbf)\b", "", tex)

    def sign(command: re.Match[str]) -> str:
        name = command[1]
        case = "CAPITAL" if name[0].isupper() else "SMALL"
        try:
            return unicodedata.lookup(f"GREEK {case} LETTER {name.upper()}")
        except KeyError:
            return SIGNS.get(name, name)

    return re.sub(r"\\([A-Za-z]+)", sign, tex).translate({123: None, 125: None})


def text_of(element: HtmlElement, *, nested: bool = False) -> str:
    """What one reads in an element, without the sections and entries within it."""
    skip = UNREAD if nested else f"self::section or {UNREAD}"
    pieces: list[str] = []

    def visit(node: HtmlElement) -> None:
        if "math" in (node.get("class") or "").split():
            pieces.append(plain(node.get("data-tex")))
        else:
            pieces.append(node.text or "")
            for child in node:
                if isinstance(child.tag, str) and not child.xpath(skip):
                    visit(child)
                pieces.append(child.tail or "")
        if node.tag in ("p", "li", "td", "h1", "h2", "h3", "h4", "div", "summary"):
            pieces.append(" ")

    visit(element)
    return " ".join("".join(pieces).split())


def signature(entry: HtmlElement) -> str:
    """A name's signature, or an option, on one line."""
    for link in entry.xpath(".//a[contains(@class, 'headerlink')]"):
        link.drop_tree()
    return " ".join(entry.text_content().split()).replace("( ", "(").replace(", )", ")")


def describe(kind: str, element: HtmlElement) -> list[str]:
    """Anchor, heading, text and code of a place."""
    anchor = element.get("id", "")
    if kind == "section":
        heading = element.xpath("./*[self::h1 or self::h2 or self::h3 or self::h4]")
        words = text_of(heading[0]) if heading else ""
        text = [text_of(element).removeprefix(words)]  # tables after it
        text += [text_of(table) for table in element.xpath("./table | ./div//table")]
        return [anchor, words, " ".join(text).strip(), ""]
    if kind in ("name", "option", "term"):
        meaning = element.getnext()
        text = "" if meaning is None else text_of(meaning)
        code = "" if kind == "term" else signature(element)
        short = re.sub(r"^aiayn\.(?:[a-z_0-9]+\.)*(?=\w+(?:\.\w+)?$)", "", anchor)
        heading = short if kind == "name" else text_of(element)
        return [anchor, code if kind == "option" else heading, text, code]
    if kind == "claim":
        # A sign, the claim's number, state and page; then its words.
        head, *lines = (text_of(line, nested=True) for line in element.xpath("./p"))
        _, number, state = head.split(" ", 2)
        return [anchor, f"Claim {number}: {state}", " ".join(lines), ""]
    if kind == "work":
        return [anchor, "", text_of(element, nested=True), ""]
    lines = element.text_content().strip("\n").split("\n")
    more = ["…"] if len(lines) > LONGEST else []
    return [anchor, "", "", "\n".join([*lines[:LONGEST], *more])]


def cell_anchors(cell: HtmlElement) -> list[str]:
    """The addresses of the cell that this code belongs to."""
    around = cell.xpath("ancestor::div[contains(@class, 'cell')][1]")[0]
    anchors = [around.get("id"), *around.xpath("./span/@id")]
    return [anchor for anchor in anchors if anchor]


def places(page: HtmlElement, linked: set[str]) -> Iterator[list[str]]:
    """Kind, anchor, heading, text and code of all places on a page."""
    for kind, path in KINDS.items():
        for element in page.xpath(path):
            found = describe(kind, element)
            if kind != "cell":
                yield [kind, *found]
            else:
                for anchor in linked & set(cell_anchors(element)):
                    yield [kind, anchor, *found[1:]]


def read_site(folder: Path) -> dict[str, Any]:
    """The pages of the built site with their titles, and the places on them."""
    pages = {
        path.relative_to(folder).as_posix(): lxml.html.parse(path).getroot()
        for part in ("book", "api")
        for path in sorted(folder.glob(f"{part}/**/*.html"))
    }
    linked: dict[str, set[str]] = {name: set() for name in pages}
    for name, page in pages.items():
        if name.startswith("api/"):
            continue  # it leads to nearly every cell
        for link in page.xpath("//article//a[contains(@href, '#')]/@href"):
            target, _, anchor = link.partition("#")
            path = (folder / name).parent / target if target else folder / name
            try:
                linked[path.resolve().relative_to(folder).as_posix()].add(anchor)
            except (KeyError, ValueError):
                continue  # to another site, or to the package's source
    titles, found = [], []
    for number, (name, page) in enumerate(pages.items()):
        titles.append([name, text_of(page.xpath("//article//h1")[0])])
        found += [[number, *place] for place in places(page, linked[name])]
    return {"pages": titles, "places": found}


def write_index(app: Sphinx, exception: Exception | None) -> None:
    """Write the index beside the scripts that use it; Sphinx's own is not used."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir).resolve()
    index = read_site(folder)
    words = Path(app.srcdir, SYNONYMS).read_text(encoding="utf-8")
    index["synonyms"] = yaml.safe_load(words)
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    target = folder / "_static" / "search"
    shutil.copytree(Path(app.srcdir, FILES), target, dirs_exist_ok=True)
    (target / "search-index.js").write_text(f"AiaynIndex={text};\n", encoding="utf-8")
    for unused in ("searchindex.js", "_static/searchtools.js"):
        (folder / unused).unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_js_file("search.js", defer="defer")
    app.add_js_file("previews.js", defer="defer")
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
