"""Models with some heads silenced, and what each head contributes.

From "Pages to look at":
https://github.com/OWNER/aiayn/blob/main/book/11-11-pages-to-look-at.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-11-pages-to-look-at.ipynb, cell pruning-imports
from collections import defaultdict
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


# book/11-11-pages-to-look-at.ipynb, cell pruned
def all_heads(model: Transformer) -> list[Head]:
    """Every head of a model."""
    layers, heads = range(model.config.N), range(model.config.h)
    return [
        Head(kind, layer, head) for kind in KINDS for layer in layers for head in heads
    ]


def attention_at(model: Transformer, kind: Kind, layer: int) -> MultiHeadAttention:
    """The module in which the heads of that kind and layer are."""
    place = (model.encoder if kind == "encoder" else model.decoder).layers[layer]
    module = place.memory_attention if kind == "cross" else place.self_attention
    assert isinstance(module, MultiHeadAttention)
    return module


@contextmanager
def silenced(model: Transformer, heads: Collection[Head]) -> Iterator[None]:
    """Within it, these heads are silent: nothing of theirs is passed on.

    Their columns of W^O are zero; what they were is put back at the end, to the last
    bit.
    """
    places = {head[:2]: attention_at(model, *head[:2]) for head in heads}
    before = {
        place: module.W_O.weight.detach().clone() for place, module in places.items()
    }
    try:
        with torch.no_grad():
            for head in heads:
                module = places[head[:2]]
                first = head.head * module.d_v
                module.W_O.weight[:, first : first + module.d_v] = 0
        yield
    finally:
        with torch.no_grad():
            for place, module in places.items():
                module.W_O.weight.copy_(before[place])


# book/11-11-pages-to-look-at.ipynb, cell mean-outputs
@torch.no_grad()
def mean_outputs(
    model: Transformer, batch: Batch
) -> dict[tuple[Kind, int], Float[Tensor, " width"]]:
    """What the heads of each place give out on average, over all words of a batch."""
    means, handles = dict[tuple[Kind, int], Tensor](), []

    def keep(
        place: tuple[Kind, int], tokens: Tensor, _: object, inputs: tuple[Tensor]
    ) -> None:
        means[place] = inputs[0][tokens != PAD_ID].mean(dim=0)

    try:
        for kind, layer in dict.fromkeys(head[:2] for head in all_heads(model)):
            tokens = batch.source if kind == "encoder" else batch.target
            output = attention_at(model, kind, layer).W_O
            hook = partial(keep, (kind, layer), tokens)
            handles.append(output.register_forward_pre_hook(hook))
        model(batch.source, batch.target)
    finally:
        for handle in handles:
            handle.remove()
    return means


# book/11-11-pages-to-look-at.ipynb, cell averaged
@contextmanager
def averaged(
    model: Transformer, heads: Collection[Head], means: dict[tuple[Kind, int], Tensor]
) -> Iterator[None]:
    """Within it, these heads give out their mean, whatever they look at."""

    def replace(
        columns: Tensor, mean: Tensor, _: object, inputs: tuple[Tensor]
    ) -> tuple[Tensor]:
        return (torch.where(columns, mean, inputs[0]),)

    handles = []
    try:
        for place in dict.fromkeys(head[:2] for head in heads):
            module = attention_at(model, *place)
            chosen = torch.tensor([head.head for head in heads if head[:2] == place])
            columns = torch.isin(torch.arange(module.h), chosen)
            hook = partial(replace, columns.repeat_interleave(module.d_v), means[place])
            handles.append(module.W_O.register_forward_pre_hook(hook))
        yield
    finally:
        for handle in handles:
            handle.remove()


# book/11-11-pages-to-look-at.ipynb, cell importance-by-zeroing
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


# book/11-11-pages-to-look-at.ipynb, cell importance-by-gradient
def importance_by_gradient(model: Transformer, batch: Batch) -> dict[Head, float]:
    """How fast the loss of a sentence changes as a head is turned down a little.

    The mean of |d loss / d gate| over the sentences, where a gate, 1 as it is,
    multiplies what the head gives out. The score of Michel et al. (2019) is this, then
    `per_layer`.
    """
    gates, handles = dict[tuple[Kind, int], Tensor](), []

    def turn(
        module: MultiHeadAttention, gate: Tensor, _: object, inputs: tuple[Tensor]
    ) -> tuple[Tensor]:
        return (inputs[0] * gate.repeat_interleave(module.d_v, dim=1)[:, None],)

    try:
        for kind, layer in dict.fromkeys(head[:2] for head in all_heads(model)):
            module = attention_at(model, kind, layer)
            shape = len(batch.source), module.h
            gate = module.W_O.weight.new_ones(shape, requires_grad=True)
            gates[kind, layer] = gate
            hook = partial(turn, module, gate)
            handles.append(module.W_O.register_forward_pre_hook(hook))
        with torch.enable_grad():
            loss = loss_of(model, batch) * len(batch.source)
            slopes = torch.autograd.grad(loss, list(gates.values()))
    finally:
        for handle in handles:
            handle.remove()
    each = zip(gates, slopes, strict=True)
    means = {place: slope.abs().mean(dim=0) for place, slope in each}
    return {head: float(means[head[:2]][head.head]) for head in all_heads(model)}


# book/11-11-pages-to-look-at.ipynb, cell per-layer
def per_layer(scores: dict[Head, float]) -> dict[Head, float]:
    """Scores divided by their layer's Euclidean norm, as Michel et al. (2019) do."""
    norms = defaultdict[tuple[Kind, int], float](float)
    for head, score in scores.items():
        norms[head[:2]] += score**2
    return {head: score / norms[head[:2]] ** 0.5 for head, score in scores.items()}
