"""Claims: the line under a cell that checks one, and the list of all of them.

A checking cell is tagged `claim:ID`; its output's metadata say what was found, and how
strong the evidence is. The list joins these, read from the notebooks of the book,
with book/data/claims.yml: no state and no figure is typed by hand.
"""

import html
import json
import re
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from notebooks import PAPER, Notebook, before_parsing, chapters, code_cells
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)
CLAIMS_PAGE = "book/reference/claims"
# The states, in the order of the summary, and their signs.
STATES = {
    "holds": "✓",
    "does not hold": "✗",
    "does not hold here": "✗",
    "undecided": "?",
    "not yet run": "○",
    "cited": "§",
}
# The same of checks, the one first that holds least.
LEAST_FIRST = [*list(STATES)[1:5], "holds"]

Claim = dict[str, Any]


def records(cell: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The outputs of a cell that report on a claim, each with its record."""
    outputs = cell["outputs"]
    found = ((each, each.get("metadata", {}).get("aiayn", {})) for each in outputs)
    return [(output, record) for output, record in found if "claim" in record]


@cache
def read_claims(app: Sphinx) -> list[Claim]:
    """The paper's claims, in its order, each with its state and with what the chapters'
    cells found.
    """
    folder = Path(app.srcdir, "book")
    titles = chapters(folder)
    checks: dict[str, list[dict[str, Any]]] = {}
    for page in sorted(titles.keys() & app.env.found_docs):
        notebook = json.loads(Path(app.env.doc2path(page)).read_text(encoding="utf-8"))
        for cell in code_cells(notebook):
            place = {"page": page, "chapter": titles[page][0], "cell": cell["id"]}
            for _, record in records(cell):
                checks.setdefault(record["claim"], []).append(place | record)
    path = folder / "data" / "claims.yml"
    claims = yaml.safe_load(path.read_text(encoding="utf-8"))
    for claim in claims:
        # The chapter's: 3.2 of 3.2.1.
        claim["section"] = claim["id"].rpartition("-")[0][:3]
        claim["part"] = claim["section"][0]
        claim["checks"] = checks.get(claim["id"], [])
        claim["state"] = state_of(claim)
        if not claim["checks"] and "cited" not in claim:
            fault = "no cell checks it, and book/data/claims.yml names nobody to cite"
            LOGGER.warning("claim %s: %s", claim["id"], fault)
    return claims


@cache
def sections(app: Sphinx) -> dict[str, str]:
    """The title of the chapter about each section of the paper."""
    book = chapters(Path(app.srcdir, "book"))
    of_paper = [book[page] for page in book if page.startswith(PAPER)]
    titles = {section: title for title, section in of_paper}
    return titles | {"6": "6 Results", "A": titles["appendix"]}


def state_of(claim: Claim) -> str:
    """One of `STATES`: of several checks, the state of the one that holds least."""
    if not claim["checks"]:
        return "cited"
    found = {check["state"] for check in claim["checks"]}
    return next(state for state in LEAST_FIRST if state in found)


def show_claims(app: Sphinx, docname: str, notebook: Notebook) -> None:
    """Link each claim's line to the list; warn of tags and reports that do not go
    together.
    """
    known = {claim["id"] for claim in read_claims(app)}
    page = app.builder.get_relative_uri(docname, CLAIMS_PAGE)
    for cell in code_cells(notebook):
        tags = cell["metadata"].get("tags", [])
        tagged = {tag[len("claim:") :] for tag in tags if tag.startswith("claim:")}
        reported = {record["claim"] for _, record in records(cell)}
        for claim in sorted(tagged | reported):
            if claim not in known:
                fault = "is not in book/data/claims.yml"
            elif claim not in reported:
                fault = "is tagged, but no output of the cell reports on it"
            elif claim not in tagged:
                fault = f"is reported on, but the cell has no tag claim:{claim}"
            else:
                continue
            message = "cell %s: claim %s %s"
            LOGGER.warning(message, cell["id"], claim, fault, location=docname)
        for output, record in records(cell):
            state = record["state"]
            found = f"{state} ({record['evidence']})"
            figure = f": {html.escape(record['figure'])}" if record["figure"] else ""
            if command := record.get("run"):
                figure += f"; the command is <code>{html.escape(command)}</code>"
            claim = record["claim"]
            link = f'<a href="{page}#claim-{claim}">Claim {claim}</a>'
            output["data"]["text/html"] = (
                f'<div class="aiayn-claim" data-state="{state}">'
                f'<span class="aiayn-sign">{STATES[state]}</span>'
                f" {link} {found}{figure}</div>"
            )


def typeset(text: str) -> str:
    """A sentence with formulas such as sqrt(d_k) or 10^-9, as HTML."""
    text = html.escape(text, quote=False)
    text = re.sub(r"sqrt\((\w+)\)", r"√\1", text)
    text = re.sub(r"\b([A-Za-zε]|head|log)_(\w+)", r"\1<sub>\2</sub>", text)
    text = re.sub(r"\^(?:\((.*?)\)|([-\w.]*\w))", r"<sup>\1\2</sup>", text)
    text = text.replace("<sup>-", "<sup>−")
    # Letters that are symbols; "A" and "a" are words, and other capitals name rows.
    symbol = r"(?<![A-Za-z'’&])([b-zKNQVW]|QK)(?![A-Za-z'’>])"
    return re.sub(symbol, r"<i>\1</i>", text)


class Claims(SphinxDirective):
    """`{claims} NAME`: what site/templates/claims-NAME.html makes of the claims."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [self.show(self.arguments[0], read_claims(self.env.app))]

    def show(self, name: str, claims: list[Claim]) -> nodes.raw:
        """Some claims, by a template."""
        context = {
            "claims": claims,
            "typeset": typeset,
            "states": STATES,
            "sections": sections(self.env.app),
            "claims_page": CLAIMS_PAGE,
            "address": partial(self.env.app.builder.get_relative_uri, self.env.docname),
        }
        text = self.env.app.builder.templates.render(f"claims-{name}.html", context)
        return nodes.raw("", text, format="html")


class ClaimsList(Claims):
    """`{claims-list}`: every claim, grouped by the paper's sections."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        claims, titles, shown = read_claims(self.env.app), sections(self.env.app), []
        for number, group in groupby(claims, key=lambda claim: claim["section"]):
            title, entries = nodes.title("", titles[number]), [*group]
            place = f"section-{number.replace('.', '-')}"
            parts = title, self.show("list", entries)
            shown.append(nodes.section("", *parts, ids=[place]))
        return shown


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    before_parsing(app, show_claims)
    app.add_directive("claims", Claims)
    app.add_directive("claims-list", ClaimsList)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
