"""Claims: the line under a cell that checks one, and the ledger of all of them.

A checking cell is tagged `claim:ID`; its output's metadata say what was found. The ledger joins these, read
from the notebooks of the book, with book/claims.yml: no state and no figure is typed by hand.
"""

import html
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from docutils import nodes
from notebooks import Notebook, before_parsing, code_cells, number_title, title
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)
CLAIMS = "book/claims.yml"
LEDGER = "book/claims"
# The states, in the order of the summary, and their signs.
STATES = {"holds": "✓", "does not hold at this scale": "✗", "not yet run": "○", "cited": "§"}

SECTIONS = {
    "1": "Introduction",
    "2": "Background",
    "3": "Model architecture",
    "3.1": "Encoder and decoder stacks",
    "3.2.1": "Scaled dot-product attention",
    "3.2.2": "Multi-head attention",
    "3.2.3": "Applications of attention in the model",
    "3.3": "Position-wise feed-forward networks",
    "3.4": "Embeddings and softmax",
    "3.5": "Positional encoding",
    "4": "Why self-attention",
    "5.1": "Training data and batching",
    "5.2": "Hardware and schedule",
    "5.3": "Optimizer",
    "5.4": "Regularization",
    "6.1": "Machine translation",
    "6.2": "Model variations",
    "6.3": "English constituency parsing",
    "7": "Conclusion",
    "A": "Attention visualizations",
}


class Check(NamedTuple):
    """What one cell found about a claim."""

    docname: str
    chapter: str
    cell: str
    holds: bool
    figure: str


def read_claims(app: Sphinx) -> dict[str, dict[str, str]]:
    """The paper's claims by id, in the paper's order."""
    claims = yaml.safe_load(Path(app.srcdir, CLAIMS).read_text(encoding="utf-8"))
    return {claim["id"]: claim for claim in claims}


def records(cell: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The outputs of a cell that report on a claim, each with its record."""
    found = ((output, output.get("metadata", {}).get("aiayn", {})) for output in cell["outputs"])
    return [(output, record) for output, record in found if "claim" in record]


def read_checks(app: Sphinx, docname: str) -> list[tuple[str, Check]]:
    """The claims that a notebook's stored outputs report on."""
    notebook = json.loads(Path(app.env.doc2path(docname)).read_text(encoding="utf-8"))
    number_title(app, docname, notebook)
    return [
        (record["claim"], Check(docname, title(notebook), cell["id"], record["holds"], record["figure"]))
        for cell in code_cells(notebook)
        for _, record in records(cell)
    ]


def show_claims(app: Sphinx, docname: str, notebook: Notebook) -> None:
    """Link each claim's line to the ledger; warn of tags and reports that do not go together."""
    known = read_claims(app)
    ledger = app.builder.get_relative_uri(docname, LEDGER)
    for cell in code_cells(notebook):
        tags = cell["metadata"].get("tags", [])
        tagged = {tag.removeprefix("claim:") for tag in tags if tag.startswith("claim:")}
        reported = {record["claim"] for _, record in records(cell)}
        for claim in sorted(tagged | reported):
            if claim not in known:
                fault = f"is not in {CLAIMS}"
            elif claim not in reported:
                fault = "is tagged, but no output of the cell reports on it"
            elif claim not in tagged:
                fault = f"is reported on, but the cell has no tag claim:{claim}"
            else:
                continue
            LOGGER.warning("cell %s: claim %s %s", cell["id"], claim, fault, location=docname)
        for output, record in records(cell):
            state = "holds" if record["holds"] else "does not hold at this scale"
            figure = f": {html.escape(record['figure'])}" if record["figure"] else ""
            link = f'<a href="{ledger}#claim-{record["claim"]}">Claim {record["claim"]}</a>'
            output["data"]["text/html"] = (
                f'<div class="aiayn-claim" data-state="{state}">{sign(state)} {link} {state}{figure}</div>'
            )


def sign(state: str) -> str:
    """The sign of a state, as HTML."""
    return f'<span class="aiayn-sign">{STATES[state]}</span>'


def state_of(claim: dict[str, str], checks: list[Check]) -> str:
    """One of `STATES`."""
    if claim["check"] == "historical":
        return "cited"
    if not checks:
        return "not yet run"
    return "holds" if all(check.holds for check in checks) else "does not hold at this scale"


class ClaimsDirective(SphinxDirective):
    """What the ledger page and the front page have in common: the claims and their checks."""

    def collect(self) -> dict[str, tuple[dict[str, str], list[Check], str]]:
        """Each claim with its checks and its state; the page depends on all their sources."""
        app = self.env.app
        checks: dict[str, list[Check]] = {}
        self.env.note_dependency(CLAIMS)
        for docname in sorted(self.env.found_docs):
            if self.env.doc2path(docname).endswith(".ipynb"):
                self.env.note_dependency(self.env.doc2path(docname, base=False))
                for identifier, check in read_checks(app, docname):
                    checks.setdefault(identifier, []).append(check)
        return {
            identifier: (claim, found := checks.get(identifier, []), state_of(claim, found))
            for identifier, claim in read_claims(app).items()
        }


class Status(ClaimsDirective):
    """`{claims-status}`: how many claims are in which state, in one line."""

    def run(self) -> list[nodes.Node]:
        counts = Counter(state for _, _, state in self.collect().values())
        parts = "".join(
            f'<li data-state="{state}">{sign(state)} {state}: <b>{counts[state]}</b></li>' for state in STATES
        )
        return [nodes.raw("", f'<ul class="aiayn-status">{parts}</ul>', format="html")]


class Ledger(ClaimsDirective):
    """`{claims-ledger}`: every claim, grouped by the paper's sections."""

    def run(self) -> list[nodes.Node]:
        sections: dict[str, nodes.section] = {}
        for identifier, (claim, checks, state) in self.collect().items():
            number = identifier.rpartition("-")[0]
            if number not in sections:
                title = nodes.title("", f"{number} {SECTIONS[number]}")
                sections[number] = nodes.section("", title, ids=[f"section-{number.replace('.', '-')}"])
            sections[number] += nodes.raw("", self.entry(identifier, claim, checks, state), format="html")
        return list(sections.values())

    def entry(self, identifier: str, claim: dict[str, str], checks: list[Check], state: str) -> str:
        """One claim's entry."""
        return (
            f'<div class="aiayn-entry" id="claim-{identifier}" data-state="{state}">'
            f'<p class="aiayn-entry-head">{sign(state)} <b>{identifier}</b> '
            f'<span class="aiayn-state">{state}</span> · {claim["check"]}</p>'
            f"<p>{html.escape(claim['claim'])}</p>{''.join(self.place(check) for check in checks)}</div>"
        )

    def place(self, check: Check) -> str:
        """Where a claim is checked, and what was found there."""
        page = self.env.app.builder.get_relative_uri(self.env.docname, check.docname)
        link = f'<a href="{page}#cell-{check.cell}">{html.escape(check.chapter)}, cell {check.cell}</a>'
        return f'<p class="aiayn-place">{link}{": " * bool(check.figure)}{html.escape(check.figure)}</p>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    before_parsing(app, show_claims)
    app.add_directive("claims-status", Status)
    app.add_directive("claims-ledger", Ledger)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
