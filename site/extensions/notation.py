"""Notation: the figures on book/reference/notation.md, `{{ base.d_model }}`, which the
package computes for the site.

Nobody types a size there: MyST's substitutions `base` and `big` hold the figures of the
paper's two models.
"""

from typing import Any

import torch
from sphinx.application import Sphinx
from sphinx.config import Config

from aiayn.decoding.beam_search import SearchConfig
from aiayn.model.transformer import Transformer
from aiayn.training.optimizer import learning_rate, make_optimizer
from aiayn.training.recipes import recipe


def figures(model: str) -> dict[str, str]:
    """The figures of a model and of its training, by name."""
    run, search = recipe(model), SearchConfig()
    shape, adam = run.model, make_optimizer(torch.nn.Linear(1, 1)).defaults
    with torch.device("meta"):  # takes no memory
        parameters = sum(weight.numel() for weight in Transformer(shape).parameters())
    known = vars(shape) | vars(run.optimizer) | vars(run) | vars(search)
    known["d_k"] = known["d_v"] = shape.d_model // shape.h
    warmup = run.optimizer.warmup
    known |= {"h_d_v": shape.h * known["d_v"], "parameters": f"{parameters / 1e6:.1f}"}
    known |= {"tokens": run.batches.tokens, "average": run.checkpoints.average}
    known["peak"] = f"{1000 * learning_rate(warmup, shape.d_model, warmup):.2f}"
    known["eps"], (known["beta_1"], known["beta_2"]) = adam["eps"], adam["betas"]
    return {name: formatted(value) for name, value in known.items()}


def formatted(value: Any) -> str:
    """A figure as one would write it."""
    if isinstance(value, int):
        return f"{value:,}"
    mantissa, _, exponent = str(value).partition("1e-")
    return mantissa if not exponent else f"$10^{{-{int(exponent)}}}$"


def define(app: Sphinx, config: Config) -> None:
    """Let a page that asks for substitutions in its front matter have the figures."""
    sizes = {model: figures(model) for model in ("base", "big")}
    config.myst_substitutions = config.myst_substitutions | sizes


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.connect("config-inited", define)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
