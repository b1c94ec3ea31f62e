"""The shape of a Transformer, and named shapes such as base and big.

From "Model architecture" (paper, section 3):
https://github.com/OWNER/aiayn/blob/main/book/03-model-architecture.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/03-model-architecture.ipynb, cell configuration-imports
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from aiayn.errors import InputError, did_you_mean
from aiayn.model.base import ModelConfig
from aiayn.model.kernels import Score
from aiayn.model.stacks import Norm

# book/03-model-architecture.ipynb, cell transformer-config
Positions = Literal["sinusoidal", "learned", "relative", "none"]


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """All that fixes a Transformer's shape; by default the base model of Table 3.

    Raises
    ------
    InputError
        If no such model can be built.
    """

    N: int = 6  # layers in the encoder, and in the decoder
    d_ff: int = 2048  # width between the two maps of the feed-forward network
    h: int = 8  # heads
    d_k: int | None = None  # width of a head's queries and keys; d_model / h where None
    d_v: int | None = None  # width of a head's values; d_model / h where None
    score: Score = "scaled"  # how a query is compared with a key
    norm: Norm = "post"  # where the norm is: after the sum, or before the sub-layer
    positions: Positions = "sinusoidal"  # how order enters the model
    max_length: int = 1024  # of learned positions; the other kinds know no end
    attention_bias: bool = False  # whether the projections of attention have a bias
    share_embeddings: bool = True  # one matrix for inputs and output (section 3.4)
    # share of attention's weights that are set to zero in training (section 6.3)
    attention_dropout: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be built, and what would silently build something else."""
        super().__post_init__()
        if (self.d_k is None or self.d_v is None) and self.d_model % self.h:
            raise InputError(
                f"d_model={self.d_model} does not divide into h={self.h} heads:"
                " give d_k and d_v"
            )

    @property
    def longest(self) -> int | None:
        """Positions that can be learned; of the other kinds there is no end."""
        return self.max_length if self.positions == "learned" else None


# book/03-model-architecture.ipynb, cell presets
PRESETS = {
    "base": TransformerConfig(),
    "big": TransformerConfig(d_model=1024, d_ff=4096, h=16, dropout=0.3),
    "small": TransformerConfig(vocabulary_size=8000, N=4, d_model=128, d_ff=256, h=4),
    "multi30k": TransformerConfig(
        vocabulary_size=6000, N=3, d_model=256, d_ff=512, h=4, dropout=0.3
    ),
    "multi30k-wu": TransformerConfig(
        vocabulary_size=10000, N=4, d_model=128, d_ff=256, h=4, dropout=0.3
    ),
    "laboratory": TransformerConfig(
        vocabulary_size=2000, N=2, d_model=64, d_ff=256, h=4, dropout=0.0
    ),
}


def config(name: str, **changes: Any) -> TransformerConfig:
    """The configuration of that name, with `changes`, as in `config("base", N=2)`.

    Parameters
    ----------
    name : str
        One of `PRESETS`: `base`, `big`, `small`, `multi30k`, `laboratory` and others.
    **changes
        Fields of `TransformerConfig` that are to differ.

    Raises
    ------
    InputError
        If there is no such configuration or field.
    """
    if name not in PRESETS:
        raise InputError(
            f"unknown configuration {name!r}: {did_you_mean(name, PRESETS)}"
        )
    names = [field.name for field in fields(TransformerConfig)]
    for key, value in changes.items():
        if key not in names:
            meant = did_you_mean(key, names)
            raise InputError(f"{key}={value!r:.60}: no such setting; {meant}")
    return replace(PRESETS[name], **changes)
