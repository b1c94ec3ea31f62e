"""`{figure-1}`: the paper's figure 1 on the front page, to be explored.

The drawing is book/_static/figure-1.svg, in which every block becomes a link to its chapter. Beside it stands
a panel for each block, of which one is shown. All of it is in the page as plain HTML, with the base model's
numbers; book/_front/figure.js shows panels and puts in the numbers of another model or sentence, which it
finds as ready text in the page. Without it, the whole model is shown, and the table below has every block.
"""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from figure_blocks import BLOCKS, KINDS, WHOLE, Block
from figure_numbers import SENTENCES, SIZES, measure, shape_of
from figure_values import pair, values
from notebooks import number_title, title
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

FRONT = Path(__file__).parent.parent / "_front"
DRAWING = "book/_static/figure-1.svg"
NAME = "The Transformer: encoder left, decoder right; every block is a link to its chapter"
MEASURED = (
    "Every number was measured on the package's own model when this page was built. Multiply-adds are those "
    "of all matrix products while the model reads this pair once."
)
BLOCK = re.compile(r'<g data-block="([\w-]+)">(.*?)</g>', re.DOTALL)
BAR = 1.4  # length of a bar in the drawing for a percent, a little less than a block's width for all


class Figure(SphinxDirective):
    """`{figure-1}`: the drawing, its panels, and the numbers."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(DRAWING)
        self.all = {f"{size}/{i}": values(size, i) for size in SIZES for i in range(len(SENTENCES))}
        self.first = self.all[f"{SIZES[0]}/0"]
        source, target = pair(SIZES[0], 0)
        self.shapes = measure(shape_of(SIZES[0]), len(source), len(target)).shapes
        panels = [node for block in (WHOLE, *BLOCKS) for node in self.panel(block)]
        # Inside a script element only "</" could end the text early; JSON may write it as "<\/".
        data = json.dumps(self.all, ensure_ascii=False, separators=(",", ":")).replace("</", r"<\/")
        return [
            raw(
                f'<div class="aiayn-machine">{self.choices()}<div class="aiayn-machine-body">{self.drawing()}'
            ),
            raw('<section class="aiayn-machine-panels" aria-label="What the figure shows, in numbers">'),
            *panels,
            raw(f'</section></div><p class="aiayn-machine-note">{self.value("tokens.note")} {MEASURED}</p>'),
            raw(f'<p class="visually-hidden" role="status"></p>{self.table()}'),
            raw(f'<script type="application/json">{data}</script></div>'),
        ]

    def value(self, name: str, tag: str = "span") -> str:
        """An element that holds the value of that name."""
        return f'<{tag} data-value="{name}">{escape(self.first[name])}</{tag}>'

    def chapter(self, block: Block) -> tuple[str, str]:
        """The address and the title of a block's chapter."""
        docname = f"book/{block.chapter}"
        notebook = json.loads(Path(self.env.doc2path(docname)).read_text(encoding="utf-8"))
        number_title(self.env.app, docname, notebook)
        return self.env.app.builder.get_relative_uri(self.env.docname, docname), escape(title(notebook))

    def choices(self) -> str:
        """The choice of model and sentence, and the sentence in tokens."""
        sizes = "".join(
            f'<label><input type="radio" name="size" value="{size}"{" checked" * (i == 0)}> {size}</label>'
            for i, size in enumerate(SIZES)
        )
        sentences = "".join(f'<option value="{i}">{escape(s[0])}</option>' for i, s in enumerate(SENTENCES))
        rows = "".join(
            f"<dt>{side}, <i>{letter}</i> = {self.value(f'whole.{letter}')}</dt>"
            f'<dd data-tokens="tokens.{side}">{chip_row(self.first[f"tokens.{side}"])}</dd>'
            for side, letter in (("source", "n"), ("target", "m"))
        )
        return (
            '<form class="aiayn-machine-choices pst-js-only">'
            f'<fieldset><legend class="visually-hidden">Model</legend>{sizes}</fieldset>'
            f'<select name="sentence" aria-label="Sentence">{sentences}</select></form>'
            f'<dl class="aiayn-machine-tokens">{rows}</dl>'
        )

    def drawing(self) -> str:
        """The drawing, its blocks turned into links, each with a bar for its share of the parameters."""
        text = Path(self.env.srcdir, DRAWING).read_text(encoding="utf-8")
        blocks = {block.key: block for block in BLOCKS}

        def link(match: re.Match[str]) -> str:
            block, inside = blocks[match[1]], match[2]
            address, name = self.chapter(block)
            rect = dict(re.findall(r'([a-z]+)="([^"]+)"', inside.partition("/>")[0]))
            bar = (
                f'<rect class="aiayn-machine-bar" data-bar="{block.key}.parameters-bar" '
                f'x="{int(rect["x"]) + 5}" y="{int(rect["y"]) + int(rect["height"]) - 5}" '
                f'width="{float(self.first[f"{block.key}.parameters-bar"]) * BAR:.1f}" height="2.5" rx="1.2" '
                f'fill="{rect["stroke"]}"/>'
            )
            label = f'aria-label="{block.title}: chapter {name}"'
            return f'<a href="{address}" data-block="{block.key}" {label}>{inside}{bar}</a>'

        head = f'<svg class="aiayn-drawing" role="group" aria-label="{NAME}" font-family="sans-serif" '
        text = BLOCK.sub(link, text)
        return re.sub(r'<svg[^>]*(viewBox="[^"]+")[^>]*>', rf"{head}\1>", text, count=1)

    def panel(self, block: Block) -> list[nodes.Node]:
        """What is said about a block."""
        address, name = self.chapter(block)
        whole = block is WHOLE
        size = f": {self.value('whole.size')}" if whole else ""
        flows = "".join(
            f"<tr><th scope=row>{word}</th><td>{symbols(names)}</td>"
            f"<td>{self.value(f'{block.key}.flow.{row}')}</td></tr>"
            for row, (word, (names, _)) in enumerate(zip(block.flows, self.shapes[block.key], strict=True))
        )
        more = (
            "<span>Point at a block or tap it; a click opens its chapter.</span>"
            if whole
            else '<button type="button" data-show="whole">The whole model</button>'
        )
        return [
            raw(
                f'<article class="aiayn-machine-panel" data-panel="{block.key}" data-kind="{block.kind}"'
                f"{'' if whole else ' hidden'}><p class=aiayn-machine-title>{block.title}{size}</p>"
                f"<p>{letters(block.text)}</p>"
            ),
            raw('<div class="pst-js-only">'),  # without MathJax one would see raw TeX
            nodes.math_block("", block.formula, nowrap=False, number=None),
            raw(
                f"</div>{self.whole_rows() if whole else self.block_rows(block)}"
                f"<table class=aiayn-machine-flows>{flows}</table><p class=aiayn-machine-more>"
                f'<a href="{address}">Read {name}</a> <span class="pst-js-only">{more}</span></p></article>'
            ),
        ]

    def block_rows(self, block: Block) -> str:
        """Parameters and work of a block."""
        rows = "".join(
            f"<dt>{label}</dt><dd>{self.value(f'{block.key}.{name}', 'b')} "
            f"{self.value(f'{block.key}.{name}-share')} {self.value(f'{block.key}.{name}-each')}</dd>"
            for label, name in (("Parameters", "parameters"), ("Multiply-adds", "products"))
        )
        return f"<dl>{rows}</dl>"

    def whole_rows(self) -> str:
        """The model's size, and how parameters and work are shared among the kinds of blocks."""
        sizes = "".join(
            f"<span>{symbols(name)} = {self.value(f'whole.{name}')}</span> "
            for name in ("N", "d_model", "d_ff", "h", "V")
        )
        body = "".join(f'<tr data-kind="{kind}">{self.kind_row(kind)}</tr>' for kind in KINDS)
        return (
            f"<p class=aiayn-machine-sizes>{sizes}</p><table class=aiayn-machine-shares>"
            "<thead><tr><td></td><th scope=col>parameters</th><th scope=col>multiply-adds</th>"
            f"</tr></thead><tbody>{body}<tr><th scope=row>all</th>"
            f"<td>{self.value('whole.parameters', 'b')}</td>"
            f"<td>{self.value('whole.products', 'b')}</td></tr></tbody></table>"
        )

    def kind_row(self, kind: str) -> str:
        """The shares of a kind of blocks, each with a bar behind it."""
        cells = ""
        for name in (f"{kind}.parameters", f"{kind}.products"):
            bar = f"{name}-bar"
            cells += f'<td data-share="{bar}" style="--share:{self.first[bar]}%">{self.value(name)}</td>'
        return f"<th scope=row>{KINDS[kind]}</th>{cells}"

    def table(self) -> str:
        """Every block with its parameters in every model: for readers without JavaScript, and to look up."""

        def row(head: str, link: str, key: str) -> str:
            cells = "".join(f"<td>{self.all[f'{size}/0'][f'{key}.parameters']}</td>" for size in SIZES)
            return f"<tr><th scope=row>{head}</th><td>{link}</td>{cells}</tr>"

        heads = "".join(f"<th scope=col>{head}</th>" for head in ("block", "chapter", *SIZES))
        rows = ""
        for block in BLOCKS:
            address, name = self.chapter(block)
            rows += row(block.title, f'<a href="{address}">{name}</a>', block.key)
        return (
            "<details><summary>The parameters of every block, as a table</summary>"
            '<div class="pst-scrollable-table-container"><table class="table">'
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}{row('All, the embedding once', '', 'whole')}"
            "</tbody></table></div></details>"
        )


