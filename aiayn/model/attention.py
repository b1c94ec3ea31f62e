"""Attention (paper, section 3.2).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/03-2-attention.ipynb
"""

__all__ = [
    "FEW",
    "causal_mask",
    "padding_mask",
    "attention_weights",
    "GeneralScore",
    "AdditiveScore",
    "Score",
    "RelativeTerms",
    "attend",
    "Attention",
    "HeadProjections",
    "queries_keys_values",
    "attend_with_beams",
    "MultiHeadAttention",
    "recorded_attention",
]


# book/03-2-attention.ipynb, cell imports
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal, Protocol, get_args, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from aiayn.fast_paths import small_products
from aiayn.model.cache import KeyValueCache, own_positions, stack_beams, unstack_beams

FEW = 64  # queries; beyond these the kernel computes without gradients, too


# book/03-2-attention.ipynb, cell masks
def causal_mask(n: int, m: int | None = None, device: torch.device | None = None) -> Bool[Tensor, "n m"]:
    """Which of `m` keys each of the last `n` positions may attend to: itself and all before it.

    Parameters
    ----------
    n : int
        Queries.
    m : int, optional
        Keys; `n` unless earlier positions stand in a cache.
    device : torch.device, optional
        Where to make the mask.

    Returns
    -------
    Tensor
        True where attention is allowed (section 3.2.3).
    """
    m = n if m is None else m
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(m - n)


def padding_mask(tokens: Int[Tensor, "batch n"], pad_id: int) -> Bool[Tensor, "batch 1 1 n"]:
    """Which keys are words and not `pad_id`: True where one is, shaped to fit (batch, h, queries, keys)."""
    return (tokens != pad_id)[:, None, None, :]


# book/03-2-attention.ipynb, cell attention-weights
def attention_weights(
    scores: Float[Tensor, "*batch n m"], visible: Bool[Tensor, "... #n m"] | None = None
) -> Float[Tensor, "*batch n m"]:
    """Turn scores into weights that sum to one over the visible keys (section 3.2.1).

    Parameters
    ----------
    scores : Tensor
        Compatibility of each query with each key.
    visible : Tensor, optional
        True where a query may attend to a key. The rest is set to minus infinity (section 3.2.3), so its
        weight is exactly zero. A query that may see nothing has no weights: its row is NaN.
    """
    if visible is not None:
        scores = scores.masked_fill(~visible, -math.inf)
    return scores.softmax(dim=-1)


# book/03-2-attention.ipynb, cell scores
class GeneralScore(nn.Module):
    """Luong's multiplicative compatibility: q W k, one W for each head."""

    def __init__(self, h: int, d_k: int) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.randn(h, d_k, d_k) / d_k)  # scores start with variance 1, as if scaled

    def forward(
        self, Q: Float[Tensor, "batch h n d_k"], K: Float[Tensor, "batch h m d_k"]
    ) -> Float[Tensor, "batch h n m"]:
        """Score every query against every key."""
        return Q @ self.W @ K.transpose(-2, -1)


class AdditiveScore(nn.Module):
    """Bahdanau's additive compatibility: v tanh(W_q q + W_k k), a network with one hidden layer."""

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


Score = Literal["scaled", "unscaled", "general", "additive"]


# book/03-2-attention.ipynb, cell relative-terms
@runtime_checkable
class RelativeTerms(Protocol):
    """What distance adds to attention: `aiayn.model.positions.RelativePositions` is one."""

    def scores(self, Q: Tensor, m: int) -> Tensor:
        """Terms for the scores of the last queries against m keys."""

    def values(self, weights: Tensor) -> Tensor:
        """Terms for the weighted sums."""


