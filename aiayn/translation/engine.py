"""A fast decoder for the Transformer, in which beams share what they have in common.

From "A fast decoder" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/11-2-a-fast-decoder.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-2-a-fast-decoder.ipynb, cell imports
import math
import warnings
from functools import partial
from typing import Any, cast
from weakref import WeakKeyDictionary

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from aiayn.fast_paths import small_products
from aiayn.model.attention import (
    Attention,
    FusedAttention,
    MultiHeadAttention,
    padding_mask,
)
from aiayn.model.base import EncoderDecoder, ModelConfig, StepByStep
from aiayn.model.positions import RelativeAttention
from aiayn.model.stacks import DecoderLayer
from aiayn.model.transformer import Transformer
from aiayn.translation.beams import EngineState, stack_beams, unstack_beams
from aiayn.translation.products import Compute, prepared, product_for

# book/11-2-a-fast-decoder.ipynb, cell few-queries
FEW = 64  # queries; beyond them, the fused kernel
SHORT = 16  # keys that a processor's softmax takes at a time


def heads_of(
    kernel: Attention, Q: Tensor, K: Tensor, V: Tensor, visible: Tensor | None
) -> Float[Tensor, "batch h n d_v"]:
    """What a kernel computes; of few queries, on a processor, written out."""
    fused = isinstance(kernel, FusedAttention)
    if Q.is_cuda or (fused and Q.shape[-2] > FEW):
        return kernel(Q, K, V, visible)
    with small_products():
        if fused:  # queries are fewer numbers to divide than scores
            scores = Q / math.sqrt(Q.shape[-1]) @ K.transpose(-2, -1)
            if visible is not None:  # each query sees something, as `start` sees to
                scores = scores.masked_fill(~visible, -math.inf)
            return scores.softmax(dim=-1) @ V
        return kernel.attend(Q, K, V, visible)[0]


def lengthen(
    source: Int[Tensor, "batch n"], config: ModelConfig
) -> Int[Tensor, "batch _"]:
    """Pad a batch to at least `SHORT` tokens, or to as many as the model can take."""
    missing = min(SHORT, config.longest or SHORT) - source.shape[1]
    return F.pad(source, (0, max(0, missing)), value=config.pad_id)


# book/11-2-a-fast-decoder.ipynb, cell shared-attention
def over_memory(
    attention: MultiHeadAttention,
    state: EngineState,
    layer: int,
    x: Float[Tensor, "rows n d_model"],
) -> Float[Tensor, "rows n d_model"]:
    """Attention over the memory, of which all beams of a sentence share a row."""
    (Q,), (K, V) = attention.projections.project(x, slice(1)), state.memory[layer]
    found = heads_of(attention.attention, stack_beams(Q, len(K)), K, V, state.visible)
    return attention.W_O(unstack_beams(found, len(x)).transpose(1, 2).flatten(2))


def over_words(
    attention: MultiHeadAttention,
    state: EngineState,
    layer: int,
    seen: Bool[Tensor, "_ 1 _ _"] | None,
    x: Float[Tensor, "rows n d_model"],
) -> Float[Tensor, "rows n d_model"]:
    """Self-attention over words of a sentence's beams: each sees those in `seen`."""
    kernel, batch = attention.attention, len(state.visible)
    Q, K, V = attention.projections.project(x)
    K, V = state.target[layer].append(stack_beams(K, batch), stack_beams(V, batch))
    if isinstance(kernel, RelativeAttention) and state.ancestry is not None:
        K, V = (own_positions(kept, state.ancestry) for kept in (K, V))
        heads = kernel(Q, K, V, causal=True)
    else:
        heads = heads_of(kernel, stack_beams(Q, batch), K, V, seen)
        heads = unstack_beams(heads, len(x))
    return attention.W_O(heads.transpose(1, 2).flatten(2))


def own_positions(
    kept: Float[Tensor, "batch h m d"], ancestry: Bool[Tensor, "batch beams m"]
) -> Float[Tensor, "rows h _ d"]:
    """A row for each beam, of its own words in their order."""
    index = ancestry.nonzero()[:, 2].view(*ancestry.shape[:2], 1, -1, 1)
    return kept[:, None].take_along_dim(index, dim=3).flatten(0, 1)


# book/11-2-a-fast-decoder.ipynb, cell remember
PARTS, ENOUGH = 4, 8  # into which a batch is cut at most; sentences of a part at least


