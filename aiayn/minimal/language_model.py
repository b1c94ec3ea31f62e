# Made by `make export` from book/2-since-2017/1-since-2017.ipynb
"""A small decoder-only language model of today, and how it writes."""

# book/2-since-2017/1-since-2017.ipynb, cell imports
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.minimal.transformer import (
    BOS,
    EOS,
    PAD,
    Embeddings,
    attention,
)


# book/2-since-2017/1-since-2017.ipynb, cell norms
class PostNorm(nn.Module):
    """norm(x + Dropout(Sublayer(x))), as in the paper (section 3.1)."""

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm, self.dropout = norm, nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Add to x what the sub-layer makes of it."""
        return self.norm(x + self.dropout(sublayer(x)))


class PreNorm(PostNorm):
    """x + Dropout(Sublayer(norm(x))) (Xiong and others, 2020)."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Add to x what the sub-layer makes of x, normalised."""
        return x + self.dropout(sublayer(self.norm(x)))


# book/2-since-2017/1-since-2017.ipynb, cell rms-norm
class RMSNorm(nn.Module):
    """Divide by the root of the mean square, and scale (Zhang and Sennrich, 2019)."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each vector of x, (…, d_model)."""
        mean_square = x.square().mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(mean_square + 1e-6) * self.weight


# book/2-since-2017/1-since-2017.ipynb, cell gated
class GatedFeedForward(nn.Module):
    """(SiLU(x W_1) * x W_3) W_2, as large as the paper's network (Shazeer, 2020)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        inner = 2 * d_ff // 3
        self.W_1 = nn.Linear(d_model, inner, bias=False)
        self.W_2 = nn.Linear(inner, d_model, bias=False)
        self.W_3 = nn.Linear(d_model, inner, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each position of x by itself."""
        return self.W_2(F.silu(self.W_1(x)) * self.W_3(x))


# book/2-since-2017/1-since-2017.ipynb, cell rotary
def rotate(x: Tensor, start: int = 0) -> Tensor:
    """Turn queries or keys, (…, length, d_k), by their positions, counted from `start`.

    Rotary positions (Su and others, 2021), in the order of transformers: component i is
    paired with i + d_k / 2.
    """
    length, d_k = x.shape[-2:]
    divisors = 10000 ** (torch.arange(0, d_k, 2, device=x.device) / d_k)
    positions = torch.arange(start, start + length, device=x.device)
    angle = positions[:, None] / divisors  # (length, d_k / 2)
    first_half, second_half = x.chunk(2, dim=-1)
    rotated = [
        first_half * angle.cos() - second_half * angle.sin(),
        second_half * angle.cos() + first_half * angle.sin(),
    ]
    return torch.cat(rotated, dim=-1)


# book/2-since-2017/1-since-2017.ipynb, cell plain-embeddings
class PlainEmbeddings(Embeddings):
    """Embeddings of tokens, to which no positions are added."""

    def forward(self, tokens: Tensor) -> Tensor:
        """Embed tokens: (batch, length) to (batch, length, d_model)."""
        return self.dropout(self.weight[tokens])


