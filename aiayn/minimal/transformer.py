# Made by `make export` from book/0-start/1-one-page.ipynb
"""The whole model of the paper in plain PyTorch, with training and greedy decoding."""

# book/0-start/1-one-page.ipynb, cell imports
import math
from collections.abc import Iterable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PAD, UNK, BOS, EOS = range(4)  # padding, an unknown word, start and end of a sentence


# book/0-start/1-one-page.ipynb, cell attention
def attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor) -> Tensor:
    """Weighted sums of the values: softmax(Q K^T / sqrt(d_k)) V (section 3.2.1)."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-1])  # (…, queries, keys)
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return weights @ V  # (…, queries, d_v)


# book/0-start/1-one-page.ipynb, cell multi-head-attention
class MultiHeadAttention(nn.Module):
    """h attentions in parallel, each on projections of its own (section 3.2.2)."""

    def __init__(self, d_model: int, h: int) -> None:
        super().__init__()
        self.h = h
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        """Let every position of x attend to the visible positions of y."""
        Q = self.heads(self.W_Q(x))
        K, V = self.heads(self.W_K(y)), self.heads(self.W_V(y))
        results = attention(Q, K, V, mask)  # (batch, h, length of x, d_model / h)
        return self.W_O(results.transpose(1, 2).flatten(2))  # concatenated, projected

    def heads(self, x: Tensor) -> Tensor:
        """(batch, length, d_model) to (batch, h, length, d_model / h)."""
        return x.unflatten(-1, (self.h, -1)).transpose(1, 2)


# book/0-start/1-one-page.ipynb, cell feed-forward
class FeedForward(nn.Module):
    """The same small network at every position (section 3.3)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each position of x by itself."""
        return self.W_2(self.W_1(x).relu())


# book/0-start/1-one-page.ipynb, cell residual
class Residual(nn.Module):
    """LayerNorm(x + Dropout(what a sub-layer made of x)) (sections 3.1 and 5.4)."""

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, output: Tensor) -> Tensor:
        """Add the output of a sub-layer to its input, and normalise."""
        return self.norm(x + self.dropout(output))


# book/0-start/1-one-page.ipynb, cell encoder-layer
class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network (section 3.1)."""

    def __init__(self, d_model: int, d_ff: int, h: int, dropout: float) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, h)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.residuals = nn.ModuleList(Residual(d_model, dropout) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Transform x, (batch, n, d_model); `mask` is False at padding."""
        x = self.residuals[0](x, self.self_attention(x, x, mask))
        return self.residuals[1](x, self.feed_forward(x))


# book/0-start/1-one-page.ipynb, cell decoder-layer
class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention, the feed-forward network."""

    def __init__(self, d_model: int, d_ff: int, h: int, dropout: float) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, h)
        self.cross_attention = MultiHeadAttention(d_model, h)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.residuals = nn.ModuleList(Residual(d_model, dropout) for _ in range(3))

    def forward(
        self, x: Tensor, causal: Tensor, memory: Tensor, mask: Tensor
    ) -> Tensor:
        """Transform x, (batch, m, d_model); `mask` is for the memory."""
        x = self.residuals[0](x, self.self_attention(x, x, causal))
        x = self.residuals[1](x, self.cross_attention(x, memory, mask))
        return self.residuals[2](x, self.feed_forward(x))


# book/0-start/1-one-page.ipynb, cell positional-encoding
def positional_encoding(length: int, d_model: int) -> Tensor:
    """A vector of sines and cosines for each position (section 3.5)."""
    divisors = 10000 ** (torch.arange(0, d_model, 2) / d_model)
    angle = torch.arange(length)[:, None] / divisors  # (length, d_model / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


# book/0-start/1-one-page.ipynb, cell embeddings
class Embeddings(nn.Module):
    """One matrix between tokens and vectors, in both directions (section 3.4)."""

    def __init__(self, vocabulary_size: int, d_model: int, dropout: float) -> None:
        super().__init__()
        self.d_model, self.dropout = d_model, nn.Dropout(dropout)
        weight = torch.randn(vocabulary_size, d_model) * d_model**-0.5
        self.weight = nn.Parameter(weight)

    def forward(self, tokens: Tensor) -> Tensor:
        """Embed tokens and positions: (batch, length) to (batch, length, d_model)."""
        x = self.weight[tokens] * math.sqrt(self.d_model)
        positions = positional_encoding(tokens.shape[1], self.d_model)
        return self.dropout(x + positions.to(x.device))

    def logits(self, x: Tensor) -> Tensor:
        """Score all tokens: (batch, length, d_model) to (batch, length, vocabulary)."""
        return x @ self.weight.T


# book/0-start/1-one-page.ipynb, cell transformer
class Transformer(nn.Module):
    """The model of the paper; with the defaults, its base model (table 3)."""

    def __init__(
        self,
        vocabulary_size: int,
        N: int = 6,
        d_model: int = 512,
        d_ff: int = 2048,
        h: int = 8,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        shape = (d_model, d_ff, h, dropout)
        self.embeddings = Embeddings(vocabulary_size, d_model, dropout)
        self.encoder = nn.ModuleList(EncoderLayer(*shape) for _ in range(N))
        self.decoder = nn.ModuleList(DecoderLayer(*shape) for _ in range(N))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits of what follows each token of the target: (batch, m, vocabulary)."""
        return self.decode(target, self.encode(source), source)

    def encode(self, source: Tensor) -> Tensor:
        """Source tokens, (batch, n), to the memory, (batch, n, d_model)."""
        x, mask = self.embeddings(source), (source != PAD)[:, None, None, :]
        for layer in self.encoder:
            x = layer(x, mask)
        return x

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """Target tokens, (batch, m), and the memory to logits."""
        x, mask = self.embeddings(target), (source != PAD)[:, None, None, :]
        m = target.shape[1]
        causal = torch.ones(m, m, dtype=torch.bool, device=x.device).tril()
        for layer in self.decoder:
            x = layer(x, causal, memory, mask)
        return self.embeddings.logits(x)


# book/0-start/1-one-page.ipynb, cell train
def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """The rate of a step, counted from 1 (section 5.3)."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def train(
    model: Transformer, batches: Iterable[tuple[Tensor, Tensor]], warmup: int = 4000
) -> Iterator[float]:
    """One step per batch of source and target tokens; yields the losses, in nats."""
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step, (source, target) in enumerate(batches, start=1):
        rate = learning_rate(step, model.embeddings.d_model, warmup)
        optimizer.param_groups[0]["lr"] = rate
        logits = model(source, target[:, :-1]).flatten(0, 1)  # read all but the last
        labels = target[:, 1:].flatten()  # predict all but the first
        loss = F.cross_entropy(logits, labels, ignore_index=PAD, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


# book/0-start/1-one-page.ipynb, cell translate
@torch.no_grad()
def translate(model: Transformer, source: Tensor, longest: int = 50) -> Tensor:
    """Greedy translations, (batch, m), of source tokens, (batch, n)."""
    memory = model.encode(source)
    target = torch.full_like(source[:, :1], BOS)
    while target.shape[1] < longest and not (target == EOS).any(dim=1).all():
        logits = model.decode(target, memory, source)[:, -1:]
        target = torch.cat([target, logits.argmax(dim=-1)], dim=1)
    return target
