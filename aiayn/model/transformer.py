"""Model architecture (paper, section 3).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/03-model-architecture.ipynb
"""

__all__ = [
    "Positions",
    "TransformerConfig",
    "PRESETS",
    "config",
    "encoder_layer",
    "decoder_layer",
    "attention",
    "positions",
    "Transformer",
    "forget",
    "DecoderState",
]


# book/03-model-architecture.ipynb, cell imports
import difflib
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from aiayn.errors import InputError
from aiayn.model.attention import MultiHeadAttention, Score, padding_mask
from aiayn.model.base import EncoderDecoder, ModelConfig
from aiayn.model.dropout import Dropout
from aiayn.model.embeddings import Embeddings
from aiayn.model.feed_forward import FeedForward
from aiayn.model.positions import LearnedPositions, NoPositions, RelativePositions, SinusoidalPositions
from aiayn.model.stacks import Decoder, DecoderLayer, Encoder, EncoderLayer, LayerCache, Norm

# book/03-model-architecture.ipynb, cell transformer-config
Positions = Literal["sinusoidal", "learned", "relative", "none"]


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """All that fixes a Transformer's shape. The defaults are the paper's base model (Table 3).

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
    norm: Norm = "post"  # where the norm stands: behind the sum, or before the sub-layer
    positions: Positions = "sinusoidal"  # how the model is told about order
    max_length: int = 1024  # of learned positions; the other kinds know no end
    attention_bias: bool = False  # whether the projections of attention have a bias
    share_embeddings: bool = True  # one matrix for source, target and output (section 3.4)

    def __post_init__(self) -> None:
        """Refuse what cannot be built, and what would silently build something else."""
        super().__post_init__()
        if (self.d_k is None or self.d_v is None) and self.d_model % self.h:
            raise InputError(
                f"d_model={self.d_model} does not divide into h={self.h} heads: give d_k and d_v"
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
    "multi30k": TransformerConfig(vocabulary_size=10000, N=4, d_model=128, d_ff=256, h=4, dropout=0.3),
    "laboratory": TransformerConfig(vocabulary_size=2000, N=2, d_model=64, d_ff=256, h=4, dropout=0.0),
}


def config(name: str, **changes: Any) -> TransformerConfig:
    """The configuration of that name, with `changes`: `config("base", N=2)` is a row of Table 3.

    Parameters
    ----------
    name : str
        One of `PRESETS`: `base`, `big`, `small`, `multi30k`, `laboratory`.
    **changes
        Fields of `TransformerConfig` that are to differ.

    Raises
    ------
    InputError
        If there is no such configuration.
    """
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(PRESETS)}"
        raise InputError(f"unknown configuration {name!r}: {hint}")
    return replace(PRESETS[name], **changes)


# book/03-model-architecture.ipynb, cell layers
def encoder_layer(config: TransformerConfig) -> EncoderLayer:
    """One layer of the encoder."""
    feed_forward = FeedForward(config.d_model, config.d_ff)
    return EncoderLayer(attention(config, relative=True), feed_forward, config.dropout, config.norm)


def decoder_layer(config: TransformerConfig) -> DecoderLayer:
    """One layer of the decoder. Distance from a target to a source position means nothing, so only
    self-attention is relative."""
    own, over_memory = attention(config, relative=True), attention(config, relative=False)
    feed_forward = FeedForward(config.d_model, config.d_ff)
    return DecoderLayer(own, over_memory, feed_forward, config.dropout, config.norm)


def attention(config: TransformerConfig, relative: bool) -> MultiHeadAttention:
    """One attention, with relative positions where the configuration has them and they make sense."""
    layer = MultiHeadAttention(
        config.d_model, config.h, config.d_k, config.d_v, config.score, config.attention_bias
    )
    if relative and config.positions == "relative":
        layer.attention.relative = RelativePositions(layer.d_k, layer.d_v)
    return layer


# book/03-model-architecture.ipynb, cell position-modules
def positions(config: TransformerConfig) -> nn.Module:
    """What is added to the embeddings; relative positions live in the attention instead."""
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.d_model)
    if config.positions == "learned":
        return LearnedPositions(config.d_model, config.max_length)
    return NoPositions()


# book/03-model-architecture.ipynb, cell transformer
class Transformer(EncoderDecoder):
    """The model of the paper (section 3, figure 1), of the shape that `config` says."""

    config: TransformerConfig

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.target_embeddings = Embeddings(config.vocabulary_size, config.d_model)
        self.source_embeddings = (
            self.target_embeddings
            if config.share_embeddings
            else Embeddings(config.vocabulary_size, config.d_model)
        )
        self.positions = positions(config)
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(encoder_layer(config) for _ in range(config.N))
        self.decoder = Decoder(decoder_layer(config) for _ in range(config.N))

    def encode(self, source: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n d_model"]:
        """The memory: one vector for each source token, each knowing of the others."""
        x = self.dropout(self.positions(self.source_embeddings(source)))
        return self.encoder(x, padding_mask(source, self.config.pad_id))

    def decode(
        self,
        target: Int[Tensor, "batch m"],
        memory: Float[Tensor, "batch n d_model"],
        source: Int[Tensor, "batch n"],
    ) -> Float[Tensor, "batch m d_model"]:
        """A vector for each target position, from which `logits` tells the next token."""
        x = self.dropout(self.positions(self.target_embeddings(target)))
        return self.decoder(x, memory, padding_mask(source, self.config.pad_id))

    def layers(self) -> list[nn.Module]:
        """The encoder's layers and the decoder's."""
        return [*self.encoder.layers, *self.decoder.layers]

    # book/03-model-architecture.ipynb, cell incremental
    def start(self, source: Int[Tensor, "batch n"]) -> "DecoderState":
        """Encode the source once; the state is for `step`."""
        visible = padding_mask(source, self.config.pad_id)
        return DecoderState(self.encode(source), visible, self.config.N)

    def step(self, tokens: Int[Tensor, "rows m"], state: "DecoderState") -> Float[Tensor, "rows vocabulary"]:
        """Feed the newest target tokens (one for each row, or a prefix) and score the next one.

        There may be several rows for each sentence of the state, its beams, one after another. To branch,
        call `state.select` first, with a row named once for each of its beams.
        """
        x = self.positions(self.target_embeddings(tokens), state.length)
        seen = state.extend(*tokens.shape)
        x = self.decoder(x, state.memory, state.visible, state.caches, seen)
        return self.logits(x[:, -1])


# book/03-model-architecture.ipynb, cell forget
def forget(
    ancestry: Bool[Tensor, "batch beams kept"], caches: list[LayerCache]
) -> Bool[Tensor, "batch beams _"]:
    """Drop the positions that no beam descends from, once they are most of what is kept."""
    alive = ancestry.any(dim=1)
    most = int(alive.sum(dim=1).max())
    if alive.shape[1] < 2 * most + 32:
        return ancestry
    positions = (~alive).byte().argsort(dim=1, stable=True)[:, :most]
    for cache in caches:
        cache.target.pick(positions)
    return ancestry.take_along_dim(positions[:, None], dim=2)


# book/03-model-architecture.ipynb, cell decoder-state
class DecoderState:
    """What incremental decoding carries from step to step.

    `memory` is the encoder's output, a row a sentence; `visible` says which of its positions are words.
    """

    def __init__(
        self, memory: Float[Tensor, "batch n d_model"], visible: Bool[Tensor, "batch 1 1 n"], layers: int
    ) -> None:
        self.memory, self.visible = memory, visible
        self.caches = [LayerCache() for _ in range(layers)]
        self.length = 0  # target positions decoded so far, in each row
        self.ancestry: Bool[Tensor, "batch beams kept"] | None = None  # None: one beam each, which sees all

    def extend(self, rows: int, n: int) -> Bool[Tensor, "batch 1 _ _"] | None:
        """Make room for `n` more positions of each row, and say which of all that are kept each may see."""
        beams = rows // len(self.memory)
        self.length += n
        if self.ancestry is None and beams == 1:
            return None
        kept = self.visible.new_empty(len(self.memory), beams, 0) if self.ancestry is None else self.ancestry
        own = torch.block_diag(*[self.visible.new_ones(n, n).tril()] * beams)
        seen = torch.cat([kept.repeat_interleave(n, 1), own.expand(len(kept), -1, -1)], dim=-1)
        self.ancestry = seen.unflatten(1, (beams, n))[:, :, -1]
        return seen[:, None]

    def select(self, rows: Int[Tensor, " kept"], sentences: Int[Tensor, " going"] | None = None) -> None:
        """Keep these rows, and where given, only these sentences.

        The rows come sentence by sentence, as many for each, and each is a row of that sentence.

        No key and no value is moved for a row: what changes is who descends from whom.
        """
        before, batch = len(self.memory), len(self.memory) if sentences is None else len(sentences)
        if sentences is not None:
            self.memory, self.visible = self.memory[sentences], self.visible[sentences]
            for cache in self.caches:
                cache.memory.select(sentences)
                cache.target.select(sentences)
        if self.ancestry is None and len(rows) == batch:
            return
        all_kept = self.visible.new_ones(before, 1, self.caches[0].target.length)
        ancestry = all_kept if self.ancestry is None else self.ancestry
        self.ancestry = forget(ancestry.flatten(0, 1)[rows].unflatten(0, (batch, -1)), self.caches)
