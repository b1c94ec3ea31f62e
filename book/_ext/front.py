"""The front page's directives besides figure 1: the claims at a glance, and ways to read with their times."""

import json
import re
from html import escape
from pathlib import Path

from claims import LEDGER, SECTIONS, STATES, ClaimsDirective
from docutils import nodes
from docutils.parsers.rst import directives
from notebooks import code_cells
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WORDS, LINES = 200, 20  # read in a minute: words of prose, or lines of code
FAILED = "does not hold at this scale"
PARTS = SECTIONS | {"5": "Training", "6": "Results"}


class Strip(ClaimsDirective):
    """`{claims-strip}`: a square for each claim, in the paper's order; it leads to the ledger."""

    def run(self) -> list[nodes.Node]:
        ledger = self.env.app.builder.get_relative_uri(self.env.docname, LEDGER)
        parts: dict[str, str] = {}
        for identifier, (claim, _, state) in self.collect().items():
            part = PARTS[re.split(r"[.-]", identifier)[0]]
            name = escape(f"{identifier}, {state}: {claim['claim']}")
            link = f'href="{ledger}#claim-{identifier}" title="{name}" aria-label="{name}"'
            square = f'<li data-state="{state}"><a {link}>{STATES[state]}</a></li>'
            parts[part] = parts.get(part, "") + square
        rows = "".join(f"<dt>{part}</dt><dd><ol>{squares}</ol></dd>" for part, squares in parts.items())
        return [nodes.raw("", f'<dl class="aiayn-strip">{rows}</dl>', format="html")]


class Failed(ClaimsDirective):
    """`{claims-that-fail}`: the claims that do not hold at this scale, each with what was found."""

    def run(self) -> list[nodes.Node]:
        ledger = self.env.app.builder.get_relative_uri(self.env.docname, LEDGER)
        entries = "".join(
            f'<li><a href="{ledger}#claim-{identifier}">{identifier}</a> {escape(brief(claim["claim"]))} '
            f"<span>Found: {escape(found)}.</span></li>"
            for identifier, (claim, checks, state) in self.collect().items()
            for found in ["; ".join(check.figure for check in checks if not check.holds)]
            if state == FAILED
        )
        return [nodes.raw("", f'<ul class="aiayn-failed">{entries}</ul>', format="html")]


def brief(claim: str) -> str:
    """A claim, or of one that goes on with a list of numbers, what it is about."""
    return claim if len(claim) < 100 else claim.partition(": ")[0]


class ReadingPath(SphinxDirective):
    """`{reading-path} TITLE`: a way to read; its time is that of the chapters that the text links to.

    With `:all:`, it is that of all chapters.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"all": directives.flag}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.srcdir, "book")
        linked = [
            folder / f"{name}.ipynb" for name in re.findall(r"\(([\w-]+)\.ipynb\)", "\n".join(self.content))
        ]
        everything = [Path(self.env.doc2path(docname)) for docname in self.env.found_docs]
        chapters = (
            [path for path in everything if path.suffix == ".ipynb"] if "all" in self.options else linked
        )
        title = nodes.paragraph("", self.arguments[0], classes=["aiayn-path-title"])
        time = nodes.paragraph("", spoken(sum(map(minutes, chapters))), classes=["aiayn-path-time"])
        path = nodes.container("", title, time)
        self.state.nested_parse(self.content, self.content_offset, path)
        return [path]


def minutes(notebook: Path) -> float:
    """How long a chapter takes to read."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))
    prose = [cell for cell in cells["cells"] if cell["cell_type"] == "markdown"]
    words = sum(len("".join(cell["source"]).split()) for cell in prose)
    lines = sum(
        bool(line.strip()) for cell in code_cells(cells) for line in "".join(cell["source"]).splitlines()
    )
    return words / WORDS + lines / LINES


def spoken(time: float) -> str:
    """Minutes, in words: to five minutes, or from two hours on, to half hours."""
    if time < 120:
        return f"{5 * round(time / 5)} minutes of reading"
    return f"{round(time / 30) / 2:g} hours of reading".replace(".5", "½")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_directive("claims-strip", Strip)
    app.add_directive("claims-that-fail", Failed)
    app.add_directive("reading-path", ReadingPath)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
