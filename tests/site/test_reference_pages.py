"""References, notation, errata, and how chapters lead to them: on the built site, as in
test_site.py.
"""

import json
import os
import re
from functools import cache
from os.path import normpath
from pathlib import Path

import lxml.html
import pytest
import yaml
from playwright.sync_api import Browser
from pybtex.database import parse_file

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("AIAYN_SITE", ROOT / "_build" / "html"))
BOOK = SITE / "book"
TERMS = yaml.safe_load(
    (ROOT / "book" / "data" / "terms.yml").read_text(encoding="utf-8")
)
CHAPTERS = sorted(
    f"{path.parent.name}/{path.stem}" for path in ROOT.glob("book/*/*.ipynb")
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (BOOK / "reference" / "notation.html").is_file(),
        reason=f"no site in {SITE}: run `make book`",
    ),
]


@cache
def page(name: str) -> lxml.html.HtmlElement:
    """A page of the book."""
    return lxml.html.parse(BOOK / f"{name}.html").getroot()


def linked_page(start: str, path: str) -> str:
    """The page that a relative link leads to; the page itself if the link is empty."""
    return normpath(Path(start).parent / path).removesuffix(".html") if path else start


def leads_to(start: str, link: lxml.html.HtmlElement) -> lxml.html.HtmlElement:
    """The element that a link from the page `start` leads to."""
    path, _, fragment = link.get("href").partition("#")
    (found,) = page(linked_page(start, path)).xpath("//*[@id=$name]", name=fragment)
    return found


def entries() -> list[lxml.html.HtmlElement]:
    """The works on the page of references."""
    return page("reference/references").xpath(
        '//ul[contains(@class, "aiayn-references")]/li'
    )


# References


def test_every_work_stands_in_the_references_once() -> None:
    """The page has each entry of the two files, and no address is that of two works."""
    files = [
        parse_file(str(ROOT / "book" / "data" / f"{name}.bib")).entries
        for name in ("references", "programs")
    ]
    works = {
        f"ref-{key}": entry.fields["url"]
        for file in files
        for key, entry in file.items()
    }
    assert {entry.get("id") for entry in entries()} == set(works)
    assert len(set(works.values())) == len(works)
    for entry in entries():
        assert works[entry.get("id")] in [link.get("href") for link in entry.iter("a")]


def test_the_paper_stands_first() -> None:
    """Then come the others, by author."""
    assert entries()[0].get("id") == "ref-vaswani2017"


def test_a_citation_leads_to_its_entry_and_back() -> None:
    """Every work is cited by a page, and the back link leads to that citation, or to a
    cell that names it.
    """
    for entry in entries():
        places = entry.xpath('p[@class="aiayn-place"]/a')
        assert places, entry.get("id")
        for place in places:
            found = leads_to("reference/references", place)
            if place.get("href").partition("#")[2].startswith("cell-"):
                assert "cell" in found.get("class")
            else:
                citing = linked_page(
                    "reference/references", place.get("href").partition("#")[0]
                )
                assert leads_to(citing, found) is entry, place.get("href")
                assert re.search(r": .+ \(\d{4}\)$", found.get("title"))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_link_of_a_chapter_passes_by_the_references(chapter: str) -> None:
    """Links out of a chapter lead to data sheets, threads and manuals, not papers."""
    notebook = json.loads(
        (ROOT / "book" / f"{chapter}.ipynb").read_text(encoding="utf-8")
    )
    texts = [
        "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "markdown"
    ]
    linked = {
        address
        for text in texts
        for address in re.findall(r"\]\((https?://[^\s)]+)\)", text)
    }
    out = {
        link.get("href") for link in page(chapter).xpath("//article//a[@href]")
    } & linked
    literature = (
        r"//(www\.)?(arxiv|aclanthology|doi|openreview|proceedings|papers|nature|jmlr"
        r"|dl\.acm)\b"
    )
    assert not [address for address in out if re.search(literature, address)]


# Notation and terms

