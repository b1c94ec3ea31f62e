"""Figure 2 in chapter 3.2, with the formula as an instrument beside it.

Each symbol has a tensor, a line of code and a part of the figure. All tensors stand in
the page as tables, so that without scripts, and on paper, they explain the formula;
site/formula/formula.js shows one at a time, and lights what belongs to it. The numbers
are the chapter's: its cells are run when the site is built.
"""

import contextlib
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from docutils import nodes
from page_files import load_where
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from torch import Tensor

from aiayn.visualization.widget import read_static

PAGE = "book/1-paper/3-2-attention"
FIGURE = "figures/figure-2.svg"
CODE = "literal-attention"  # the cell whose lines are lit
# What has to run before the cell "sentence" can.
CELLS = ("by-hand-scores", "average", "similar", CODE, "sentence")
# Each line of the code in pieces: the symbol that a piece belongs to, and its text.
LINES = (
    (
        "scores = Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-1])",
        [
            ("Q", "Q"),
            ("product", "@"),
            ("K", "K"),
            ("product", ".transpose(-2, -1)"),
            ("root", "/ math.sqrt(K.shape[-1])"),
        ],
    ),
    ("weights = scores.softmax(dim=-1)", [("softmax", "scores.softmax(dim=-1)")]),
    ("return weights @ V", [("output", "weights @"), ("V", "V")]),
)


class Symbol(NamedTuple):
    """A symbol of the formula and what it stands for."""

    name: str
    title: str
    kind: str  # the colour
    shape: str
    columns: str  # "words", or what the components mean
    says: str


COMPONENTS = {
    "Q": ("article", "thing", "verb", "quality"),
    "V": ("food", "pleasant"),
}
SYMBOLS = (
    Symbol(
        "Q",
        "Q, the queries",
        "query",
        "n × d_k",
        "Q",
        "A row for each word: what it looks for.",
    ),
    Symbol(
        "K",
        "K, the keys",
        "key",
        "m × d_k",
        "Q",
        "A row for each word: what it is found by.",
    ),
    Symbol(
        "product",
        "QKᵀ, the products",
        "score",
        "n × m",
        "words",
        "Every query times every key. ᵀ turns the keys into columns, so that row times"
        " column is a dot product.",
    ),
    Symbol(
        "root",
        "÷ √d_k, the scores",
        "score",
        "n × m",
        "words",
        "Every product divided by the same number, here √4 = 2.",
    ),
    Symbol(
        "softmax",
        "softmax, the weights",
        "score",
        "n × m",
        "words",
        "Each row becomes weights that sum to 1.",
    ),
    Symbol(
        "V",
        "V, the values",
        "value",
        "m × d_v",
        "V",
        "A row for each word: what it passes on.",
    ),
    Symbol(
        "output",
        "Attention, the output",
        "output",
        "n × d_v",
        "V",
        "Weights times V: each row is a mixture of all values.",
    ),
)


class Formula(SphinxPostTransform):
    """Put formula and tensors around the figure."""

    default_priority = 4  # before the drawing becomes HTML
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        if self.env.docname != PAGE:
            return
        notebook = json.loads(
            Path(self.env.srcdir, f"{PAGE}.ipynb").read_text(encoding="utf-8")
        )
        sources = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
        check_lines(sources[CODE])
        context = {
            "symbols": SYMBOLS,
            "tables": tables(sources),
            "code": json.dumps(LINES),
            "cell": f"cell-{CODE}",
        }
        text = self.app.builder.templates.render("formula.html", context)
        before, after = text.split("<!-- figure -->")
        for image in list(self.document.findall(nodes.image)):
            if image["uri"].endswith(FIGURE):
                around = image.parent
                around.replace_self(
                    [
                        nodes.raw("", before, format="html"),
                        image,
                        nodes.raw("", after, format="html"),
                    ]
                )


def check_lines(code: str) -> None:
    """Every line, and its pieces in their order, stand in the cell."""
    for line, pieces in LINES:
        rest = line
        for _, piece in pieces:
            _, found, rest = rest.partition(piece)
            if code.count(f"    {line}\n") != 1 or not found:
                raise ExtensionError(
                    f"formula: cell {CODE} of {PAGE}.ipynb has no line {line!r} with"
                    f" {piece!r}; change LINES in site/extensions/formula.py"
                )


def tables(sources: dict[str, str]) -> dict[str, list[tuple[str, list[Any]]]]:
    """The tensor of each symbol: rows with their words; first, the columns' names."""
    chapter: dict[str, Any] = {"math": math, "torch": torch, "show": lambda *_: None}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in CELLS:
            exec(sources[cell], chapter)
    words, Q, K, V = (chapter[name] for name in ("sentence", "Q", "K", "V"))
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    weights = scores.softmax(dim=-1)
    tensors = {"Q": Q, "K": K, "product": Q @ K.T, "root": scores, "softmax": weights}
    tensors |= {"V": V, "output": chapter["literal_attention"](Q, K, V)}
    names = COMPONENTS | {"words": tuple(words)}
    return {
        symbol.name: rows(tensors[symbol.name], words, names[symbol.columns])
        for symbol in SYMBOLS
    }


def rows(
    tensor: Tensor, words: Sequence[str], columns: Sequence[str]
) -> list[tuple[str, list[Any]]]:
    """Names, numbers, and how strong each number's colour is, in percent."""
    top = float(tensor.abs().max())
    found: list[tuple[str, list[Any]]] = [("", list(columns))]
    for word, row in zip(words, tensor.tolist(), strict=True):
        cells = [
            (f"{x:.2f}".replace("-", "−").removesuffix(".00"), round(45 * x / top))
            for x in row
        ]
        found.append((word, cells))
    return found


def write_files(app: Sphinx, config: Config) -> None:
    """The package's row of buttons, for the formula's script."""
    folder = Path(app.doctreedir, "formula")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "toolbar.js").write_text(
        read_static("widget.js", "toolbar.js"), encoding="utf-8"
    )
    config.html_static_path.append(str(folder))


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.connect("config-inited", write_files)
    app.add_post_transform(Formula)
    load_where(app, 'class="aiayn-formula"', "formula.css", "toolbar.js", "formula.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
