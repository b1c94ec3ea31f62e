"""Attention visualizations (appendix).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/08-attention-visualizations.ipynb
"""

__all__ = [
    "all_heads",
    "attention_at",
    "silenced",
    "loss_of",
    "importance_by_zeroing",
    "importance_by_gradient",
]


# book/08-attention-visualizations.ipynb, cell pruning-imports
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from aiayn.data.batching import Batch
from aiayn.data.vocabulary import PAD_ID
from aiayn.inside.sentence import KINDS, Head, Kind
from aiayn.model.attention import MultiHeadAttention
from aiayn.model.transformer import Transformer


# book/08-attention-visualizations.ipynb, cell pruned
def all_heads(model: Transformer) -> list[Head]:
    """Every head of a model."""
    layers, heads = range(model.config.N), range(model.config.h)
    return [Head(kind, layer, head) for kind in KINDS for layer in layers for head in heads]


def attention_at(model: Transformer, kind: Kind, layer: int) -> MultiHeadAttention:
    """The module in which the heads of that kind and layer are."""
    place = (model.encoder if kind == "encoder" else model.decoder).layers[layer]
    module = place.memory_attention if kind == "cross" else place.self_attention
    assert isinstance(module, MultiHeadAttention)
    return module


@contextmanager
def silenced(model: Transformer, heads: Collection[Head]) -> Iterator[None]:
    """Within it, these heads are silent: their columns of W^O are zero, so nothing of theirs is passed on.

    What they were is put back at the end, to the last bit.
    """
    places = {head[:2]: attention_at(model, *head[:2]) for head in heads}
    before = {place: module.W_O.weight.detach().clone() for place, module in places.items()}
    try:
        with torch.no_grad():
            for head in heads:
                d_v = places[head[:2]].d_v
                places[head[:2]].W_O.weight[:, head.head * d_v : (head.head + 1) * d_v] = 0
        yield
    finally:
        with torch.no_grad():
            for place, module in places.items():
                module.W_O.weight.copy_(before[place])


# book/08-attention-visualizations.ipynb, cell importance
def loss_of(model: Transformer, batch: Batch) -> Float[Tensor, ""]:
    """The mean surprise at a right token, in nats."""
    logits, is_word = model(batch.source, batch.target), batch.labels != PAD_ID
    return F.cross_entropy(logits[is_word], batch.labels[is_word])


def importance_by_zeroing(model: Transformer, batch: Batch) -> dict[Head, float]:
    """How much the loss rises when a head, and it alone, is silent."""
    rise = {}
    with torch.no_grad():
        whole = float(loss_of(model, batch))
        for head in all_heads(model):
            with silenced(model, [head]):
                rise[head] = float(loss_of(model, batch)) - whole
    return rise


def importance_by_gradient(model: Transformer, batch: Batch) -> dict[Head, float]:
    """How fast the loss of a sentence changes as a head is turned down a little, its sign disregarded.

    This is the score of Michel et al. (2019): the mean of |d loss / d gate| over the sentences, where a
    gate, 1 as it is, multiplies what the head gives out.
    """
    gates, handles = dict[tuple[Kind, int], Tensor](), []

    def turn(module: MultiHeadAttention, gate: Tensor, _: object, inputs: tuple[Tensor]) -> tuple[Tensor]:
        return (inputs[0] * gate.repeat_interleave(module.d_v, dim=1)[:, None],)

    try:
        for kind, layer in dict.fromkeys(head[:2] for head in all_heads(model)):
            module = attention_at(model, kind, layer)
            gate = module.W_O.weight.new_ones(len(batch.source), module.h, requires_grad=True)
            gates[kind, layer] = gate
            handles.append(module.W_O.register_forward_pre_hook(partial(turn, module, gate)))
        with torch.enable_grad():
            loss = loss_of(model, batch) * len(batch.source)
            slopes = torch.autograd.grad(loss, list(gates.values()))
    finally:
        for handle in handles:
            handle.remove()
    means = {place: slope.abs().mean(dim=0) for place, slope in zip(gates, slopes, strict=True)}
    return {head: float(means[head[:2]][head.head]) for head in all_heads(model)}