# book/2-since-2017/1-since-2017.ipynb, cell cache
@dataclass
class Cache:
    """Keys and values of one attention for all tokens so far, in their groups."""

    K: Tensor | None = None  # (batch, groups, length, d_k)
    V: Tensor | None = None

    @property
    def length(self) -> int:
        """How many tokens it holds."""
        return 0 if self.K is None else self.K.shape[2]

    def append(self, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        """Add those of the next tokens; all that there are."""
        if self.K is not None and self.V is not None:
            K, V = torch.cat([self.K, K], dim=2), torch.cat([self.V, V], dim=2)
        self.K, self.V = K, V
        return K, V

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens."""
        if self.K is not None and self.V is not None:
            self.K, self.V = self.K[:, :, :length], self.V[:, :, :length]


# book/2-since-2017/1-since-2017.ipynb, cell grouped
class GroupedQueryAttention(nn.Module):
    """h heads in groups; those of a group share keys and values (Ainslie, 2023)."""

    def __init__(self, d_model: int, h: int, groups: int, rotary: bool = True) -> None:
        super().__init__()
        self.d_k, self.group_size, self.rotary = d_model // h, h // groups, rotary
        self.W_Q = nn.Linear(d_model, h * self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, groups * self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, groups * self.d_k, bias=False)
        self.W_O = nn.Linear(h * self.d_k, d_model, bias=False)

    def forward(
        self, x: Tensor, y: Tensor, mask: Tensor, cache: Cache | None = None
    ) -> Tensor:
        """Let every position of x attend to the visible ones of the cache and y."""
        Q, K, V = (
            W(z).unflatten(-1, (-1, self.d_k)).transpose(1, 2)
            for W, z in ((self.W_Q, x), (self.W_K, y), (self.W_V, y))
        )
        if self.rotary:
            start = cache.length if cache else 0
            Q, K = rotate(Q, start), rotate(K, start)
        if cache is not None:
            K, V = cache.append(K, V)
        K, V = (z.repeat_interleave(self.group_size, dim=1) for z in (K, V))
        return self.W_O(attention(Q, K, V, mask).transpose(1, 2).flatten(2))


# book/2-since-2017/1-since-2017.ipynb, cell block
class Block(nn.Module):
    """A layer of a language model: attention to the past, and a gated network."""

    def __init__(
        self, d_model: int, d_ff: int, h: int, groups: int, dropout: float
    ) -> None:
        super().__init__()
        self.attention = GroupedQueryAttention(d_model, h, groups)
        self.feed_forward = GatedFeedForward(d_model, d_ff)
        norms = RMSNorm(d_model), RMSNorm(d_model)
        self.residuals = nn.ModuleList(PreNorm(norm, dropout) for norm in norms)

    def forward(self, x: Tensor, mask: Tensor, cache: Cache | None) -> Tensor:
        """Transform x, (batch, length, d_model)."""
        attend, transform = self.residuals
        x = attend(x, lambda x: self.attention(x, x, mask, cache))
        return transform(x, self.feed_forward)


# book/2-since-2017/1-since-2017.ipynb, cell language-model
class LanguageModel(nn.Module):
    """A decoder alone: from the tokens of a text, logits of what follows each."""

    def __init__(
        self,
        vocabulary_size: int,
        N: int = 12,
        d_model: int = 512,
        d_ff: int = 2048,
        h: int = 8,
        groups: int = 2,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        shape = (d_model, d_ff, h, groups, dropout)
        self.embeddings = PlainEmbeddings(vocabulary_size, d_model, dropout)
        self.layers = nn.ModuleList(Block(*shape) for _ in range(N))
        self.norm = RMSNorm(d_model)

    def forward(self, tokens: Tensor, caches: Sequence[Cache] | None = None) -> Tensor:
        """Logits, (batch, n, vocabulary), for tokens, (batch, n), behind the cached."""
        x, n = self.embeddings(tokens), tokens.shape[1]
        past = caches[0].length if caches else 0
        mask = torch.ones(n, past + n, dtype=torch.bool, device=x.device).tril(past)
        for k, layer in enumerate(self.layers):
            x = layer(x, mask, caches[k] if caches else None)
        return self.embeddings.logits(self.norm(x))


# book/2-since-2017/1-since-2017.ipynb, cell joined
def concatenate_pairs(
    pairs: Sequence[tuple[list[int], list[int]]],
) -> tuple[Tensor, Tensor]:
    """Each pair as one text, and what to predict, both (batch, length), padded.

    A text is source, BOS and target, whose last token, EOS, is only predicted. Nothing
    is predicted where a source token is read: the label is PAD.
    """
    texts = [torch.tensor([*source, BOS, *target[:-1]]) for source, target in pairs]
    labels = [torch.tensor([PAD] * len(source) + target) for source, target in pairs]
    both = (
        nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
        for rows in (texts, labels)
    )
    return next(both), next(both)


# book/2-since-2017/1-since-2017.ipynb, cell write
@torch.no_grad()
def generate(model: LanguageModel, prompts: Tensor, longest: int = 50) -> Tensor:
    """Greedy continuations of prompts that are equally long, (batch, n)."""
    caches = [Cache() for _ in model.layers]
    texts = tokens = prompts
    ended = torch.zeros_like(prompts[:, :1], dtype=torch.bool)
    while texts.shape[1] < prompts.shape[1] + longest and not ended.all():
        tokens = model(tokens, caches)[:, -1:].argmax(dim=-1)
        texts, ended = torch.cat([texts, tokens], dim=1), ended | (tokens == EOS)
    return texts
