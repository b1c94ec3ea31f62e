# Made by `make export` from book/1-paper/3-0-model-architecture.ipynb
"""The shape of a Transformer, and named shapes such as base and big."""

# book/1-paper/3-0-model-architecture.ipynb, cell configuration-imports
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from aiayn.base_config import changed
from aiayn.errors import InputError, did_you_mean
from aiayn.model.encoder_decoder import ModelConfig
from aiayn.model.layers import Norm
from aiayn.model.scores import Score

# book/1-paper/3-0-model-architecture.ipynb, cell transformer-config
Positions = Literal["sinusoidal", "learned", "relative", "none"]
Width = Annotated[int, Field(ge=1, le=100_000)]


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """All that fixes a Transformer's shape; by default the base model of Table 3.

    Raises
    ------
    InputError
        If no such model can be built.
    """

    # layers in the encoder, and in the decoder
    N: Annotated[int, Field(ge=1, le=1000)] = 6
    d_ff: Width = 2048  # width between the two maps of the feed-forward network
    h: Width = 8  # heads
    # width of a head's queries and keys; d_model / h where None
    d_k: Width | None = None
    d_v: Width | None = None  # width of a head's values; d_model / h where None
    score: Score = "scaled"  # how a query is compared with a key
    norm: Norm = "post"  # where the norm is: after the sum, or before the sub-layer
    positions: Positions = "sinusoidal"  # how order enters the model
    # of learned positions; other kinds have no limit
    max_length: Annotated[int, Field(ge=1, le=10**7)] = 1024
    attention_bias: bool = False  # whether the projections of attention have a bias
    share_embeddings: bool = True  # one matrix for inputs and output (section 3.4)
    # share of attention's weights that are set to zero in training (section 6.3)
    attention_dropout: Annotated[float, Field(ge=0, le=1)] = 0.0

    def __post_init__(self) -> None:
        """Reject what cannot be built, or would silently build something else."""
        super().__post_init__()
        if (self.d_k is None or self.d_v is None) and self.d_model % self.h:
            raise InputError(
                f"d_model={self.d_model} does not divide into h={self.h} heads:"
                " give d_k and d_v"
            )

    @property
    def max_positions(self) -> int | None:
        """Positions that can be learned; other kinds have no limit."""
        return self.max_length if self.positions == "learned" else None

    # book/1-paper/3-0-model-architecture.ipynb, cell forward-flops
    def forward_flops(self, n: Any, m: Any) -> Any:
        """FLOPs of a pair's matrix products forward: the sum of `flops_by_part`."""
        return sum(self.flops_by_part(n, m).values())

    def flops_by_part(self, n: Any, m: Any) -> dict[str, Any]:
        """FLOPs of a pair's matrix products forward; a multiply-add counts as two.

        Causal attention is counted as the full square, as PyTorch's counter does,
        although half is hidden. `n` and `m` are tokens of source and target; arrays of
        several pairs give arrays.
        """
        N, d, h = self.N, self.d_model, self.h
        d_k, d_v = self.d_k or d // h, self.d_v or d // h
        # of a query with a key: in the encoder, in the decoder, between them
        query_key_pairs = n * n + m * m + n * m
        flops = {
            "projections": 2 * N * 3 * (n + m) * d * h * (d_k + d_v),
            "scores": 2 * N * h * d_k * query_key_pairs * (self.score != "additive"),
            "weighted sums": 2 * N * h * d_v * query_key_pairs,
            "feed-forward": 2 * N * (n + m) * 2 * d * self.d_ff,
            "logits": 2 * m * d * self.vocabulary_size,
        }
        # of all attentions in a layer of the encoder and one of the decoder
        queries, keys = n + 2 * m, 2 * n + m
        if self.score == "general":
            flops["score"] = 2 * N * queries * h * d_k * d_k
        if self.score == "additive":  # its work on single numbers is not a product
            flops["score"] = 2 * N * (queries + keys) * h * d_k * d_k
        if self.positions == "relative":  # 33 distances, in self-attention only
            flops["positions"] = 2 * N * (n + m) * h * 33 * (d_k + d_v)
        return flops


# book/1-paper/3-0-model-architecture.ipynb, cell presets
PRESETS = {
    "base": TransformerConfig(),
    "big": TransformerConfig(d_model=1024, d_ff=4096, h=16, dropout=0.3),
    "small": TransformerConfig(vocabulary_size=8000, N=4, d_model=128, d_ff=256, h=4),
    "multi30k": TransformerConfig(6000, 256, 0.2, N=3, d_ff=512, h=4),
    "multi30k-wu": TransformerConfig(10_000, 128, 0.3, N=4, d_ff=256, h=4),
    "tatoeba": TransformerConfig(8000, 256, N=3, d_ff=512, h=4),
    "synthetic": TransformerConfig(2000, 64, 0.0, N=2, d_ff=256, h=4),
    "parser": TransformerConfig(1500, 64, 0.0, N=2, d_ff=256, h=4),
    "craft": TransformerConfig(6000, 256, 0.3, N=3, d_ff=512, h=4),
}
# Dropout as in Tensor2Tensor, for attention too. The paper chose its own on section 22
# and gives no value: the same for wsj, and 0.1 for wsj-semi, which has more text.
PRESETS |= {
    name: TransformerConfig(size, 1024, dropout, N=N, attention_dropout=dropout)
    for name, size, dropout, N in (
        ("wsj", 16_000, 0.2, 4),
        ("wsj-semi", 32_000, 0.1, 4),
        ("wsj-t2t", 16_000, 0.2, 6),
    )
}


def config(name: str, **changes: Any) -> TransformerConfig:
    """The shape of that name, with `changes`, as in `config("base", N=2)`.

    Parameters
    ----------
    name : str
        One of `PRESETS`: `base`, `big`, `small`, `multi30k`, `synthetic` and others.
    **changes
        Fields of `TransformerConfig` to change.

    Raises
    ------
    InputError
        If there is no such shape or field.
    """
    if name not in PRESETS:
        hint = did_you_mean(name, PRESETS)
        raise InputError(f"unknown configuration {name!r}: {hint}")
    return changed(PRESETS[name], **changes)