def chip_row(tokens: list[tuple[str, bool]]) -> str:
    """Tokens as chips; those inside a word stand close to the one before."""
    return "".join(f"<span{' class=inside' * inside}>{escape(token)}</span>" for token, inside in tokens)


def symbols(text: str) -> str:
    """Symbols such as n × d_model, as HTML."""
    return re.sub(r"([A-Za-z]+)(_\w+)?", lambda m: f"<i>{m[1]}</i>{subscript(m[2] or '')}", text)


def subscript(text: str) -> str:
    """What follows a symbol's underscore."""
    return text and f"<sub>{text[1:]}</sub>"


def letters(text: str) -> str:
    """A sentence in which some single letters are symbols."""
    return re.sub(r"\b([hxzM])\b", r"<i>\1</i>", text)


def raw(text: str) -> nodes.raw:
    """HTML, as a node."""
    return nodes.raw("", text, format="html")


def serve_scripts(app: Sphinx, config: Config) -> None:
    """Have the front page's own script and style among the site's files."""
    config.html_static_path.append(str(FRONT))


def load_scripts(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Load them on the front page, and only there."""
    if pagename == app.config.root_doc:
        app.add_css_file("front.css")
        app.add_js_file("figure.js", defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_directive("figure-1", Figure)
    app.connect("config-inited", serve_scripts)
    app.connect("html-page-context", load_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
