# Made by `make export` from book/3-workshop/09-fast-decoding.ipynb
"""A fast decoder for the Transformer, in which beams share what they have in common."""

# book/3-workshop/09-fast-decoding.ipynb, cell imports
import math
import warnings
from functools import partial
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from aiayn.decoding.decoder_state import FastDecoderState, stack_beams, unstack_beams
from aiayn.decoding.quantization import Compute, convert_linears, linear_factory
from aiayn.device import small_products
from aiayn.model.attention import (
    Attention,
    FusedAttention,
    MultiHeadAttention,
    padding_mask,
)
from aiayn.model.encoder_decoder import EncoderDecoder, IncrementalDecoder, ModelConfig
from aiayn.model.layers import DecoderLayer
from aiayn.model.marian import Marian
from aiayn.model.positions import RelativeAttention
from aiayn.model.transformer import Transformer

# book/3-workshop/09-fast-decoding.ipynb, cell few-queries
MAX_UNFUSED_QUERIES = 64  # queries; beyond them, the fused kernel
MIN_SOURCE_LENGTH = 16  # keys that a processor's softmax takes at a time


def fast_attention(
    attention_function: Attention, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None
) -> Float[Tensor, "batch h n d_v"]:
    """What an attention function gives; of few queries, on a processor, written out."""
    fused = isinstance(attention_function, FusedAttention)
    if Q.is_cuda or (fused and Q.shape[-2] > MAX_UNFUSED_QUERIES):
        return attention_function(Q, K, V, mask)
    if fused:  # queries are fewer numbers to divide than scores
        scores = Q / math.sqrt(Q.shape[-1]) @ K.transpose(-2, -1)
        if mask is not None:  # each query sees something, as `start` sees to
            scores = scores.masked_fill(~mask, -math.inf)
        return scores.softmax(dim=-1) @ V
    return attention_function.attend(Q, K, V, mask)[0]


def pad_to_minimum(
    source: Int[Tensor, "batch n"], config: ModelConfig
) -> Int[Tensor, "batch _"]:
    """Pad a batch to `MIN_SOURCE_LENGTH` tokens, or as many as the model can take."""
    least = min(MIN_SOURCE_LENGTH, config.max_positions or MIN_SOURCE_LENGTH)
    missing = least - source.shape[1]
    return F.pad(source, (0, max(0, missing)), value=config.pad_id)


# book/3-workshop/09-fast-decoding.ipynb, cell shared-attention
def cross_attention(
    attention: MultiHeadAttention,
    state: FastDecoderState,
    layer: int,
    x: Float[Tensor, "rows n d_model"],
) -> Float[Tensor, "rows n d_model"]:
    """Cross-attention to the memory, of which all beams of a sentence share a row."""
    (Q,), (K, V) = attention.projections.project(x, slice(1)), state.memory[layer]
    heads = fast_attention(
        attention.attention, stack_beams(Q, len(K)), K, V, state.mask
    )
    return attention.W_O(unstack_beams(heads, len(x)).transpose(1, 2).flatten(2))


def self_attention(
    attention: MultiHeadAttention,
    state: FastDecoderState,
    layer: int,
    mask: Bool[Tensor, "_ 1 _ _"] | None,
    x: Float[Tensor, "rows n d_model"],
) -> Float[Tensor, "rows n d_model"]:
    """Self-attention over words of a sentence's beams: each sees those in `mask`."""
    attention_function, batch = attention.attention, len(state.mask)
    Q, K, V = attention.projections.project(x)
    K, V = state.target[layer].append(stack_beams(K, batch), stack_beams(V, batch))
    if isinstance(attention_function, RelativeAttention) and state.ancestry is not None:
        K, V = (own_positions(kept, state.ancestry) for kept in (K, V))
        heads = attention_function(Q, K, V, causal=True)
    else:
        heads = fast_attention(attention_function, stack_beams(Q, batch), K, V, mask)
        heads = unstack_beams(heads, len(x))
    return attention.W_O(heads.transpose(1, 2).flatten(2))


def own_positions(
    kept: Float[Tensor, "batch h m d"], ancestry: Bool[Tensor, "batch beams m"]
) -> Float[Tensor, "rows h _ d"]:
    """A row for each beam, of its own words in their order."""
    index = ancestry.nonzero()[:, 2].view(*ancestry.shape[:2], 1, -1, 1)
    return kept[:, None].take_along_dim(index, dim=3).flatten(0, 1)


# book/3-workshop/09-fast-decoding.ipynb, cell remember
MAX_CHUNKS = 4  # of a batch, encoded one after the other
MIN_CHUNK_SENTENCES = 8


