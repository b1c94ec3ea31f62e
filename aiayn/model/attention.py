# Made by `make export` from book/1-paper/3-2-attention.ipynb
"""Scaled dot-product attention, causal and padding masks, and multi-head attention."""

# book/1-paper/3-2-attention.ipynb, cell imports
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from aiayn.model.kv_cache import KVCache
from aiayn.model.projections import HeadProjections

# Shapes: *batch is any leading axes, #n is n or 1, _ is anything.


# book/1-paper/3-2-attention.ipynb, cell masks
def causal_mask(
    n: int,
    m: int | None = None,
    device: torch.device | None = None,
) -> Bool[Tensor, "n m"]:
    """Which of `m` keys each of the last `n` positions may attend to: all up to itself.

    There are `n` keys unless earlier positions are in a cache. True allows attention
    (section 3.2.3).
    """
    m = n if m is None else m
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(m - n)


def padding_mask(
    tokens: Int[Tensor, "batch n"],
    pad_id: int,
) -> Bool[Tensor, "batch 1 1 n"]:
    """True where a key is a word and not `pad_id`, to fit (batch, h, queries, keys)."""
    return (tokens != pad_id)[:, None, None, :]


def attention_weights(
    scores: Float[Tensor, "*batch n m"], mask: Bool[Tensor, "... m"] | None = None
) -> Float[Tensor, "*batch n m"]:
    """Turn scores into weights that sum to one over the visible keys (section 3.2.1).

    `mask` is True where a query may attend to a key, in any shape that broadcasts
    to the scores'. The rest is set to minus infinity (section 3.2.3), so its weight is
    exactly zero. With a mask, a query that sees nothing, as all are hidden or
    the visible ones score minus infinity, has weights of zero, so its output and its
    gradients are zero: the rule of every attention here, and of PyTorch's.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    scores = scores.masked_fill(~mask, -math.inf)
    nothing = (scores == -math.inf).all(dim=-1, keepdim=True)  # else 0/0, NaN
    return scores.masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing, 0.0)


# book/1-paper/3-2-attention.ipynb, cell attend
Compatibility = Callable[[Tensor, Tensor], Tensor]  # of queries and keys


def scaled_dot_product(
    Q: Float[Tensor, "*batch n d_k"], K: Float[Tensor, "*batch m d_k"]
) -> Float[Tensor, "*batch n m"]:
    """The paper's compatibility function, of every query and key (section 3.2.1)."""
    return Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])


def attend(
    Q: Float[Tensor, "*batch n d_k"],
    K: Float[Tensor, "*batch m d_k"],
    V: Float[Tensor, "*batch m d_v"],
    mask: Bool[Tensor, "... m"] | None = None,
    score: Compatibility = scaled_dot_product,
) -> tuple[Float[Tensor, "*batch n d_v"], Float[Tensor, "*batch n m"]]:
    """Attention written out (section 3.2.1): sums of the values, and their weights.

    `mask` is True where a query may attend to a key; `score` compares each query
    with each key.
    """
    weights = attention_weights(score(Q, K), mask)
    return weights @ V, weights


