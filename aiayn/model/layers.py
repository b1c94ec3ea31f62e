# Made by `make export` from book/1-paper/3-1-encoder-and-decoder-stacks.ipynb
"""Encoder and decoder layers with their residual connections and layer norms."""

# book/1-paper/3-1-encoder-and-decoder-stacks.ipynb, cell imports
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from aiayn.model.attention import MultiHeadAttention
from aiayn.model.dropout import Dropout
from aiayn.model.feed_forward import FeedForward
from aiayn.model.kv_cache import KVCache

# book/1-paper/3-1-encoder-and-decoder-stacks.ipynb, cell residual
Norm = Literal["post", "pre"]


class Residual(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))) around a sub-layer (sections 3.1 and 5.4).

    Parameters
    ----------
    d_model : int
        Width of x.
    dropout : float
        Share of the sub-layer's output that is dropped in training.
    norm : {"post", "pre"}
        Normalise the sum, as the paper does, or the sub-layer's input:
        x + Dropout(Sublayer(LayerNorm(x))).
    """

    def __init__(self, d_model: int, dropout: float = 0.1, norm: Norm = "post") -> None:
        super().__init__()
        if norm not in get_args(Norm):
            raise ValueError(
                f"norm={norm!r}: must be one of {', '.join(get_args(Norm))}"
            )
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)
        self.pre = norm == "pre"

    def forward(
        self, x: Float[Tensor, "batch n d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch n d_model"]:
        """Apply `sublayer` with its residual connection."""
        if self.pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


# book/1-paper/3-1-encoder-and-decoder-stacks.ipynb, cell encoder-layer
class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each residual (section 3.1)."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        dropout: float = 0.1,
        norm: Norm = "post",
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        self.residuals = nn.ModuleList(
            Residual(self_attention.d_model, dropout, norm) for _ in range(2)
        )

    def forward(
        self,
        x: Float[Tensor, "batch n d_model"],
        mask: Bool[Tensor, "... n"] | None = None,
    ) -> Float[Tensor, "batch n d_model"]:
        """Transform x; no position attends to one that `mask` hides."""
        x = self.residuals[0](x, lambda x: self.self_attention(x, mask=mask))
        return self.residuals[1](x, self.feed_forward)


# book/1-paper/3-1-encoder-and-decoder-stacks.ipynb, cell encoder
class Encoder(nn.Module):
    """A stack of layers, each on the one before; with pre-norm, a norm at the end."""

    def __init__(self, layers: Iterable[EncoderLayer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = final_norm(self.layers)

    def forward(
        self,
        x: Float[Tensor, "batch n d_model"],
        mask: Bool[Tensor, "... n"] | None = None,
    ) -> Float[Tensor, "batch n d_model"]:
        """Encode embedded source positions into the memory."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


def final_norm(layers: nn.ModuleList) -> nn.Module:
    """The norm that pre-norm layers need after the last; post-norm ones end in one."""
    residual = next((m for m in layers.modules() if isinstance(m, Residual)), None)
    if residual is None or not residual.pre:
        return nn.Identity()
    return nn.LayerNorm(residual.norm.normalized_shape)


# book/1-paper/3-1-encoder-and-decoder-stacks.ipynb, cell layer-cache
class LayerCache:
    """Keys and values kept by a decoder layer: of the target so far, of the memory."""

    def __init__(self) -> None:
        self.target = KVCache()
        self.memory = KVCache()

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; one may be named more than once."""
        self.target.select(rows)
        self.memory.select(rows)


# book/1-paper/3-1-encoder-and-decoder-stacks.ipynb, cell decoder-layer
class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention, feed-forward (section 3.1).

    Around each of the three is a `Residual` with that `dropout` and `norm`.
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        dropout: float = 0.1,
        norm: Norm = "post",
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.residuals = nn.ModuleList(
            Residual(self_attention.d_model, dropout, norm) for _ in range(3)
        )

    def forward(
        self,
        x: Float[Tensor, "batch m d_model"],
        memory: Float[Tensor, "batch n d_model"],
        mask: Bool[Tensor, "batch 1 1 n"] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "batch m d_model"]:
        """Transform target positions; `mask` hides padding in the memory."""
        target, source = (None, None) if cache is None else (cache.target, cache.memory)
        x = self.residuals[0](
            x, lambda x: self.self_attention(x, causal=True, cache=target)
        )
        x = self.residuals[1](
            x, lambda x: self.cross_attention(x, memory, mask, cache=source)
        )
        return self.residuals[2](x, self.feed_forward)


# book/1-paper/3-1-encoder-and-decoder-stacks.ipynb, cell decoder
class Decoder(nn.Module):
    """A stack of decoder layers over one memory."""

    def __init__(self, layers: Iterable[DecoderLayer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = final_norm(self.layers)

    def forward(
        self,
        x: Float[Tensor, "batch m d_model"],
        memory: Float[Tensor, "batch n d_model"],
        mask: Bool[Tensor, "batch 1 1 n"] | None = None,
        caches: Sequence[LayerCache | None] | None = None,
    ) -> Float[Tensor, "batch m d_model"]:
        """Decode embedded target positions; with a cache per layer, only new ones."""
        caches = caches or [None] * len(self.layers)
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, memory, mask, cache)
        return self.norm(x)