def precompute_cross_kv(
    model: Transformer, source: Int[Tensor, "batch n"]
) -> list[list[Tensor]]:
    """Keys and values of the encoded source, for each layer of the decoder."""
    words, n = (source != model.config.pad_id).sum(dim=1), source.shape[1]
    most = 1 if source.is_cuda else MAX_CHUNKS
    chunks = max(1, min(most, len(source) // MIN_CHUNK_SENTENCES))
    layers: list[Any] = list(model.decoder.layers)
    cross_kv: list[list[Tensor]] = [[] for _ in layers]
    for rows in words.argsort(stable=True).chunk(chunks):
        width = (
            n if chunks == 1 else max(int(words[rows].max()), min(MIN_SOURCE_LENGTH, n))
        )
        memory = model.encode(source[rows, :width])
        for layer, buffers in zip(layers, cross_kv, strict=True):
            keys_and_values = layer.cross_attention.projections.project(
                memory, slice(1, 3)
            )
            if not buffers:
                buffers += [
                    tensor.new_zeros(
                        len(source), *tensor.shape[1:2], n, tensor.shape[3]
                    )
                    for tensor in keys_and_values
                ]
            for buffer, new in zip(buffers, keys_and_values, strict=True):
                buffer[rows, :, :width] = new
    return cross_kv


# book/3-workshop/09-fast-decoding.ipynb, cell engine
class FastDecoder:
    """Decodes with a trained Transformer: what the model itself would find, sooner.

    In `int8` it finds nearly the same; the wider the model, the sooner.
    """

    def __init__(self, model: Transformer, compute: Compute = "float32") -> None:
        make_linear = linear_factory(model, compute)
        self.model = (
            model if make_linear is None else convert_linears(model, make_linear)
        )
        self.config = model.config
        self.layers: list[Any] = list(self.model.decoder.layers)

    def start(self, source: Int[Tensor, "batch n"]) -> FastDecoderState:
        """Encode the source, with keys and values for the decoder; `step` goes on."""
        source = pad_to_minimum(source, self.config)
        memory = precompute_cross_kv(self.model, source)
        mask = padding_mask(source, self.config.pad_id)
        nothing = ~mask.any(dim=-1, keepdim=True)  # no word: it sees only zeros
        for _, values in memory:
            values.masked_fill_(nothing, 0.0)
        return FastDecoderState(memory, mask | nothing)

    def step(
        self, tokens: Int[Tensor, "rows m"], state: FastDecoderState
    ) -> Float[Tensor, "rows vocabulary"]:
        """Feed each row's newest target token, or a prefix, and score the next one."""
        with small_products():
            x = self.model.positions(self.model.target_embeddings(tokens), state.length)
            mask = state.extend(*tokens.shape)
            for number, layer in enumerate(self.layers):
                self_attend = partial(
                    self_attention, layer.self_attention, state, number, mask
                )
                cross_attend = partial(
                    cross_attention, layer.cross_attention, state, number
                )
                x = layer.residuals[0](x, self_attend)
                x = layer.residuals[1](x, cross_attend)
                x = layer.residuals[2](x, layer.feed_forward)
            return self.model.logits(self.model.decoder.norm(x[:, -1]))


# book/3-workshop/09-fast-decoding.ipynb, cell known-parts
def is_standard_transformer(model: EncoderDecoder) -> bool:
    """Whether a model is a Transformer, or a Marian, of this book's own parts."""
    own = type(model) in (Transformer, Marian)
    if not own or not isinstance(model, Transformer):
        return False
    for layer in model.decoder.layers:
        if type(layer) is not DecoderLayer:
            return False
        self_attn, cross_attn = layer.self_attention, layer.cross_attention
        if not (type(self_attn) is type(cross_attn) is MultiHeadAttention):
            return False
        if type(self_attn.attention) not in (
            Attention,
            FusedAttention,
            RelativeAttention,
        ):
            return False
        if type(cross_attn.attention) not in (Attention, FusedAttention):
            return False
    return True


# book/3-workshop/09-fast-decoding.ipynb, cell engine-for
def weights_version(model: EncoderDecoder) -> object:
    """Something that differs once a weight or a part has been changed."""
    weights = [weight.detach() for weight in model.parameters()]
    versions = [0 if weight.is_inference() else weight._version for weight in weights]
    # Fused optimizers write without being counted, but everywhere.
    firsts = torch.cat([weight.flatten()[:1] for weight in weights]).tolist()
    places = [weight.data_ptr() for weight in weights]
    return is_standard_transformer(model), places, versions, firsts


def fast_decoder_for(
    model: EncoderDecoder, compute: Compute = "float32"
) -> IncrementalDecoder:
    """A fast decoder for a Transformer of the book's own parts; else the model."""
    if is_standard_transformer(model):
        return FastDecoder(cast(Transformer, model), compute)
    if compute == "int8":
        warnings.warn("int8 needs a Transformer: computing as usual", stacklevel=2)
    return model