def remember(model: Transformer, source: Int[Tensor, "batch n"]) -> list[list[Tensor]]:
    """Keys and values of the encoded source, for each layer of the decoder."""
    words, n = (source != model.config.pad_id).sum(dim=1), source.shape[1]
    parts = 1 if source.is_cuda else max(1, min(PARTS, len(source) // ENOUGH))
    layers: list[Any] = list(model.decoder.layers)
    kept: list[list[Tensor]] = [[] for _ in layers]
    for rows in words.argsort(stable=True).chunk(parts):
        width = n if parts == 1 else max(int(words[rows].max()), min(SHORT, n))
        memory = model.encode(source[rows, :width])
        for layer, rooms in zip(layers, kept, strict=True):
            found = layer.memory_attention.projections.project(memory, slice(1, 3))
            if not rooms:
                rooms += [
                    f.new_zeros(len(source), *f.shape[1:2], n, f.shape[3])
                    for f in found
                ]
            for room, new in zip(rooms, found, strict=True):
                room[rows, :, :width] = new
    return kept


# book/11-2-a-fast-decoder.ipynb, cell engine
class Engine:
    """Decodes with a trained Transformer: what the model itself would find, sooner.

    In `int8` it finds nearly the same; the wider the model, the sooner.
    """

    def __init__(self, model: Transformer, compute: Compute = "float32") -> None:
        make = product_for(model, compute)
        self.model = model if make is None else prepared(model, make)
        self.config = model.config
        self.layers: list[Any] = list(self.model.decoder.layers)

    def start(self, source: Int[Tensor, "batch n"]) -> EngineState:
        """Encode the source, with keys and values for the decoder; `step` goes on."""
        source = lengthen(source, self.config)
        memory = remember(self.model, source)
        visible = padding_mask(source, self.config.pad_id)
        nothing = ~visible.any(dim=-1, keepdim=True)  # no word: it sees only zeros
        for _, values in memory:
            values.masked_fill_(nothing, 0.0)
        return EngineState(memory, visible | nothing)

    def step(
        self, tokens: Int[Tensor, "rows m"], state: EngineState
    ) -> Float[Tensor, "rows vocabulary"]:
        """Feed each row's newest target token, or a prefix, and score the next one."""
        x = self.model.positions(self.model.target_embeddings(tokens), state.length)
        seen = state.extend(*tokens.shape)
        for number, layer in enumerate(self.layers):
            words = partial(over_words, layer.self_attention, state, number, seen)
            memory = partial(over_memory, layer.memory_attention, state, number)
            x = layer.residuals[0](x, words)
            x = layer.residuals[1](x, memory)
            x = layer.residuals[2](x, layer.feed_forward)
        return self.model.logits(self.model.decoder.norm(x[:, -1]))


# book/11-2-a-fast-decoder.ipynb, cell known-parts
def has_known_parts(model: EncoderDecoder) -> bool:
    """Whether a model is a Transformer of this book's own parts."""
    if type(model) is not Transformer:
        return False
    for layer in model.decoder.layers:
        if type(layer) is not DecoderLayer:
            return False
        own, other = layer.self_attention, layer.memory_attention
        if not (type(own) is type(other) is MultiHeadAttention):
            return False
        if type(own.attention) not in (Attention, FusedAttention, RelativeAttention):
            return False
        if type(other.attention) not in (Attention, FusedAttention):
            return False
    return True


# book/11-2-a-fast-decoder.ipynb, cell engine-for
_KEPT: WeakKeyDictionary[nn.Module, tuple[object, Engine]] = WeakKeyDictionary()


def state_of(model: nn.Module) -> object:
    """Something that differs once a weight has been changed or exchanged."""
    weights = [w.detach() for w in model.parameters()]
    versions = [0 if w.is_inference() else w._version for w in weights]
    total = float(sum(w.sum() for w in weights))  # a change of .data has no version
    return [w.data_ptr() for w in weights], versions, total


def engine_for(model: EncoderDecoder, compute: Compute = "float32") -> StepByStep:
    """An engine for a Transformer of this book's own parts; else the model itself."""
    if not has_known_parts(model):
        if compute == "int8":
            warnings.warn("int8 needs a Transformer: computing as usual", stacklevel=2)
        return model
    model = cast(Transformer, model)
    if next(model.parameters()).device.type != "cpu":
        return Engine(model, compute)  # which has nothing to put in order
    state = compute, state_of(model)
    kept = _KEPT.get(model)
    if kept and kept[0] == state:
        return kept[1]
    engine = Engine(model, compute)
    if engine.model is not model:  # else it would keep its own key alive
        _KEPT[model] = state, engine
    return engine