# The paper's own figures, from its Table 3 and its sections 3 to 6: base and big.
PAPER = {
    "d_model": ("512", "1,024"),
    "N": ("6", "6"),
    "h": ("8", "16"),
    "d_k": ("64", "64"),
    "d_v": ("64", "64"),
    "d_ff": ("2,048", "4,096"),
    "vocabulary_size": ("37,000", "37,000"),
    "batches.tokens": ("25,000", "25,000"),
    "steps": ("100,000", "300,000"),
    "optimizer.warmup": ("4,000", "4,000"),
    # Not in the paper: 512 ** -0.5 * 4000 ** -0.5, in thousandths.
    "learning_rate": ("0.70", "0.49"),
    "eps": ("10−9", "10−9"),
    "dropout": ("0.1", "0.3"),
    "label_smoothing": ("0.1", "0.1"),
    "checkpoints.average": ("5", "20"),
    "beam": ("4", "4"),
    "alpha": ("0.6", "0.6"),
    "extra_length": ("50", "50"),
}


def test_the_figures_are_the_papers() -> None:
    """What the package computes for the page is what the paper says."""
    shown: dict[str, tuple[str, ...]] = {}
    for row in page("reference/notation").xpath("//tbody/tr"):
        cells = [cell.text_content().strip() for cell in row]
        if len(cells) == 6 and cells[2] and cells[4] in PAPER:
            shown[cells[4]] = (cells[2], cells[3])
    assert shown == PAPER


def test_a_word_has_one_meaning() -> None:
    """No form stands for two terms, and definitions are plain words."""
    forms = [form for term in TERMS for form in term.get("forms", [])]
    assert len(forms) == len(set(forms))
    assert [
        term["term"] for term in TERMS if re.search(r"[$*`<>\[\]_]", term["is"])
    ] == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_links_a_term_once_and_in_running_text(chapter: str) -> None:
    """Never in a heading, in code, in a table, in a label or in another link, and not
    where it is at home.
    """
    homes = {term["is"]: term["home"].partition(".")[0] for term in TERMS}
    links = page(chapter).xpath('//a[@class="aiayn-term"]')
    targets = [link.get("href") for link in links]
    assert len(targets) == len(set(targets))
    for link in links:
        closed = (
            "h1",
            "h2",
            "h3",
            "h4",
            "code",
            "pre",
            "table",
            "strong",
            "em",
            "a",
            "summary",
        )
        assert not [node.tag for node in link.iterancestors() if node.tag in closed]
        assert link.getparent().get("class") != "aiayn-label"
        assert homes[link.get("data-is")] != chapter
        assert leads_to(chapter, link).tag == "dt"


def test_a_definition_is_read_by_keyboard_on_a_phone(browser: Browser) -> None:
    """Who reaches a term with the Tab key sees what it means, and the page does not
    grow wider.
    """
    phone = browser.new_page(viewport={"width": 390, "height": 844})
    phone.goto((BOOK / "1-paper/5-4-regularization.html").resolve().as_uri())
    phone.locator("details.aiayn-evidence").evaluate("fold => { fold.open = true; }")
    for link in phone.locator("a.aiayn-term").all():
        link.focus()
        # Focus that a key has brought is shown as such.
        phone.keyboard.press("Shift+Tab")
        phone.keyboard.press("Tab")
        shown = link.evaluate(
            "a => [getComputedStyle(a, '::after').content, a.dataset.is]"
        )
        assert shown[0] == json.dumps(shown[1], ensure_ascii=False)
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.close()


# Errata


def test_every_erratum_is_proved() -> None:
    """Each says which cell shows it, and the cell is there; or it says that the paper's
    text must do.
    """
    errata = page("reference/errata").xpath("//section/section/section")
    assert len(errata) > 12
    for erratum in errata:
        assert erratum.find("blockquote").text_content().strip()  # what is said
        place = erratum.findall("p")[-1]
        cells = [leads_to("reference/errata", link) for link in place.iter("a")]
        assert all("cell" in cell.get("class") for cell in cells)
        assert place.text_content().startswith(
            "Shown in" if cells else "In the paper’s text"
        )
