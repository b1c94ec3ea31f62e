# Made by `make export` from book/3-workshop/12-visualizations.ipynb
"""Models with some heads ablated, and what each head contributes."""

# book/3-workshop/12-visualizations.ipynb, cell pruning-imports
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from aiayn.analysis.attention_maps import KINDS, MODULE_PATHS, AttentionKind, Head
from aiayn.data.batching import Batch
from aiayn.data.vocabulary import PAD_ID
from aiayn.model.attention import MultiHeadAttention
from aiayn.model.recording import wrapped_attention
from aiayn.model.transformer import Transformer


# book/3-workshop/12-visualizations.ipynb, cell pruned
def all_heads(model: Transformer) -> list[Head]:
    """Every head of a model."""
    heads = list[Head]()
    for kind in KINDS:
        stack = model.encoder if kind == "encoder" else model.decoder
        for layer in range(len(stack.layers)):
            h = attention_at(model, kind, layer).h
            heads += [Head(kind, layer, head) for head in range(h)]
    return heads


def attention_at(
    model: Transformer, kind: AttentionKind, layer: int
) -> MultiHeadAttention:
    """The module in which the heads of that kind and layer are."""
    module = model.get_submodule(MODULE_PATHS[kind].format(layer))
    assert isinstance(module, MultiHeadAttention)
    return module


@contextmanager
def zero_ablation(model: Transformer, heads: Collection[Head]) -> Iterator[None]:
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


# book/3-workshop/12-visualizations.ipynb, cell mean-outputs
def patch_heads(
    model: Transformer,
    heads: Collection[Head],
    change: Callable[[tuple[AttentionKind, int], Tensor, Tensor], Tensor],
) -> AbstractContextManager[None]:
    """Within it, `change` turns what the places of these heads give out into others.

    It is given the kind and the layer, what all heads there give out, and the weights.
    """
    changes = {
        f"{MODULE_PATHS[kind].format(layer)}.attention": partial(change, (kind, layer))
        for kind, layer, _ in heads
    }
    return wrapped_attention(model, changes)


@torch.no_grad()
def mean_head_outputs(
    model: Transformer, batch: Batch
) -> dict[tuple[AttentionKind, int], Float[Tensor, "h d_v"]]:
    """What the heads of each place give out on average, over all words of a batch."""
    means = dict[tuple[AttentionKind, int], Tensor]()

    def keep(place: tuple[AttentionKind, int], heads: Tensor, _: Tensor) -> Tensor:
        tokens = batch.source if place[0] == "encoder" else batch.target
        means[place] = heads.transpose(1, 2)[tokens != PAD_ID].mean(dim=0)
        return heads

    with patch_heads(model, all_heads(model), keep):
        model(batch.source, batch.target)
    return means


# book/3-workshop/12-visualizations.ipynb, cell averaged
def mean_ablation(
    model: Transformer,
    heads: Collection[Head],
    means: dict[tuple[AttentionKind, int], Tensor],
) -> AbstractContextManager[None]:
    """Within it, these heads give out their mean, whatever they look at."""

    def replace(place: tuple[AttentionKind, int], outputs: Tensor, _: Tensor) -> Tensor:
        chosen = [head.head for head in heads if head[:2] == place]
        outputs[:, chosen] = means[place][chosen, None]
        return outputs

    return patch_heads(model, heads, replace)


# book/3-workshop/12-visualizations.ipynb, cell importance-by-zeroing
def token_loss(model: Transformer, batch: Batch) -> Float[Tensor, ""]:
    """The mean surprise at a right token, in nats."""
    logits, is_word = model(batch.source, batch.target), batch.labels != PAD_ID
    return F.cross_entropy(logits[is_word], batch.labels[is_word])


def importance_by_ablation(model: Transformer, batch: Batch) -> dict[Head, float]:
    """How much the loss rises when a head, and it alone, is silent."""
    rise = {}
    with torch.no_grad():
        whole = float(token_loss(model, batch))
        for head in all_heads(model):
            with zero_ablation(model, [head]):
                rise[head] = float(token_loss(model, batch)) - whole
    return rise
