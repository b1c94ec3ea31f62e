# Made by `make export` from book/3-workshop/10-attention-scores.ipynb
"""Additive and other scores in place of the scaled dot product."""

# book/3-workshop/10-attention-scores.ipynb, cell scores-imports
import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from aiayn.model.attention import Attention, FusedAttention


# book/3-workshop/10-attention-scores.ipynb, cell scores
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


# book/3-workshop/10-attention-scores.ipynb, cell kernel
Score = Literal["scaled", "unscaled", "general", "additive"]


def make_attention(score: Score, h: int, d_k: int, dropout: float = 0.0) -> Attention:
    """The attention function with that score, for h heads of width d_k.

    In training, a share `dropout` of the weights is dropped.
    """
    if score not in get_args(Score):
        names = ", ".join(get_args(Score))
        raise ValueError(f"score={score!r}: must be one of {names}")
    if score == "scaled":
        return FusedAttention(dropout)
    if score == "unscaled":
        return Attention(unscaled_dot_product, dropout)
    if score == "general":
        return Attention(GeneralScore(h, d_k), dropout)
    return Attention(AdditiveScore(h, d_k), dropout)
