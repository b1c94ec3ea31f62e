"""Additive and other scores; kernels wrapped to record weights or change results.

From "Other scores, and what a kernel does" (paper, section 3.2):
https://github.com/OWNER/aiayn/blob/main/book/11-8-other-scores-and-kernels.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-8-other-scores-and-kernels.ipynb, cell kernels-imports
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from aiayn.model.attention import Attention, FusedAttention


# book/11-8-other-scores-and-kernels.ipynb, cell scores
def unscaled_dot_product(
    Q: Float[Tensor, "*batch n d_k"], K: Float[Tensor, "*batch m d_k"]
) -> Float[Tensor, "*batch n m"]:
    """Luong's dot: the paper's score without the root."""
    return Q @ K.transpose(-2, -1)


class GeneralScore(nn.Module):
    """Luong's multiplicative compatibility: q W k, one W for each head."""

    def __init__(self, h: int, d_k: int) -> None:
        super().__init__()
        # Scores start with variance 1, as if scaled.
        self.W = nn.Parameter(torch.randn(h, d_k, d_k) / d_k)

    def forward(
        self, Q: Float[Tensor, "batch h n d_k"], K: Float[Tensor, "batch h m d_k"]
    ) -> Float[Tensor, "batch h n m"]:
        """Score every query against every key."""
        return Q @ self.W @ K.transpose(-2, -1)


class AdditiveScore(nn.Module):
    """Bahdanau's additive compatibility v tanh(W_q q + W_k k): one hidden layer."""

    def __init__(self, h: int, d_k: int) -> None:
        super().__init__()
        self.W_q = nn.Parameter(torch.randn(h, d_k, d_k) / math.sqrt(d_k))
        self.W_k = nn.Parameter(torch.randn(h, d_k, d_k) / math.sqrt(d_k))
        self.v = nn.Parameter(torch.randn(h, 1, 1, d_k) / math.sqrt(d_k))

    def forward(
        self, Q: Float[Tensor, "batch h n d_k"], K: Float[Tensor, "batch h m d_k"]
    ) -> Float[Tensor, "batch h n m"]:
        """Score every query against every key; memory grows with n m d_k, not n m."""
        hidden = (Q @ self.W_q).unsqueeze(-2) + (K @ self.W_k).unsqueeze(-3)
        return (hidden.tanh() * self.v).sum(-1)


# book/11-8-other-scores-and-kernels.ipynb, cell kernel
Score = Literal["scaled", "unscaled", "general", "additive"]


def attention_kernel(score: Score, h: int, d_k: int, dropout: float = 0.0) -> Attention:
    """The kernel with that score, for h heads whose queries and keys have width d_k.

    In training, a share `dropout` of the weights is dropped.
    """
    if score not in get_args(Score):
        known = ", ".join(get_args(Score))
        raise ValueError(f"score={score!r}: must be one of {known}")
    if score == "scaled":
        return FusedAttention(dropout)
    if score == "unscaled":
        return Attention(unscaled_dot_product, dropout)
    if score == "general":
        return Attention(GeneralScore(h, d_k), dropout)
    return Attention(AdditiveScore(h, d_k), dropout)


# book/11-8-other-scores-and-kernels.ipynb, cell wrapped-attention
Change = Callable[[Tensor, Tensor], Tensor]  # heads and weights to other heads


class WrappedAttention(Attention):
    """What another kernel computes, written out; `change` may put other heads there."""

    def __init__(self, kernel: Attention, change: Change) -> None:
        super().__init__(kernel.score)
        self.kernel, self.change = kernel, change

    def attend(
        self, Q: Tensor, K: Tensor, V: Tensor, visible: Tensor | None = None
    ) -> tuple[Float[Tensor, "*batch n d_v"], Float[Tensor, "*batch n m"]]:
        """What `change` makes of heads and weights, and the weights."""
        heads, weights = self.kernel.attend(Q, K, V, visible)
        return self.change(heads, weights), weights


@contextmanager
def wrapped_attention(
    model: nn.Module, changes: Mapping[str, Change]
) -> Iterator[None]:
    """Within it, what these kernels of `model` compute is changed on its way out."""
    kernels = {name: model.get_submodule(name) for name in changes}
    try:
        for name, kernel in kernels.items():
            assert isinstance(kernel, Attention)
            model.set_submodule(name, WrappedAttention(kernel, changes[name]))
        yield
    finally:
        for name, kernel in kernels.items():
            model.set_submodule(name, kernel)


# book/11-8-other-scores-and-kernels.ipynb, cell recorded-attention
@contextmanager
def recorded_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the weights of every attention of `model` while the block runs, by name.

    Each entry is (batch, h, queries, keys), that of the last call.
    """
    recorded: dict[str, Tensor] = {}

    def record(name: str, heads: Tensor, weights: Tensor) -> Tensor:
        recorded[name.removesuffix(".attention")] = weights.detach()
        return heads

    changes = {
        name: partial(record, name)
        for name, kernel in model.named_modules()
        if isinstance(kernel, Attention) and not name.endswith(".kernel")
    }
    with wrapped_attention(model, changes):
        yield recorded
