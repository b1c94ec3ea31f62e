"""Notes from the paper: what the exported cells of section 3 and of the one page
implement, on demand, and a short address for each of them.

book/data/paper-notes.yml holds section, sentence, formula and address; the shapes that
go in and out are read from the cell's signatures, or, where these have none, from
paper-notes.yml. The first note about a section has marks for the section's claims. On a
wide screen the notes stand in the margin, level with their cells (margin.css).
"""

import ast
import html
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from claims import CLAIMS_PAGE, STATES, read_claims
from docutils import nodes
from notebooks import Notebook, before_parsing, code_cells
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


@cache
def entries(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """What paper-notes.yml says of each cell, by chapter and cell."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def dimensions(annotation: ast.expr | None) -> list[str]:
    """The shapes in an annotation as one writes them: "batch n" is (batch, n)."""
    found = []
    for node in ast.walk(annotation or ast.Constant(None)):
        match node:
            case ast.Subscript(
                ast.Name("Float" | "Int" | "Bool"), ast.Tuple([_, ast.Constant(shape)])
            ):
                axes = re.sub(r"[*]\w+|[.]{3}", "…", shape.replace("#", "")).split()
                found.append(f"({', '.join(axes)})")
    return found


def shapes(source: str) -> list[str]:
    """A line for each function in a cell whose signature tells shapes."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef) or function.name == "__init__":
            continue
        takes = [
            f"{argument.arg} {shape}"
            for argument in function.args.args
            for shape in dimensions(argument.annotation)
        ]
        gives = dimensions(function.returns)
        if takes or (gives and "Tensor" not in ast.unparse(function.args)):
            words = [
                function.name,
                ", ".join(takes),
                gives and "→",
                " and ".join(gives),
            ]
            found.append(" ".join(word for word in words if word))
    return found


def look_up(app: Sphinx, docname: str, notebook: Notebook) -> None:
    """Write into the metadata of a cell what stands beside it."""
    notes = entries(Path(app.srcdir, "book", "data", "paper-notes.yml"))
    about = notes.get(docname.removeprefix("book/"), {})
    page = app.builder.get_relative_uri(docname, CLAIMS_PAGE)
    marked = set()
    for cell in code_cells(notebook):
        if cell["id"] in about:
            entry = about[cell["id"]]
            entry.setdefault("shapes", shapes("".join(cell["source"])))
            section = entry["section"]
            entry["marks"] = "" if section in marked else marks(app, section, page)
            marked.add(section)
            cell["metadata"]["paper_note"] = entry


def marks(app: Sphinx, section: str, page: str) -> str:
    """The claims of a section by state, in HTML; `page` has the list of claims."""
    links: dict[str, list[str]] = {state: [] for state in STATES}
    for claim in read_claims(app):
        of, _, letter = claim["id"].rpartition("-")
        if of == section:
            says = f"{claim['id']} {claim['state']}: {claim['claim']}"
            links[claim["state"]].append(
                f'<a href="{page}#claim-{claim["id"]}" data-state="{claim["state"]}" '
                f'title="{html.escape(says)}">'
                f'<span class="visually-hidden">{section}-</span>{letter}</a>'
            )
    groups = " ".join(
        f'<span class="aiayn-sign">{STATES[state]}</span>&nbsp;{state}: '
        f"{' '.join(each)}"
        for state, each in links.items()
        if each
    )
    return f'<p class="aiayn-marks">Claims: {groups}</p>' if groups else ""


def narrow(tex: str) -> str:
    """A formula for the margin: one equation a line, a long one on two."""
    equations = re.split(r",\s*\\q?quad\s*", tex)
    lines = [
        each.replace(" = ", r" \\ \; = ", 1) if len(each) > 50 else each
        for each in equations
    ]
    rows = r", \\ ".join(lines)
    return rf"\begin{{array}}{{l}} {rows} \end{{array}}" if r"\\" in rows else tex


class PaperNotes(SphinxTransform):
    """Put the fold above a cell, and give the cell its short address."""

    default_priority = 810  # after the badge

    def apply(self, **kwargs: Any) -> None:
        for container in self.document.findall(nodes.container):
            entry = container.get("cell_metadata", {}).get("paper_note")
            if entry and container.get("nb_element") == "cell_code":
                address = entry["address"]
                if address in self.document.ids:
                    message = "paper-notes.yml: #%s is a heading's address already"
                    LOGGER.warning(message, address, location=self.env.docname)
                container["ids"].append(address)
                badge = container[0]
                link = nodes.reference("", "link", refuri=f"#{address}", internal=True)
                badge += [nodes.Text(" · "), link]
                container[1:1] = self.fold(entry)

    def fold(self, entry: dict[str, Any]) -> list[nodes.Node]:
        """What the paper says, its formula, and the shapes."""
        summary = html.escape(f"paper, section {entry['section']}")
        start = f'<details class="aiayn-paper-note"><summary>{summary}</summary>'
        found: list[nodes.Node] = [
            nodes.raw("", start, format="html"),
            nodes.paragraph("", entry["says"]),
        ]
        if "formula" in entry:
            tex = narrow(entry["formula"])
            plain = {"nowrap": False, "number": None, "label": None}
            found.append(nodes.math_block(tex, tex, **plain))
        if entry["shapes"]:
            lines = [
                nodes.list_item("", nodes.paragraph("", "", nodes.literal("", line)))
                for line in entry["shapes"]
            ]
            found.append(nodes.bullet_list("", *lines))
        end = f"{entry['marks']}</details>"
        return [*found, nodes.raw("", end, format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    before_parsing(app, look_up)
    app.add_transform(PaperNotes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
