# Made by `make export` from book/1-paper/2-background.ipynb
"""A convolutional encoder-decoder, after ConvS2S."""

# book/1-paper/2-background.ipynb, cell model-imports
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from aiayn.errors import InputError
from aiayn.model.attention import FusedAttention, padding_mask
from aiayn.model.baselines.convolution import GatedConvolution, LastInputs, scaled_sum
from aiayn.model.dropout import Dropout
from aiayn.model.embeddings import Embeddings
from aiayn.model.encoder_decoder import EncoderDecoder, ModelConfig
from aiayn.model.positions import LearnedPositions


# book/1-paper/2-background.ipynb, cell source-attention
class SourceAttention(nn.Module):
    """A ConvS2S decoder layer's attention to the source: one head.

    The score is scaled, which theirs is not: their embeddings are smaller.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_model)
        self.attention = FusedAttention()
        self.out = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Float[Tensor, "rows m d_model"],
        embedded: Float[Tensor, "rows m d_model"],
        memory: Float[Tensor, "rows n width"],
        mask: Bool[Tensor, "rows 1 1 n"],
    ) -> Float[Tensor, "rows m d_model"]:
        """Add to x what it finds.

        `embedded` are the target words, and `memory` has keys and values side by side.
        """
        keys, values = memory.unsqueeze(1).chunk(2, dim=-1)
        queries = scaled_sum(self.query(x), embedded).unsqueeze(1)
        context = self.attention(queries, keys, values, mask)
        context = context * mask.sum(dim=-1, keepdim=True).to(context.dtype).sqrt()
        return scaled_sum(x, self.out(context.squeeze(1)))


# book/1-paper/2-background.ipynb, cell convolutional-config
@dataclass(frozen=True)
class ConvolutionalConfig(ModelConfig):
    """All that fixes the shape of a convolutional model.

    Raises
    ------
    InputError
        If no such model can be built.
    """

    # layers in the encoder, and in the decoder
    N: Annotated[int, Field(ge=1, le=1000)] = 6
    # places that a layer reads, an odd number: the encoder's layers are centred
    kernel: Annotated[int, Field(ge=1, le=100_000)] = 3
    # a layer's dilation over that of the one before: 1 as in ConvS2S, 2 as in ByteNet
    growth: Annotated[int, Field(ge=1, le=100_000)] = 1
    separable: bool = False  # whether each column is summed by itself
    # positions that are learned: no sequence may be longer
    max_length: Annotated[int, Field(ge=1, le=10**7)] = 1024

    def __post_init__(self) -> None:
        """Reject what cannot be built."""
        super().__post_init__()
        if self.kernel % 2 == 0:
            fault = "the encoder's layers are centred, which takes an odd one"
            raise InputError(f"kernel={self.kernel}: {fault}")
        if self.growth > 1 and self.growth ** (self.N - 1) >= self.max_length:
            raise InputError(
                f"growth={self.growth}, N={self.N}: the last layer would skip over"
                f" max_length={self.max_length} positions; take fewer layers"
            )

    @property
    def max_positions(self) -> int | None:
        """Positions that can be learned."""
        return self.max_length

    def forward_flops(self, n: Any, m: Any) -> Any:
        """FLOPs of the products for `n` source and `m` target tokens (chapter 5.2)."""
        d, k = self.d_model, self.kernel
        maps = k * d + 2 * d * d if self.separable else k * 2 * d * d
        # query and output; scores and weighted sum
        attention = 2 * m * d * d + 2 * n * m * d
        layers = self.N * ((n + m) * maps + attention)
        return 2 * (layers + m * d * self.vocabulary_size)


# book/1-paper/2-background.ipynb, cell convolutional
CONVOLUTIONAL = {
    "conv": ConvolutionalConfig(
        vocabulary_size=2000, d_model=70, N=3, dropout=0.0, max_length=128
    )
}


class ConvolutionalState:
    """What decoding keeps between words: the memory and each layer's last inputs."""

    def __init__(
        self,
        memory: Float[Tensor, "rows n width"],
        source: Int[Tensor, "rows n"],
        config: ConvolutionalConfig,
    ) -> None:
        self.memory, self.mask = memory, padding_mask(source, config.pad_id)
        self.pasts = [LastInputs() for _ in range(config.N)]
        self.length = 0  # target positions so far

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; one may be named more than once."""
        self.memory, self.mask = self.memory[rows], self.mask[rows]
        for past in self.pasts:
            past.select(rows)


# book/1-paper/2-background.ipynb, cell convolutional-layers
def gated_convolution(
    config: ConvolutionalConfig, k: int, causal: bool
) -> GatedConvolution:
    """The convolution of layer number `k`, from 0."""
    d_model, kernel, dilation = config.d_model, config.kernel, config.growth**k
    separable, dropout = config.separable, config.dropout
    return GatedConvolution(d_model, kernel, dilation, causal, separable, dropout)


class ConvolutionalEncoderLayer(nn.Module):
    """A centred gated convolution with its residual connection."""

    def __init__(self, config: ConvolutionalConfig, k: int) -> None:
        super().__init__()
        self.gated = gated_convolution(config, k, causal=False)

    def forward(
        self, x: Float[Tensor, "batch n d_model"], mask: Bool[Tensor, "batch n"]
    ) -> Float[Tensor, "batch n d_model"]:
        """Let each source position read its neighbours."""
        return scaled_sum(x, self.gated(x, mask))


class ConvolutionalDecoderLayer(nn.Module):
    """A causal gated convolution, attention to the source, one residual around both."""

    def __init__(self, config: ConvolutionalConfig, k: int) -> None:
        super().__init__()
        self.gated = gated_convolution(config, k, causal=True)
        self.source = SourceAttention(config.d_model)

    def forward(
        self,
        x: Float[Tensor, "rows m d_model"],
        embedded: Float[Tensor, "rows m d_model"],
        memory: Float[Tensor, "rows n width"],
        mask: Bool[Tensor, "rows 1 1 n"],
        past: LastInputs,
    ) -> Float[Tensor, "rows m d_model"]:
        """Let target positions read earlier ones (cached too), then the source."""
        attended = self.source(self.gated(x, None, past), embedded, memory, mask)
        return scaled_sum(x, attended)


# book/1-paper/2-background.ipynb, cell convolutional-model
class ConvolutionalModel(EncoderDecoder):
    """A translator made of convolutions, after ConvS2S (Gehring et al. 2017)."""

    config: ConvolutionalConfig

    def __init__(self, config: ConvolutionalConfig) -> None:
        super().__init__()
        self.config, layers = config, range(config.N)
        self.target_embeddings = Embeddings(config.vocabulary_size, config.d_model)
        self.source_positions = LearnedPositions(config.d_model, config.max_length)
        self.target_positions = LearnedPositions(config.d_model, config.max_length)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(
            ConvolutionalEncoderLayer(config, k) for k in layers
        )
        self.decoder = nn.ModuleList(
            ConvolutionalDecoderLayer(config, k) for k in layers
        )

    def encode(self, source: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n width"]:
        """Keys and values for each source token, side by side."""
        x = self.source_positions(self.target_embeddings(source))
        x = embedded = self.dropout(x)
        for layer in self.encoder:
            x = layer(x, source != self.config.pad_id)
        return torch.cat([x, scaled_sum(x, embedded)], dim=-1)

    def decode(
        self,
        target: Int[Tensor, "batch m"],
        memory: Float[Tensor, "batch n width"],
        source: Int[Tensor, "batch n"],
    ) -> Float[Tensor, "batch m d_model"]:
        """A vector for each target position; `logits` reads the next token from it."""
        return run_decoder(
            self, target, ConvolutionalState(memory, source, self.config)
        )

    # book/1-paper/2-background.ipynb, cell convolutional-steps
    def layers(self) -> list[nn.Module]:
        """The encoder's layers and the decoder's."""
        return [*self.encoder, *self.decoder]

    def start(self, source: Int[Tensor, "batch n"]) -> ConvolutionalState:
        """Encode the source once; the state is for `step`."""
        return ConvolutionalState(self.encode(source), source, self.config)

    def step(
        self, tokens: Int[Tensor, "rows m"], state: ConvolutionalState
    ) -> Float[Tensor, "rows vocabulary"]:
        """Feed the newest target tokens, and score the next one."""
        return self.logits(run_decoder(self, tokens, state)[:, -1])


# book/1-paper/2-background.ipynb, cell through
def run_decoder(
    model: ConvolutionalModel, target: Int[Tensor, "rows m"], state: ConvolutionalState
) -> Float[Tensor, "rows m d_model"]:
    """Run target words, which follow those in the state, through the decoder."""
    x = model.target_positions(model.target_embeddings(target), state.length)
    x = embedded = model.dropout(x)
    state.length += target.shape[1]
    for layer, past in zip(model.decoder, state.pasts, strict=True):
        x = layer(x, embedded, state.memory, state.mask, past)
    return x
