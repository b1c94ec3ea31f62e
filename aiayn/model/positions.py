# Made by `make export` from book/1-paper/3-5-positional-encoding.ipynb
"""Sinusoidal, learned and relative positions, and none."""

# book/1-paper/3-5-positional-encoding.ipynb, cell no-positions
import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from aiayn.errors import InputError
from aiayn.model.attention import (
    Attention,
    Compatibility,
    attention_weights,
    scaled_dot_product,
)


class NoPositions(nn.Module):
    """Leave x as it is: order is unknown, or encoded elsewhere."""

    def forward(
        self, x: Float[Tensor, "batch n d_model"], start: int = 0
    ) -> Float[Tensor, "batch n d_model"]:
        """Return x."""
        return x


# book/1-paper/3-5-positional-encoding.ipynb, cell sinusoidal-encoding
def sinusoidal_encoding(n: int, d_model: int) -> Float[Tensor, "n d_model"]:
    """The paper's table: sine in even columns, cosine in odd ones (section 3.5).

    Parameters
    ----------
    n : int
        Positions, from 0.
    d_model : int
        Columns; an odd number leaves the last sine without its cosine.
    """
    with torch.device("cpu"):  # some GPUs have no float64
        positions = torch.arange(n, dtype=torch.float64)[:, None]
        columns = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = positions * 10000 ** (-columns / d_model)
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)
    return pairs.flatten(1)[:, :d_model].float().to(torch.get_default_device())


# book/1-paper/3-5-positional-encoding.ipynb, cell sinusoidal-positions
class SinusoidalPositions(nn.Module):
    """Add the sinusoidal encoding; its table, of `n` rows at first, grows as needed."""

    def __init__(self, d_model: int, n: int = 256) -> None:
        super().__init__()
        self.table: Tensor
        self.register_buffer("table", sinusoidal_encoding(n, d_model), persistent=False)

    def forward(
        self, x: Float[Tensor, "batch n d_model"], start: int = 0
    ) -> Float[Tensor, "batch n d_model"]:
        """Add positions `start`, `start` + 1, … to `x`."""
        end = start + x.shape[1]
        if end > len(self.table):
            self.table = sinusoidal_encoding(2 * end, x.shape[-1]).to(self.table)
        return x + self.table[start:end]


# book/1-paper/3-5-positional-encoding.ipynb, cell learned-positions
class LearnedPositions(nn.Module):
    """Add a learned vector for each position (Table 3, row E).

    Parameters
    ----------
    d_model, n : int
        Width; how many positions there are. A longer sequence is an InputError.
    """

    def __init__(self, d_model: int, n: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(n, d_model) / d_model**0.5)

    def forward(
        self, x: Float[Tensor, "batch n d_model"], start: int = 0
    ) -> Float[Tensor, "batch n d_model"]:
        """Add positions `start`, `start` + 1, … to `x`."""
        end = start + x.shape[1]
        if end > len(self.table):
            raise InputError(
                f"a sequence of {end} tokens, but only {len(self.table)} positions were"
                " learned: split the sentence, or train with a greater max_length"
            )
        return x + self.table[start:end]

    def extra_repr(self) -> str:
        """Positions and width, for `print`."""
        return "{}, {}".format(*self.table.shape)


# book/1-paper/3-5-positional-encoding.ipynb, cell relative-positions
class RelativePositions(nn.Module):
    """What distance adds to self-attention (Shaw et al. 2018), the same for every head.

    Parameters
    ----------
    d_k, d_v : int
        Width of a head's keys and values.
    max_distance : int
        Distances beyond this, to the left or right, count as this one.
    """

    def __init__(self, d_k: int, d_v: int, max_distance: int = 16) -> None:
        super().__init__()
        self.max_distance = max_distance
        keys, vectors = (
            torch.empty(2 * max_distance + 1, width) for width in (d_k, d_v)
        )
        self.keys = nn.Parameter(nn.init.xavier_uniform_(keys))
        self.vectors = nn.Parameter(nn.init.xavier_uniform_(vectors))

    def distances(self, n: int, m: int) -> Int[Tensor, "n m"]:
        """Row of the tables for each of the last n queries and m keys."""
        at = torch.arange(m, device=self.keys.device)
        return (at - at[m - n :, None]).clamp(
            -self.max_distance, self.max_distance
        ) + self.max_distance

    def scores(
        self, Q: Float[Tensor, "batch h n d_k"], m: int
    ) -> Float[Tensor, "batch h n m"]:
        """Each query times the key of each distance, without an (n, m, d_k) table."""
        index = self.distances(Q.shape[-2], m).expand(*Q.shape[:2], -1, -1)
        return (Q @ self.keys.T).gather(-1, index)

    def values(
        self, weights: Float[Tensor, "batch h n m"]
    ) -> Float[Tensor, "batch h n d_v"]:
        """The distance vectors, summed with the weights that fall on each."""
        index = self.distances(*weights.shape[-2:]).expand_as(weights)
        per_distance = weights.new_zeros(*weights.shape[:-1], len(self.vectors))
        return per_distance.scatter_add(-1, index, weights) @ self.vectors


# book/1-paper/3-5-positional-encoding.ipynb, cell relative-attention
class RelativeAttention(Attention):
    """Attention by distance, too: `relative` adds to the scores and the sums."""

    def __init__(
        self,
        relative: RelativePositions,
        score: Compatibility = scaled_dot_product,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(score, dropout)
        self.relative = relative

    def attend(
        self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
    ) -> tuple[Float[Tensor, "batch h n d_v"], Float[Tensor, "batch h n m"]]:
        """The weighted sums of the values, and the weights, before any is dropped."""
        by_distance = self.relative.scores(Q, K.shape[-2]) / math.sqrt(Q.shape[-1])
        weights = attention_weights(self.score(Q, K) + by_distance, mask)
        kept = F.dropout(weights, self.dropout, self.training)
        return kept @ V + self.relative.values(kept), weights
