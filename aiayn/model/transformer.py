# Made by `make export` from book/1-paper/3-0-model-architecture.ipynb
"""The Transformer, and its decoding one step at a time."""

# book/1-paper/3-0-model-architecture.ipynb, cell imports
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from aiayn.model.attention import MultiHeadAttention, padding_mask
from aiayn.model.configuration import TransformerConfig
from aiayn.model.configuration import config as preset
from aiayn.model.dropout import Dropout
from aiayn.model.embeddings import Embeddings
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.model.feed_forward import FeedForward
from aiayn.model.layers import Decoder, DecoderLayer, Encoder, EncoderLayer, LayerCache
from aiayn.model.positions import (
    LearnedPositions,
    NoPositions,
    RelativeAttention,
    RelativePositions,
    SinusoidalPositions,
)
from aiayn.model.scores import make_attention


# book/1-paper/3-0-model-architecture.ipynb, cell layers
def encoder_layer(config: TransformerConfig) -> EncoderLayer:
    """One layer of the encoder."""
    feed_forward = FeedForward(config.d_model, config.d_ff)
    self_attention = multi_head_attention(config, relative=True)
    return EncoderLayer(self_attention, feed_forward, config.dropout, config.norm)


def decoder_layer(config: TransformerConfig) -> DecoderLayer:
    """One layer of the decoder.

    The distance from a target to a source position means nothing, so only
    self-attention is relative.
    """
    self_attention = multi_head_attention(config, relative=True)
    cross_attention = multi_head_attention(config, relative=False)
    feed_forward = FeedForward(config.d_model, config.d_ff)
    return DecoderLayer(
        self_attention, cross_attention, feed_forward, config.dropout, config.norm
    )


def multi_head_attention(
    config: TransformerConfig, relative: bool
) -> MultiHeadAttention:
    """One attention, with relative positions if they are configured and make sense."""
    d_k = config.d_k or config.d_model // config.h
    d_v = config.d_v or config.d_model // config.h
    dropout, bias = config.attention_dropout, config.attention_bias
    attention_function = make_attention(config.score, config.h, d_k, dropout)
    if relative and config.positions == "relative":
        attention_function = RelativeAttention(
            RelativePositions(d_k, d_v), attention_function.score, dropout
        )
    return MultiHeadAttention(
        config.d_model, config.h, d_k, d_v, bias, attention_function
    )


def make_positions(config: TransformerConfig) -> nn.Module:
    """What is added to the embeddings; relative positions are part of the attention."""
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.d_model)
    if config.positions == "learned":
        return LearnedPositions(config.d_model, config.max_length)
    return NoPositions()


# book/1-paper/3-0-model-architecture.ipynb, cell transformer
class Transformer(EncoderDecoder):
    """The paper's model (section 3, figure 1), in the shape `config`, or its name."""

    config: TransformerConfig

    def __init__(self, config: TransformerConfig | str) -> None:
        super().__init__()
        self.config = config = preset(config) if isinstance(config, str) else config
        self.target_embeddings = Embeddings(config.vocabulary_size, config.d_model)
        self.source_embeddings = (
            self.target_embeddings
            if config.share_embeddings
            else Embeddings(config.vocabulary_size, config.d_model)
        )
        self.positions = make_positions(config)
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(encoder_layer(config) for _ in range(config.N))
        self.decoder = Decoder(decoder_layer(config) for _ in range(config.N))

    def encode(
        self, source: Int[Tensor, "batch n"]
    ) -> Float[Tensor, "batch n d_model"]:
        """The memory: one vector for each source token, each informed by the others."""
        x = self.dropout(self.positions(self.source_embeddings(source)))
        return self.encoder(x, padding_mask(source, self.config.pad_id))

    def decode(
        self,
        target: Int[Tensor, "batch m"],
        memory: Float[Tensor, "batch n d_model"],
        source: Int[Tensor, "batch n"],
    ) -> Float[Tensor, "batch m d_model"]:
        """A vector for each target position; `logits` scores the next token from it."""
        x = self.dropout(self.positions(self.target_embeddings(target)))
        return self.decoder(x, memory, padding_mask(source, self.config.pad_id))

    def layers(self) -> list[nn.Module]:
        """The encoder's layers and the decoder's."""
        return [*self.encoder.layers, *self.decoder.layers]

    # book/1-paper/3-0-model-architecture.ipynb, cell incremental
    def start(self, source: Int[Tensor, "batch n"]) -> "DecoderState":
        """Encode the source once; the state is for `step`."""
        mask = padding_mask(source, self.config.pad_id)
        return DecoderState(self.encode(source), mask, self.config.N)

    def step(
        self, tokens: Int[Tensor, "rows m"], state: "DecoderState"
    ) -> Float[Tensor, "rows vocabulary"]:
        """Feed the newest target tokens, one a row or a prefix; score the next one."""
        x = self.positions(self.target_embeddings(tokens), state.length)
        x = self.decoder(x, state.memory, state.mask, state.caches)
        return self.logits(x[:, -1])


# book/1-paper/3-0-model-architecture.ipynb, cell decoder-state
class DecoderState:
    """What decoding carries from step to step, a row for each translation.

    `memory` is the encoder's output; `mask` is True where its positions are words.
    """

    def __init__(
        self,
        memory: Float[Tensor, "rows n d_model"],
        mask: Bool[Tensor, "rows 1 1 n"],
        layers: int,
    ) -> None:
        self.memory, self.mask = memory, mask
        self.caches = [LayerCache() for _ in range(layers)]

    @property
    def length(self) -> int:
        """Target positions so far."""
        return self.caches[0].target.length

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; one may be named more than once."""
        self.memory, self.mask = self.memory[rows], self.mask[rows]
        for cache in self.caches:
            cache.select(rows)
