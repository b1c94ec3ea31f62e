"""`{figure-1}`: the paper's figure 1 on the front page, to be explored.

The drawing is book/figures/figure-1.svg, in which every block becomes a link to its
chapter. Beside it stands a panel for each block of book/data/figure-1.yml, of which one
is shown. All of it is in the page as plain HTML (site/templates/figure-1.html), with
the base model's numbers; site/front/figure.js shows panels and puts in the numbers of
another model, which it finds as ready text in the page. Without it, the whole model is
shown, and the table below has every block.
"""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from figure_numbers import SIZES, SOURCE, TARGET, values
from notebooks import chapters
from page_files import load_where
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

BLOCKS = "book/data/figure-1.yml"
DRAWING = "book/figures/figure-1.svg"
NAME = (
    "The Transformer: encoder left, decoder right; every block is a link to its chapter"
)
# Length of a bar in the drawing for a percent; for all, a little less than a block.
BAR = 1.4


class Figure(SphinxDirective):
    """`{figure-1}`: the drawing, its panels, and the numbers."""

    def run(self) -> list[nodes.Node]:
        for file in (DRAWING, BLOCKS):
            self.env.note_dependency(file)
        figure = yaml.safe_load(
            Path(self.env.srcdir, BLOCKS).read_text(encoding="utf-8")
        )
        titles = chapters(Path(self.env.srcdir, "book"))
        for block in (figure["whole"], *figure["blocks"]):
            page = f"book/{block['chapter']}"
            block["address"] = self.env.app.builder.get_relative_uri(
                self.env.docname, page
            )
            block["name"] = titles[page][0]
        everything = {size: values(figure, size) for size in SIZES}
        first = everything[SIZES[0]]
        # Inside a script element only "</" could end the text early; JSON may write it
        # as "<\/".
        data = json.dumps(
            everything, ensure_ascii=False, separators=(",", ":")
        ).replace("</", r"<\/")
        context = figure | {
            "sizes": SIZES,
            "tokens": {"source": ("n", SOURCE), "target": ("m", TARGET)},
            "values": everything,
            "first": first,
            "data": data,
            "drawing": self.drawing(figure["blocks"], first),
            "symbols": symbols,
            "letters": letters,
        }
        text = self.env.app.builder.templates.render("figure-1.html", context)
        parts = re.split(r"<formula>(.*?)</formula>", text, flags=re.DOTALL)
        return [
            (
                nodes.math_block("", part, nowrap=False, number=None)
                if number % 2
                else nodes.raw("", part, format="html")
            )
            for number, part in enumerate(parts)
        ]

    def drawing(self, blocks: list[dict[str, Any]], shown: dict[str, Any]) -> str:
        """The drawing, its blocks turned into links, each with a bar for its share of
        the parameters.
        """
        text = Path(self.env.srcdir, DRAWING).read_text(encoding="utf-8")
        known = {block["key"]: block for block in blocks}

        def link(match: re.Match[str]) -> str:
            key, inside = match.groups()
            rect = dict(re.findall(r'([a-z]+)="([^"]+)"', inside.partition("/>")[0]))
            bar = (
                f'<rect class="aiayn-machine-bar" data-bar="{key}.parameters-bar"'
                f' x="{int(rect["x"]) + 5}"'
                f' y="{int(rect["y"]) + int(rect["height"]) - 5}"'
                f' width="{float(shown[f"{key}.parameters-bar"]) * BAR:.1f}"'
                f' height="2.5" rx="1.2" fill="{rect["stroke"]}"/>'
            )
            label = f"{known[key]['title']}: chapter {escape(known[key]['name'])}"
            return (
                f'<a href="{known[key]["address"]}" data-block="{key}"'
                f' aria-label="{label}">{inside}{bar}</a>'
            )

        head = (
            f'<svg class="aiayn-drawing" role="group" aria-label="{NAME}"'
            ' font-family="sans-serif" '
        )
        text = re.sub(
            r'<g data-block="([\w-]+)">(.*?)</g>', link, text, flags=re.DOTALL
        )
        return re.sub(r'<svg[^>]*(viewBox="[^"]+")[^>]*>', rf"{head}\1>", text, count=1)


def symbols(text: str) -> str:
    """Symbols such as n × d_model, as HTML."""
    return re.sub(r"([A-Za-z]+)(?:_(\w+))?", r"<i>\1</i><sub>\2</sub>", text).replace(
        "<sub></sub>", ""
    )


def letters(text: str) -> str:
    """A sentence in which some single letters are symbols."""
    return re.sub(r"\b([hxzM])\b", r"<i>\1</i>", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_directive("figure-1", Figure)
    load_where(app, 'class="aiayn-machine"', "front.css", "figure.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
