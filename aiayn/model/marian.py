# Made by `make export` from book/3-workshop/14-other-peoples-models.ipynb
"""Marian, the model of OPUS-MT: the paper's parts, put together otherwise."""

# book/3-workshop/14-other-peoples-models.ipynb, cell imports
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from aiayn.errors import InputError
from aiayn.model.attention import FusedAttention, MultiHeadAttention, padding_mask
from aiayn.model.dropout import Dropout
from aiayn.model.embeddings import Embeddings
from aiayn.model.encoder_decoder import ModelConfig
from aiayn.model.feed_forward import FeedForward
from aiayn.model.layers import Decoder, DecoderLayer, Encoder, EncoderLayer
from aiayn.model.positions import sinusoidal_encoding
from aiayn.model.transformer import DecoderState, Transformer

# book/3-workshop/14-other-peoples-models.ipynb, cell marian-config
Activation = Literal["relu", "swish", "silu", "gelu"]
Count = Annotated[int, Field(ge=1, le=100_000)]


@dataclass(frozen=True)
class MarianConfig(ModelConfig):
    """The shape of a Marian model, and how its files want it to be searched.

    Raises
    ------
    InputError
        If no such model can be built.
    """

    # tokens of the target language, where it has a vocabulary of its own
    target_vocabulary_size: Annotated[int, Field(ge=1, le=10**7)] | None = None
    encoder_layers: Count = 6
    encoder_heads: Count = 8
    encoder_d_ff: Count = 2048
    decoder_layers: Count = 6
    decoder_heads: Count = 8
    decoder_d_ff: Count = 2048
    activation: Activation = "swish"  # between the two maps of the feed-forward network
    attention_dropout: Annotated[float, Field(ge=0, le=1)] = 0.0
    scale_embeddings: bool = True  # times sqrt(d_model)
    tie_output: bool = True  # the last matrix is that of the target's embeddings
    positions: Count = 512  # rows of the sinusoidal table
    # for `HuggingFaceSearch`
    num_beams: Annotated[int, Field(ge=1, le=1000)] = 4
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 1.0
    early_stopping: bool | Literal["never"] = False
    max_length: Annotated[int, Field(ge=2)] = 512  # with the start token
    forced_end: bool = True  # at the last of these positions
    bans_padding: bool = True
    renormalizes: bool = False  # so that banned tokens have no share of the softmax

    # book/3-workshop/14-other-peoples-models.ipynb, cell marian-config-checks
    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        ModelConfig.__post_init__(self)
        for heads in (self.encoder_heads, self.decoder_heads):
            if self.d_model % heads:
                raise InputError(
                    f"d_model={self.d_model} does not divide into {heads} heads"
                )

    @property
    def max_positions(self) -> int | None:
        """Positions that the table has."""
        return self.positions


# book/3-workshop/14-other-peoples-models.ipynb, cell activations
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "swish": F.silu,
    "silu": F.silu,
    "gelu": F.gelu,
}


# book/3-workshop/14-other-peoples-models.ipynb, cell marian-parts
class MarianEmbeddings(Embeddings):
    """Vectors for tokens, times sqrt(d_model) only if `scaled`."""

    def __init__(self, vocabulary_size: int, d_model: int, scaled: bool) -> None:
        super().__init__(vocabulary_size, d_model)
        self.scale = math.sqrt(d_model) if scaled else 1.0

    def forward(
        self, tokens: Int[Tensor, "batch n"]
    ) -> Float[Tensor, "batch n d_model"]:
        """Look tokens up."""
        return F.embedding(tokens, self.weight) * self.scale


def sines_first(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    """The paper's columns in Marian's order: the even ones, then the odd ones."""
    return torch.cat([x[..., 0::2], x[..., 1::2]], dim=-1)


class MarianPositions(nn.Module):
    """Add the sinusoidal encoding, all sines first, of at most `n` positions."""

    def __init__(self, d_model: int, n: int) -> None:
        super().__init__()
        self.table: Tensor
        table = sines_first(sinusoidal_encoding(n, d_model))
        self.register_buffer("table", table, persistent=False)

    def forward(
        self, x: Float[Tensor, "batch n d_model"], start: int = 0
    ) -> Float[Tensor, "batch n d_model"]:
        """Add positions `start`, `start` + 1, … to `x`."""
        if (end := start + x.shape[1]) > len(self.table):
            has = f"this model has {len(self.table)} positions"
            raise InputError(
                f"a sequence of {end} tokens, but {has}: split the sentence"
            )
        return x + self.table[start:end]


# book/3-workshop/14-other-peoples-models.ipynb, cell marian
class Marian(Transformer):
    """The model of Marian and OPUS-MT: the paper's parts, put together otherwise."""

    config: MarianConfig  # type: ignore[assignment]  # a shape of its own

    def __init__(self, config: MarianConfig) -> None:
        super(Transformer, self).__init__()  # as Transformer's would build the paper's
        self.config, d_model, dropout = config, config.d_model, config.dropout
        activation, scaled = ACTIVATIONS[config.activation], config.scale_embeddings
        target_size = config.target_vocabulary_size or config.vocabulary_size

        def attention(h: int) -> MultiHeadAttention:
            fused = FusedAttention(config.attention_dropout)
            return MultiHeadAttention(d_model, h, bias=True, attention=fused)

        def encoder_layer() -> EncoderLayer:
            network = FeedForward(d_model, config.encoder_d_ff, activation)
            return EncoderLayer(attention(config.encoder_heads), network, dropout)

        def decoder_layer() -> DecoderLayer:
            network = FeedForward(d_model, config.decoder_d_ff, activation)
            own, cross = (attention(config.decoder_heads) for _ in range(2))
            return DecoderLayer(own, cross, network, dropout)

        size = config.vocabulary_size
        self.source_embeddings = MarianEmbeddings(size, d_model, scaled)
        self.target_embeddings = self.source_embeddings
        if config.target_vocabulary_size:
            self.target_embeddings = MarianEmbeddings(target_size, d_model, scaled)
        self.output = nn.Linear(d_model, target_size)
        nn.init.zeros_(self.output.bias)
        if config.tie_output:
            self.output.weight = self.target_embeddings.weight
        self.positions = MarianPositions(d_model, config.positions)
        self.dropout = Dropout(dropout)
        self.encoder = Encoder(encoder_layer() for _ in range(config.encoder_layers))
        self.decoder = Decoder(decoder_layer() for _ in range(config.decoder_layers))

    # book/3-workshop/14-other-peoples-models.ipynb, cell marian-logits
    def logits(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch vocabulary"]:
        """Scores of the target vocabulary, with a bias."""
        return torch.as_tensor(self.output(x))

    def start(self, source: Int[Tensor, "batch n"]) -> DecoderState:
        """Encode the source once; the state is for `step`."""
        mask = padding_mask(source, self.config.pad_id)
        return DecoderState(self.encode(source), mask, self.config.decoder_layers)