# book/1-paper/3-2-attention.ipynb, cell attention
class Attention(nn.Module):
    """Attention of all heads, written out, with any `score` (section 3.2.1).

    In training, a share `dropout` of the weights is dropped (section 6.3).
    """

    def __init__(
        self, score: Compatibility = scaled_dot_product, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.score, self.dropout = score, dropout

    def attend(
        self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
    ) -> tuple[Float[Tensor, "*batch n d_v"], Float[Tensor, "*batch n m"]]:
        """The weighted sums of the values, and the weights, before any is dropped."""
        weights = attention_weights(self.score(Q, K), mask)
        return F.dropout(weights, self.dropout, self.training) @ V, weights

    def forward(
        self,
        Q: Float[Tensor, "*batch n d_k"],
        K: Float[Tensor, "*batch m d_k"],
        V: Float[Tensor, "*batch m d_v"],
        mask: Bool[Tensor, "... m"] | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "*batch n d_v"]:
        """Weighted sums of the values; `causal` hides later positions."""
        if causal:
            past = causal_mask(Q.shape[-2], K.shape[-2], Q.device)
            mask = past if mask is None else mask & past
        return self.attend(Q, K, V, mask)[0]


# book/1-paper/3-2-attention.ipynb, cell fused-attention
class FusedAttention(Attention):
    """The scaled dot product by PyTorch's kernel, which need not hold all weights."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__(scaled_dot_product, dropout)

    def forward(
        self,
        Q: Tensor,
        K: Tensor,
        V: Tensor,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "*batch n d_v"]:
        """As `Attention`; a purely causal mask becomes a flag, which skips half."""
        if mask is not None and mask.dtype != torch.bool:
            raise TypeError(
                f"mask is {mask.dtype}: give a bool, True where a query may look"
            )
        if causal and (mask is not None or Q.shape[-2] != K.shape[-2]):
            past, causal = causal_mask(Q.shape[-2], K.shape[-2], Q.device), False
            mask = past if mask is None else mask & past
        return F.scaled_dot_product_attention(
            Q,
            K,
            V,
            attn_mask=None if mask is None else torch.atleast_2d(mask),
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=causal,
        )


# book/1-paper/3-2-attention.ipynb, cell multi-head-attention
class MultiHeadAttention(nn.Module):
    """h attentions side by side, each with projections of its own (section 3.2.2).

    Parameters
    ----------
    d_model, h, d_k, d_v : int
        Width of what goes in and out; number of heads, and their widths: d_model / h
        unless given.
    bias : bool
        Whether projections have a bias; the paper's have none.
    attention : Attention, optional
        What computes the heads: `FusedAttention` unless given.
    """

    def __init__(
        self,
        d_model: int,
        h: int,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = False,
        attention: Attention | None = None,
    ) -> None:
        super().__init__()
        if (d_k is None or d_v is None) and d_model % h:
            raise ValueError(
                f"d_model={d_model} does not divide into h={h} heads: give d_k and d_v"
            )
        self.d_model, self.h = d_model, h
        self.d_k, self.d_v = d_k or d_model // h, d_v or d_model // h
        self.projections = HeadProjections(d_model, h, self.d_k, self.d_v, bias)
        self.attention = FusedAttention() if attention is None else attention
        self.W_O = nn.Linear(h * self.d_v, d_model, bias)
        nn.init.xavier_uniform_(self.W_O.weight)
        if bias:
            nn.init.zeros_(self.W_O.bias)

    # book/1-paper/3-2-attention.ipynb, cell multi-head-project
    def project(
        self,
        x: Tensor,
        memory: Tensor | None,
        cache: KVCache | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of `x`; keys and values of the memory, or of `x` if there is none."""
        if memory is None:
            Q, K, V = self.projections.project(x)
            return (Q, K, V) if cache is None else (Q, *cache.append(K, V))
        (Q,) = self.projections.project(x, slice(1))
        if cache is not None and cache.length:
            return Q, *cache.kept
        K, V = self.projections.project(memory, slice(1, 3))
        return (Q, K, V) if cache is None else (Q, *cache.append(K, V))

    def extra_repr(self) -> str:
        """Number and widths of the heads, for `print`."""
        return f"h={self.h}, d_k={self.d_k}, d_v={self.d_v}"

    # book/1-paper/3-2-attention.ipynb, cell multi-head-forward
    def forward(
        self,
        x: Float[Tensor, "rows n d_model"],
        memory: Float[Tensor, "rows m d_model"] | None = None,
        mask: Bool[Tensor, "... _"] | None = None,
        causal: bool = False,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "rows n d_model"]:
        """Let `x` (with a cache: the newest positions) attend to `memory`, or `x`."""
        Q, K, V = self.project(x, memory, cache)
        heads = self.attention(Q, K, V, mask, causal)
        return self.W_O(heads.transpose(1, 2).flatten(2))
