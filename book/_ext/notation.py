"""Notation: the tables of symbols on book/notation.md, with figures that the package computes for the site.

`{symbols} NAME` sets one list of book/notation.yml as a table. Nobody types a size there: a `figure`, and
each width in a `shape`, is looked up in `FIGURES`, for the paper's base model and for its big one.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from terms import chapter_name

from aiayn.model import Transformer
from aiayn.optimizer import learning_rate, make_optimizer
from aiayn.recipes import TrainingConfig, recipe
from aiayn.search import SearchConfig

SYMBOLS = "book/notation.yml"


def millions(run: TrainingConfig) -> str:
    """The parameters of the model, of which no memory is taken."""
    with torch.device("meta"):
        model = Transformer(run.model)
    return f"{sum(parameter.numel() for parameter in model.parameters()) / 1e6:.1f}"


def adam(name: str, index: int | None = None) -> Callable[[TrainingConfig], Any]:
    """A constant of the book's optimizer."""
    constants = make_optimizer(torch.nn.Linear(1, 1)).defaults
    return lambda run: constants[name] if index is None else constants[name][index]


FIGURES: dict[str, Callable[[TrainingConfig], Any]] = {
    "d_model": lambda run: run.model.d_model,
    "N": lambda run: run.model.N,
    "h": lambda run: run.model.h,
    "d_k": lambda run: run.model.d_k or run.model.d_model // run.model.h,
    "d_v": lambda run: run.model.d_v or run.model.d_model // run.model.h,
    "h d_v": lambda run: run.model.h * FIGURES["d_v"](run),
    "d_ff": lambda run: run.model.d_ff,
    "vocabulary": lambda run: run.model.vocabulary_size,
    "parameters": millions,
    "batch": lambda run: run.batch_tokens,
    "steps": lambda run: run.steps,
    "warmup": lambda run: run.warmup,
    "peak": lambda run: f"{1000 * learning_rate(run.warmup, run.model.d_model, run.warmup):.2f}",
    "beta_1": adam("betas", 0),
    "beta_2": adam("betas", 1),
    "epsilon": adam("eps"),
    "dropout": lambda run: run.model.dropout,
    "smoothing": lambda run: run.label_smoothing,
    "average": lambda run: run.average,
    "beam": lambda run: SearchConfig().beam,
    "alpha": lambda run: SearchConfig().alpha,
    "extra": lambda run: SearchConfig().extra_length,
}
LETTERS = {"d_model": r"d_{\text{model}}", "d_ff": "d_{ff}", "h d_v": r"h\, d_v"}


def figure(name: str, model: str = "base") -> str:
    """A figure of the paper's model, as one would write it."""
    value = FIGURES[name](recipe(model))
    if isinstance(value, int):
        return f"{value:,}"
    mantissa, _, exponent = str(value).partition("e-")
    power = f"10^{{-{int(exponent)}}}" if exponent else ""
    return f"${power}$" if power and mantissa == "1" else mantissa + power


class Symbols(SphinxDirective):
    """`{symbols} NAME`: a table with a row for each symbol of the list."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(SYMBOLS)
        text = Path(self.env.app.srcdir, SYMBOLS).read_text(encoding="utf-8")
        symbols = yaml.safe_load(text)[self.arguments[0]]
        shaped, figured = (any(key in symbol for symbol in symbols) for key in ("shape", "figure"))
        heads = [
            "symbol",
            "meaning",
            *["shape", "in base"] * shaped,
            *["base", "big"] * figured,
            "in code",
            "more",
        ]
        lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
        for symbol in symbols:
            row = [f"${symbol['symbol']}$" if "symbol" in symbol else symbol["name"], symbol["is"]]
            if shaped:
                letters = [LETTERS.get(size, size) for size in symbol["shape"]]
                widths = [
                    figure(size, "base") if size in FIGURES else f"${size}$" for size in symbol["shape"]
                ]
                row += [f"${letters[0]} \\times {letters[1]}$", " × ".join(widths)]
            if figured:
                row += [
                    figure(symbol["figure"], model) if "figure" in symbol else "" for model in ("base", "big")
                ]
            row += [f"`{symbol['code']}`" if "code" in symbol else ""]
            row += [f"[{chapter_name(symbol['home'])}]({symbol['home']})"]
            cells = [cell.replace("|", r"\vert ") for cell in row]  # a bar would end the cell
            lines.append(f"| {' | '.join(cells)} |")
        kind = "figures" if figured else "shapes" if shaped else "letters"
        table = nodes.container(classes=["aiayn-symbols", f"aiayn-{kind}"])
        self.state.nested_parse(StringList(lines, source=SYMBOLS), 0, table)
        return [table]


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_directive("symbols", Symbols)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
