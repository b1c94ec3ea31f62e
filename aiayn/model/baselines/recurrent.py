# Made by `make export` from book/1-paper/1-introduction.ipynb
"""Recurrent encoder-decoders: without attention, with Bahdanau's, and with Luong's."""

# book/1-paper/1-introduction.ipynb, cell imports
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from aiayn.errors import InputError
from aiayn.model.attention import Attention
from aiayn.model.dropout import Dropout
from aiayn.model.embeddings import Embeddings
from aiayn.model.encoder_decoder import EncoderDecoder, ModelConfig
from aiayn.model.scores import Score, make_attention

# book/1-paper/1-introduction.ipynb, cell recurrent-config
AttentionScore = Literal["none", "additive", "dot", "general"]
SCORES: dict[AttentionScore, Score] = {
    "additive": "additive",
    "dot": "unscaled",
    "general": "general",
}


@dataclass(frozen=True)
class RecurrentConfig(ModelConfig):
    """All that fixes a recurrent model's shape.

    Raises
    ------
    InputError
        If no such model can be built.
    """

    # width of a state of the decoder, and of the encoder's two directions together
    d_state: Annotated[int, Field(ge=1, le=100_000)] = 1000
    # none, Bahdanau's additive score, or Luong's dot and general
    attention: AttentionScore = "additive"

    def __post_init__(self) -> None:
        """Reject what cannot be built."""
        super().__post_init__()
        if self.d_state % 2:
            raise InputError(
                f"d_state={self.d_state}: must be even, half for each reading direction"
            )

    def forward_flops(self, n: Any, m: Any) -> Any:
        """FLOPs of the products for `n` source and `m` target tokens (chapter 5.2)."""
        d, s = self.d_model, self.d_state
        encoder, decoder = 2 * n * 3 * s * (d + s // 2), 2 * m * 3 * s * (d + s)
        learned = {"additive": n + m, "general": m}.get(self.attention, 0)
        # The additive score itself is not a product.
        sums = {"none": 0, "additive": 1}.get(self.attention, 2)
        attention_flops = 2 * learned * s * s + 2 * sums * n * m * s
        bridge, output = 2 * s * s, 2 * m * d * (2 * s + self.vocabulary_size)
        return encoder + bridge + decoder + attention_flops + output


# book/1-paper/1-introduction.ipynb, cell recurrent-layer
def recurrent_layer(width: int, d_state: int, bidirectional: bool = False) -> nn.GRU:
    """A GRU; initially orthogonal matrices for the state, Glorot's for the input."""
    layer = nn.GRU(width, d_state, batch_first=True, bidirectional=bidirectional)
    for name, weight in layer.named_parameters():
        if name.startswith("bias"):
            nn.init.zeros_(weight)
        for gate in weight.detach().chunk(3) if weight.ndim == 2 else ():
            (nn.init.orthogonal_ if "_hh_" in name else nn.init.xavier_uniform_)(gate)
    return layer


class RecurrentState:
    """What a recurrent model carries over from one written word to the next.

    `hidden` is the decoder's state, `memory` the encoder's states, and `words` says
    which of those places are not padding.
    """

    def __init__(
        self,
        hidden: Float[Tensor, "1 rows d_state"],
        memory: Float[Tensor, "rows n d_state"],
        words: Bool[Tensor, "rows n"],
    ) -> None:
        self.hidden, self.memory, self.words = hidden, memory, words

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; one may be named more than once."""
        self.hidden = self.hidden[:, rows]
        self.memory, self.words = self.memory[rows], self.words[rows]


# book/1-paper/1-introduction.ipynb, cell summary
def encode_bidirectional(
    encoder: nn.GRU, x: Float[Tensor, "batch n d_model"], words: Bool[Tensor, "batch n"]
) -> Float[Tensor, "batch n d_state"]:
    """The states of a bidirectional GRU, which skips padding; there they are zero.

    For a source without words, it reads one token of padding.
    """
    lengths = words.sum(dim=1).clamp(min=1).cpu()
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    states, _ = encoder(packed)
    return pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])[0]


def summary(
    memory: Float[Tensor, "batch n d_state"], words: Bool[Tensor, "batch n"]
) -> Float[Tensor, "batch d_state"]:
    """The encoder's last state in each direction: at the last word, at the first."""
    forwards, backwards = memory.chunk(2, dim=-1)
    last = words.sum(dim=1).clamp(min=1) - 1
    rows = torch.arange(len(memory), device=last.device)
    return torch.cat([forwards[rows, last], backwards[:, 0]], dim=-1)


def initial_state(
    bridge: nn.Linear,
    memory: Float[Tensor, "batch n d_state"],
    words: Bool[Tensor, "batch n"],
) -> RecurrentState:
    """The state before the first word; the decoder's comes from the encoder's last."""
    return RecurrentState(bridge(summary(memory, words)).tanh()[None], memory, words)


def contexts(
    attention: Attention | None,
    states: Float[Tensor, "rows m d_state"],
    state: RecurrentState,
) -> Float[Tensor, "rows m d_state"]:
    """What each state of the decoder takes from the memory."""
    if attention is None:
        return summary(state.memory, state.words)[:, None].expand_as(states)
    keys, mask = state.memory[:, None], state.words[:, None, None]  # of one head
    return attention(states[:, None], keys, keys, mask)[:, 0]


# book/1-paper/1-introduction.ipynb, cell recurrent-model
class RecurrentModel(EncoderDecoder):
    """A recurrent encoder and decoder, with attention or without it (section 1)."""

    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config, d_model, d_state = config, config.d_model, config.d_state
        embeddings = Embeddings(config.vocabulary_size, d_model)
        self.target_embeddings = self.source_embeddings = embeddings
        self.dropout = Dropout(config.dropout)
        self.encoder = recurrent_layer(d_model, d_state // 2, bidirectional=True)
        self.decoder = recurrent_layer(d_model, d_state)
        score = SCORES.get(config.attention)
        self.attention = None if score is None else make_attention(score, 1, d_state)
        self.bridge = nn.Linear(d_state, d_state)
        self.combine = nn.Linear(2 * d_state, d_model)

    def encode(
        self, source: Int[Tensor, "batch n"]
    ) -> Float[Tensor, "batch n d_state"]:
        """The memory: the encoder's state at each source token, of both directions."""
        x = self.dropout(self.source_embeddings(source))
        return encode_bidirectional(self.encoder, x, source != self.config.pad_id)

    def read(
        self, target: Int[Tensor, "rows m"], state: RecurrentState
    ) -> Float[Tensor, "rows m d_model"]:
        """Read on, changing the state; give a vector for each token read."""
        x = self.dropout(self.target_embeddings(target))
        states, state.hidden = self.decoder(x, state.hidden)
        context = contexts(self.attention, states, state)
        return self.combine(self.dropout(torch.cat([states, context], dim=-1)))

    # book/1-paper/1-introduction.ipynb, cell recurrent-decode
    def layers(self) -> list[nn.Module]:
        """Nothing to compile: PyTorch's GRU is fast as it is."""
        return []

    def decode(
        self,
        target: Int[Tensor, "rows m"],
        memory: Float[Tensor, "rows n d"],
        source: Int[Tensor, "rows n"],
    ) -> Float[Tensor, "rows m d_model"]:
        """A vector for each target position; `logits` scores the next token from it."""
        state = initial_state(self.bridge, memory, source != self.config.pad_id)
        return self.read(target, state)

    def start(self, source: Int[Tensor, "batch n"]) -> RecurrentState:
        """Encode the source once; the state is for `step`."""
        memory, words = self.encode(source), source != self.config.pad_id
        return initial_state(self.bridge, memory, words)

    def step(
        self, tokens: Int[Tensor, "rows m"], state: RecurrentState
    ) -> Float[Tensor, "rows vocabulary"]:
        """Feed the newest target tokens, and score the next one."""
        return self.logits(self.read(tokens, state)[:, -1])


# book/1-paper/1-introduction.ipynb, cell presets
RECURRENT = {
    "rnn": RecurrentConfig(2000, 64, 0.0, d_state=162, attention="none"),
    "rnn-additive": RecurrentConfig(2000, 64, 0.0, d_state=144),
    "rnn-dot": RecurrentConfig(2000, 64, 0.0, d_state=162, attention="dot"),
    "rnn-general": RecurrentConfig(2000, 64, 0.0, d_state=152, attention="general"),
}
