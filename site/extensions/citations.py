"""Citations: a chapter's plain link to a work, or its bare name, leads to the work's
entry in the references.

Chapters are read on GitHub and in Colab too, where a citation's role would be shown
raw. So they link a work's own address, or just name its authors, and this module does
the rest from references.bib. The words stay, and the link leads to the entry
(sphinxcontrib-bibtex sets the list); below the entry stand the places that cite it. It
warns of a link to literature that has no entry, and of an entry that nothing cites.
"""

import re
from collections.abc import Iterator
from typing import Any
from unicodedata import normalize
from urllib.parse import urlsplit

from docutils import nodes
from pybtex.database import Entry
from pybtex.plugin import register_plugin
from pybtex.style.formatting import unsrt
from pybtex.style.template import field, href, sentence
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from text_links import ancestors, link_words, one_of, running_text

LOGGER = logging.getLogger(__name__)
REFERENCES = "book/reference/references"
PAPER = "vaswani2017"
# A link to one of these hosts is a link to literature, and has to have an entry.
LITERATURE = set(
    "arxiv.org aclanthology.org doi.org dl.acm.org openreview.net proceedings.mlr.press"
    " jmlr.org papers.nips.cc proceedings.neurips.cc nature.com cdn.openai.com".split()
)


def by_author(entries: list[Entry]) -> list[Entry]:
    """By the last names of the authors and the year, but the book's own paper first."""

    def key(entry: Entry) -> tuple[Any, ...]:
        authors = [" ".join(person.last_names) for person in entry.persons["author"]]
        plain = [normalize("NFKD", name).replace("Ł", "L").lower() for name in authors]
        return entry.key != PAPER, plain, entry.fields["year"]

    return sorted(entries, key=key)


class Style(unsrt.Style):
    """How an entry is set: the title is the link, and stays as its authors capitalised
    it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.sort = by_author

    def format_title(
        self, entry: Entry, which_field: str, as_sentence: bool = True
    ) -> Any:
        title = href[field("url", raw=True), field(which_field)]
        return sentence[title] if as_sentence else title

    def format_btitle(
        self, entry: Entry, which_field: str, as_sentence: bool = True
    ) -> Any:
        if which_field == "title":
            return self.format_title(entry, which_field, as_sentence)
        return super().format_btitle(entry, which_field, as_sentence)

    def format_web_refs(self, entry: Entry) -> Any:
        return sentence[()]


def address(url: str) -> str:
    """What two addresses of one work have in common."""
    parts = urlsplit(url)
    path = re.sub(r"^/pdf/", "/abs/", parts.path.removesuffix(".pdf").rstrip("/"))
    if parts.netloc.endswith("arxiv.org"):
        path = re.sub(r"v\d+$", "", path)
    return parts.netloc.removeprefix("www.") + path


def described(entry: Entry) -> str:
    """Authors, title and year in one line."""
    people = entry.persons["author"]
    authors = [" ".join(each.prelast_names + each.last_names) for each in people]
    if len(authors) > 3 or "others" in authors:
        authors = [authors[0], "others"]
    names = " and ".join(filter(None, [", ".join(authors[:-1]), authors[-1]]))
    return f"{names}: {entry.fields['title']} ({entry.fields['year']})"


def cell_of(node: nodes.Node) -> str | None:
    """The id of the code cell that a node stands in."""
    for each in ancestors(node):
        if each.get("nb_element") == "cell_code":
            return each["cell_metadata"].get("aiayn", {}).get("id")
    return None


class Cite(SphinxTransform):
    """Make citations of links and names. The page remembers where, as `citations` in
    its metadata.
    """

    default_priority = 600  # after the boxes have been made

    def apply(self, **kwargs: Any) -> None:
        docname = self.env.docname
        if docname == REFERENCES:
            return
        self.entries = self.env.get_domain("cite").bibdata.data.entries
        self.cited: dict[str, str] = {}  # key: id of the place on this page
        entries = self.entries.items()
        by_address = {address(entry.fields["url"]): key for key, entry in entries}
        for link in list(self.document.findall(nodes.reference)):
            url = link.get("refuri", "")
            if key := by_address.get(address(url)):
                self.lead(link, key)
            elif urlsplit(url).netloc.removeprefix("www.") in LITERATURE:
                fault = "no entry in book/data/references.bib for %s"
                LOGGER.warning(fault, url, location=link)
        if self.env.doc2path(docname).endswith(".ipynb"):
            forms = {form: key for form, key in self.forms() if key not in self.cited}
            self.cite_names(forms)
        self.env.metadata[docname]["citations"] = self.cited

    def forms(self) -> Iterator[tuple[str, str]]:
        """The words that name a work in this chapter."""
        for key, entry in self.entries.items():
            for form in filter(None, re.split(r";\s*", entry.fields.get("named", ""))):
                chapter, _, words = form.rpartition("/")
                if self.env.docname.rpartition("/")[2].startswith(chapter):
                    yield words, key

    def cite_names(self, forms: dict[str, str]) -> None:
        """Link a work where the chapter first names it; if only its code does, remember
        the cell.
        """
        if not forms:
            return
        pattern = one_of(forms)

        def cite(match: re.Match[str]) -> nodes.reference | None:
            if (key := forms[match[0]]) in self.cited:
                return None
            link = nodes.reference("", match[0])
            self.lead(link, key)
            return link

        link_words(running_text(self.document), pattern, cite)
        for code in self.document.findall(nodes.literal_block):
            for match in pattern.finditer(code.astext()):
                if cell := cell_of(code):
                    self.cited.setdefault(forms[match[0]], f"cell-{cell}")

    def lead(self, link: nodes.reference, key: str) -> None:
        """Have a link lead to the entry; the first of a page is where the entry leads
        back to.
        """
        page = self.app.builder.get_relative_uri(self.env.docname, REFERENCES)
        link["refuri"], link["internal"] = f"{page}#ref-{key}", True
        link["reftitle"] = described(self.entries[key])
        link["classes"].append("aiayn-cite")
        if key not in self.cited:
            self.cited[key] = f"cite-{key}"
            link["ids"].append(f"cite-{key}")


def reading_order(app: Sphinx, page: str) -> Iterator[str]:
    """A page and all below it."""
    yield page
    for below in app.env.toctree_includes.get(page, []):
        yield from reading_order(app, below)


def lead_back(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Below each entry, name the chapters that cite it, in the book's order."""
    if docname != REFERENCES:
        return
    for item in doctree.findall(nodes.list_item):
        keys = [name[len("ref-") :] for name in item["ids"] if name.startswith("ref-")]
        if not keys:
            continue
        key, *_ = keys
        line = nodes.paragraph("", "Cited in ", classes=["aiayn-place"])
        for page in reading_order(app, app.config.root_doc):
            if place := app.env.metadata[page].get("citations", {}).get(key):
                uri = f"{app.builder.get_relative_uri(docname, page)}#{place}"
                title = app.env.titles[page].astext()
                line += nodes.Text(" · " if len(line) > 1 else "")
                line += nodes.reference("", title, refuri=uri, internal=True)
        if len(line) == 1:
            LOGGER.warning("nothing cites %s", key, location=docname)
        item += line
        item.parent["classes"] = ["aiayn-references"]


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    register_plugin("pybtex.style.formatting", "aiayn", Style)
    app.setup_extension("sphinxcontrib.bibtex")
    app.add_transform(Cite)
    app.connect("doctree-resolved", lead_back)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