# book/03-2-attention.ipynb, cell attend
def attend(
    Q: Float[Tensor, "batch h n d_k"],
    K: Float[Tensor, "batch h m d_k"],
    V: Float[Tensor, "batch h m d_v"],
    visible: Bool[Tensor, "... #n m"] | None = None,
    scale: float | None = None,
    score: nn.Module | None = None,
    relative: RelativeTerms | None = None,
) -> tuple[Float[Tensor, "batch h n d_v"], Float[Tensor, "batch h n m"]]:
    """Attention written out (section 3.2.1); gives its weights too.

    Parameters
    ----------
    Q, K, V, visible : Tensor
        Queries, keys and values of every head; True where a query may attend to a key.
    scale : float, optional
        What dot products are multiplied by: 1 / sqrt(d_k) unless given.
    score : Module, optional
        Another compatibility function, such as `AdditiveScore`; it is not scaled.
    relative : RelativeTerms, optional
        What distance adds (`aiayn.model.positions.RelativePositions`).

    Returns
    -------
    heads, weights : Tensor
        The weighted sums of the values; the weights, which sum to one over the keys.
    """
    scale = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    scores = Q @ K.transpose(-2, -1) * scale if score is None else score(Q, K)
    if relative is not None:
        scores = scores + relative.scores(Q, K.shape[-2]) * scale
    weights = attention_weights(scores, visible)
    heads = weights @ V
    return (heads if relative is None else heads + relative.values(weights)), weights


# book/03-2-attention.ipynb, cell attention
class Attention(nn.Module):
    """Attention of all heads, by the fast kernel where that computes the same thing as `attend`.

    The `h` heads have queries and keys of width `d_k`; a `score` other than "scaled" compares them in another
    way, and `relative` is what distance adds.
    """

    def __init__(
        self, h: int, d_k: int, score: Score = "scaled", relative: RelativeTerms | None = None
    ) -> None:
        super().__init__()
        if score not in get_args(Score):
            raise ValueError(f"score={score!r}: must be one of {', '.join(get_args(Score))}")
        self.scale = 1.0 if score == "unscaled" else 1 / math.sqrt(d_k)
        learned = {"general": GeneralScore, "additive": AdditiveScore}
        self.score = learned[score](h, d_k) if score in learned else None
        self.relative = relative
        self.recorder: Callable[[Tensor], None] | None = None

    def forward(
        self,
        Q: Float[Tensor, "batch h n d_k"],
        K: Float[Tensor, "batch h m d_k"],
        V: Float[Tensor, "batch h m d_v"],
        visible: Bool[Tensor, "... #n m"] | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "batch h n d_v"]:
        """Weighted sums of the values; `causal` hides from each of the last n positions what follows it."""
        n, m = Q.shape[-2], K.shape[-2]
        if visible is not None and visible.dtype != torch.bool:
            raise TypeError(f"visible is {visible.dtype}: give a bool, True where a query may look")
        plain = self.score is None and self.relative is None and self.recorder is None
        if causal and n > 1 and not (plain and visible is None and n == m):
            mask = causal_mask(n, m, Q.device)
            visible = mask if visible is None else visible & mask
        if plain and (torch.is_grad_enabled() or Q.is_cuda or n == m or n > FEW):
            causal = causal and n > 1 and visible is None
            return F.scaled_dot_product_attention(
                Q, K, V, attn_mask=visible, is_causal=causal, scale=self.scale
            )
        with small_products():
            heads, weights = attend(Q, K, V, visible, self.scale, self.score, self.relative)
        if self.recorder is not None:
            self.recorder(weights.detach())
        return heads


# book/03-2-attention.ipynb, cell head-projections
class HeadProjections(nn.Linear):
    """W^Q, W^K and W^V of all heads as one matrix: one product where 3h would do (section 3.2.2)."""

    def __init__(self, d_model: int, h: int, d_k: int, d_v: int, bias: bool) -> None:
        self.h, self.widths = h, [h * d_k, h * d_k, h * d_v]
        super().__init__(d_model, sum(self.widths), bias)

    def reset_parameters(self) -> None:
        """Glorot for the three as one matrix, biases zero: as the paper's code and torch do."""
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def project(self, x: Float[Tensor, "batch n d_model"], parts: slice = slice(3)) -> list[Tensor]:
        """Some of queries, keys and values (parts 0, 1, 2), each shaped (batch, h, n, width)."""
        widths = self.widths[parts]
        start = sum(self.widths[: parts.start or 0])
        rows = slice(start, start + sum(widths))
        y = F.linear(x, self.weight[rows], None if self.bias is None else self.bias[rows])
        return [part.unflatten(-1, (self.h, -1)).transpose(1, 2) for part in y.split(widths, dim=-1)]


