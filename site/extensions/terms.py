"""Terms: the glossary, and a quiet link to it where a chapter first uses a term that is
at home elsewhere.

book/data/terms.yml has the terms, each with the heading that defines it and the words
by which running text is linked. The link carries the definition, which book.css shows
to whoever points at it or reaches it by key.
"""

import re
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from notebooks import chapters
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform
from text_links import link_words, one_of, running_text, within

TERMS = "book/data/terms.yml"
PAGE = "book/reference/notation"
KNOWN = (nodes.reference, pending_xref, nodes.emphasis)


def read_terms(app: Sphinx) -> list[dict[str, Any]]:
    """The terms."""
    return yaml.safe_load(Path(app.srcdir, TERMS).read_text(encoding="utf-8"))


def anchor(term: str) -> str:
    """The place of a term on the glossary's page, as Sphinx calls it."""
    return "term-" + re.sub(r"[^\w.]+", "-", term)


def chapter_name(app: Sphinx, target: str) -> str:
    """What the chapters call the chapter of a link such as
    `1-paper/3-2-attention.ipynb#the-formula`.
    """
    title, _ = chapters(Path(app.srcdir, "book"))[f"book/{target.partition('.')[0]}"]
    number = title.partition(" ")[0]
    return f"Chapter\N{NO-BREAK SPACE}{number}" if number[0].isdigit() else title


class Term(nodes.reference):
    """A link to the glossary, with the definition for book.css to show."""


def visit_term(translator: Any, node: Term) -> None:
    """Write the link's opening tag, which docutils does not let carry attributes of
    one's own.
    """
    attributes = {"class": "aiayn-term", "href": node["refuri"], "data-is": node["is"]}
    translator.body.append(translator.starttag(node, "a", "", **attributes))


def depart_term(translator: Any, node: Term) -> None:
    """Close it."""
    translator.body.append("</a>")


class LinkTerms(SphinxTransform):
    """Link each term where a chapter first uses it, unless the chapter explains or
    links it itself.
    """

    default_priority = 700  # after the citations

    def apply(self, **kwargs: Any) -> None:
        page = f"{self.env.docname.removeprefix('book/')}.ipynb"
        if not self.env.doc2path(self.env.docname).endswith(".ipynb"):
            return
        home = self.app.builder.get_relative_uri(self.env.docname, PAGE)
        forms = {
            form: term
            for term in read_terms(self.app)
            if not term["home"].startswith(f"{page}#")
            for form in term.get("forms", [])
        }
        pattern = one_of(forms)
        # What the chapter links itself, or puts in italics, as it does when it
        # introduces a word.
        known = self.document.findall(lambda node: isinstance(node, KNOWN))
        words = (word for node in known for word in pattern.findall(node.astext()))
        linked = {forms[word]["term"] for word in words}

        def explain(match: re.Match[str]) -> Term | None:
            term = forms[match[0]]
            if term["term"] in linked:
                return None
            linked.add(term["term"])
            address = f"{home}#{anchor(term['term'])}"
            link = Term("", match[0], refuri=address, internal=True)
            link["is"] = term["is"]
            return link

        texts = [text for text in running_text(self.document) if is_sentence(text)]
        link_words(texts, pattern, explain)


def is_sentence(text: nodes.Text) -> bool:
    """Whether a text is neither a word in bold, nor a box's label, nor in the cell of a
    table.
    """
    if not isinstance(text.parent, nodes.paragraph) or within(text, nodes.table):
        return False
    return "aiayn-label" not in text.parent["classes"]


def define(app: Sphinx, config: Config) -> None:
    """Let book/reference/notation.md show Sphinx's own glossary: each term, what it
    means, where it is at home.
    """
    terms = list[str]()
    for term in read_terms(app):
        link = f"[{chapter_name(app, term['home'])}](../{term['home']})"
        terms.append(f"{term['term']}\n  {term['is']} {link}")
    glossary = "\n\n".join(["```{glossary}\n:sorted:", *terms]) + "\n```"
    config.myst_substitutions = config.myst_substitutions | {"glossary": glossary}


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_node(Term, html=(visit_term, depart_term))
    app.add_transform(LinkTerms)
    app.connect("config-inited", define)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
