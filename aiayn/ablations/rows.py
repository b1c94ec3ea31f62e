# Made by `make export` from book/1-paper/6-2-model-variations.ipynb
"""The rows of Table 3 as configurations."""

# book/1-paper/6-2-model-variations.ipynb, cell imports
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from aiayn.errors import InputError, did_you_mean
from aiayn.model.configuration import TransformerConfig, config
from aiayn.model.encoder_decoder import ModelConfig
from aiayn.model.registry import build


# book/1-paper/6-2-model-variations.ipynb, cell row
@dataclass(frozen=True)
class Row:
    """A row of Table 3 (section 6.2): how it differs from base, and its scores."""

    name: str  # its group and what changes, such as `A h=1`
    perplexity: float  # on newstest2013, per piece of a word
    bleu: float  # on newstest2013
    # parameters, in millions; the paper gives them only for rows that change them
    millions: int | None = None
    # fields of `TransformerConfig` that differ from base
    changes: dict[str, Any] = field(default_factory=dict)
    label_smoothing: float = 0.1  # share of a label that is spread
    steps: int = 100_000  # of training

    @property
    def group(self) -> str:
        """A to E; base and big are groups of their own."""
        return self.name.split()[0]


# book/1-paper/6-2-model-variations.ipynb, cell rows
_BIG = {"d_model": 1024, "d_ff": 4096, "h": 16, "dropout": 0.3}
_TABLE_3 = [
    Row("base", 4.92, 25.8, 65),
    Row("A h=1", 5.29, 24.9, changes={"h": 1, "d_k": 512, "d_v": 512}),
    Row("A h=4", 5.00, 25.5, changes={"h": 4, "d_k": 128, "d_v": 128}),
    Row("A h=16", 4.91, 25.8, changes={"h": 16, "d_k": 32, "d_v": 32}),
    Row("A h=32", 5.01, 25.4, changes={"h": 32, "d_k": 16, "d_v": 16}),
    Row("B d_k=16", 5.16, 25.1, 58, {"d_k": 16}),
    Row("B d_k=32", 5.01, 25.4, 60, {"d_k": 32}),
    Row("C N=2", 6.11, 23.7, 36, {"N": 2}),
    Row("C N=4", 5.19, 25.3, 50, {"N": 4}),
    Row("C N=8", 4.88, 25.5, 80, {"N": 8}),
    Row("C d_model=256", 5.75, 24.5, 28, {"d_model": 256, "d_k": 32, "d_v": 32}),
    Row("C d_model=1024", 4.66, 26.0, 168, {"d_model": 1024, "d_k": 128, "d_v": 128}),
    Row("C d_ff=1024", 5.12, 25.4, 53, {"d_ff": 1024}),
    Row("C d_ff=4096", 4.75, 26.2, 90, {"d_ff": 4096}),
    Row("D dropout=0.0", 5.77, 24.6, changes={"dropout": 0.0}),
    Row("D dropout=0.2", 4.95, 25.5, changes={"dropout": 0.2}),
    Row("D smoothing=0.0", 4.67, 25.3, label_smoothing=0.0),
    Row("D smoothing=0.2", 5.47, 25.7, label_smoothing=0.2),
    Row("E", 4.92, 25.7, changes={"positions": "learned"}),
    Row("big", 4.33, 26.4, 213, _BIG, steps=300_000),
]
ROWS = {row.name: row for row in _TABLE_3}


# book/1-paper/6-2-model-variations.ipynb, cell choose-rows
def choose_rows(names: str | Sequence[str]) -> list[Row]:
    """The rows that are named, each once, in the order of the table.

    Parameters
    ----------
    names : str or sequence of str
        Names, whole (`A h=1`) or without the group (`h=1`), groups (`A`) or `all`; a
        string may hold several, with commas between them.

    Raises
    ------
    InputError
        If there is no such row.
    """
    chosen = set[str]()
    for each in names.split(",") if isinstance(names, str) else names:
        name = each.strip()
        rows = ROWS.values()
        names_of_rows = [("all", r.group, r.name, r.name.split()[-1]) for r in rows]
        matching = [
            r.name for r, each in zip(rows, names_of_rows, strict=True) if name in each
        ]
        if not matching:
            hint = did_you_mean(name, ["all", "A to E", *ROWS])
            raise InputError(f"Table 3 has no row {name!r}: {hint}")
        chosen.update(matching)
    return [row for row in ROWS.values() if row.name in chosen]


# book/1-paper/6-2-model-variations.ipynb, cell row-config
Form = Literal["paper", "t2t"]
FORMS: dict[Form, dict[str, Any]] = {
    "paper": {},
    "t2t": {"vocabulary_size": 40960, "attention_bias": True},
}
WIDTHS = {"d_model": 512, "d_ff": 2048, "d_k": 64, "d_v": 64}


def row_config(
    row: Row,
    scale: float = 1.0,
    form: Form = "paper",
    depth: float = 1.0,
    **changes: Any,
) -> TransformerConfig:
    """The shape of a row's model.

    Parameters
    ----------
    row : Row
        One of `ROWS`.
    scale : float
        Multiplies d_model, d_ff, d_k and d_v. h and dropout stay.
    form : str
        `paper`, or `t2t` for what the authors' program had; see `FORMS`.
    depth : float
        Multiplies N.
    **changes
        Further fields, such as the vocabulary's size.

    Raises
    ------
    InputError
        If one of these would not be a whole number.
    """
    shape = {"N": 6} | WIDTHS | row.changes
    factors = dict.fromkeys(WIDTHS, scale) | {"N": depth}
    for name, factor in factors.items():
        size, kind = float(shape[name] * factor), "depth" if name == "N" else "scale"
        if size < 1 or not size.is_integer():
            fits = [f"{k}" for k in (0.5, 0.25) if (shape[name] * k).is_integer()]
            would = f"{kind}={factor}: row {row.name} would have {name}={size:g}"
            raise InputError(f"{would}; try {' or '.join(fits)}")
        shape[name] = int(size)
    return config("base", **(FORMS[form] | shape | changes))


# book/1-paper/6-2-model-variations.ipynb, cell parameters
def parameters(config: ModelConfig) -> int:
    """How many parameters a model of that shape has; shared ones count once."""
    with torch.device("meta"):
        model = build(config)
    return sum(weight.numel() for weight in model.parameters())