# book/03-2-attention.ipynb, cell queries-keys-values
def queries_keys_values(
    projections: HeadProjections,
    x: Tensor,
    memory: Tensor | None,
    cache: KeyValueCache | None,
    visible: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries of `x`; keys and values of the memory, or of `x` itself where there is none."""
    batch = len(x) if visible is None else len(visible)
    if memory is None:
        Q, K, V = projections.project(x)
        if cache is None:
            return Q, K, V
        return Q, *cache.append(stack_beams(K, batch), stack_beams(V, batch))
    (Q,) = projections.project(x, slice(1))
    if cache is not None and cache.length:  # the memory stays the same: once is enough
        return Q, *cache.contents()
    K, V = projections.project(memory, slice(1, 3))
    return (Q, K, V) if cache is None else (Q, *cache.append(K, V))


# book/03-2-attention.ipynb, cell attend-with-beams
def attend_with_beams(
    attention: Attention, Q: Tensor, K: Tensor, V: Tensor, visible: Tensor | None, causal: bool, kept: bool
) -> Float[Tensor, "rows n width"]:
    """All heads side by side, where a row of K and V serves all beams of a sentence.

    `visible` then has a row for each sentence: the beams' newest positions, one beam after another, as
    queries, and as keys all that was ever kept. `kept` says that it is the beams who wrote the keys.
    """
    batch, rows = len(K), len(Q)
    if kept and visible is not None and attention.relative is not None:
        K, V = (own_positions(each, visible, rows // batch) for each in (K, V))
        heads = attention(Q, K, V, None, causal=True)
    else:
        heads = unstack_beams(attention(stack_beams(Q, batch), K, V, visible, causal), rows)
    return heads.transpose(1, 2).flatten(2)


# book/03-2-attention.ipynb, cell multi-head-attention
class MultiHeadAttention(nn.Module):
    """h attentions side by side, each with projections of its own (section 3.2.2).

    Parameters
    ----------
    d_model, h, d_k, d_v : int
        Width of what goes in and out; number of heads, and their widths: d_model / h unless given.
    score, bias, relative
        As for `Attention`; whether projections have a bias (the paper's have none).
    """

    def __init__(
        self,
        d_model: int,
        h: int,
        d_k: int | None = None,
        d_v: int | None = None,
        score: Score = "scaled",
        bias: bool = False,
        relative: RelativeTerms | None = None,
    ) -> None:
        super().__init__()
        if (d_k is None or d_v is None) and d_model % h:
            raise ValueError(f"d_model={d_model} does not divide into h={h} heads: give d_k and d_v")
        self.d_model, self.h, self.d_k, self.d_v = d_model, h, d_k or d_model // h, d_v or d_model // h
        self.projections = HeadProjections(d_model, h, self.d_k, self.d_v, bias)
        self.attention = Attention(h, self.d_k, score, relative)
        self.W_O = nn.Linear(h * self.d_v, d_model, bias)
        nn.init.xavier_uniform_(self.W_O.weight)
        if bias:
            nn.init.zeros_(self.W_O.bias)

    def forward(
        self,
        x: Float[Tensor, "rows n d_model"],
        memory: Float[Tensor, "batch m d_model"] | None = None,
        visible: Bool[Tensor, "... _ _"] | None = None,
        causal: bool = False,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "rows n d_model"]:
        """Let each position of `x`, with a cache the newest ones, attend to `memory`, or to `x` itself."""
        Q, K, V = queries_keys_values(self.projections, x, memory, cache, visible)
        kept = memory is None and cache is not None
        return self.W_O(attend_with_beams(self.attention, Q, K, V, visible, causal, kept))


# book/03-2-attention.ipynb, cell recorded-attention
@contextmanager
def recorded_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the weights of every attention of `model` while the block runs, by the module's name.

    Each entry is (batch, h, queries, keys), that of the last call.
    """
    weights: dict[str, Tensor] = {}
    modules = {name: module for name, module in model.named_modules() if isinstance(module, Attention)}
    before = {module: module.recorder for module in modules.values()}
    try:
        for name, module in modules.items():
            module.recorder = partial(weights.__setitem__, name.removesuffix(".attention"))
        yield weights
    finally:
        for module, recorder in before.items():
            module.recorder = recorder
