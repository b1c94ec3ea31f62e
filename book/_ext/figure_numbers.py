"""The numbers of figure 1: what each block holds, does, takes in and gives out, measured on our own model.

A Transformer on the meta device has every parameter and computes every shape, but no value: even the big one
costs no memory. Hooks note the shapes, torch's own counter the products. Nothing here is typed in.
"""

import re
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from aiayn.attention import recorded_attention
from aiayn.laboratory_model import laboratory_model
from aiayn.model import Transformer, TransformerConfig, config
from aiayn.vocabulary import Vocabulary

SIZES = ("base", "big", "laboratory")
SENTENCES = (  # source, target, and whose sentence it is
    ("The cake was sour.", "Der Kuchen war sauer.", "the laboratory"),
    (
        "The animal did not cross the street because it was too tired.",
        "Das Tier überquerte die Straße nicht, weil es zu müde war.",
        "the laboratory",
    ),
    (
        "All human beings are born free and equal in dignity and rights.",
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
        "the Universal Declaration of Human Rights",
    ),
)
Shape = tuple[int, ...]
Flow = tuple[str, Shape]  # symbols, such as n × d_model, and the sizes that they had


@cache
def vocabulary() -> Vocabulary:
    """The laboratory's vocabulary."""
    return laboratory_model()[1]


def shape_of(size: str) -> TransformerConfig:
    """The configuration of that name; the laboratory's is that of its trained model."""
    if size != "laboratory":
        return config(size)
    found = laboratory_model()[0].config
    assert isinstance(found, TransformerConfig)
    return found


def tokens(size: str, sentence: str) -> list[str]:
    """A sentence in tokens: the laboratory's own pieces; for the paper's sizes, words and marks stand in."""
    if size == "laboratory":
        return vocabulary().pieces(vocabulary().encode([sentence])[0][:-1])
    return re.findall(r"\w+|[^\w\s]", sentence)


@dataclass(frozen=True)
class Measured:
    """What was found on one model with one pair of `n` source and `m` target tokens, by block.

    `modules` says how many modules a block stands for, `parameters` and `products` (multiply-adds of matrix
    products) what they have together, `shapes` what flows there.
    """

    modules: dict[str, int]
    parameters: dict[str, int]
    products: dict[str, int]
    shapes: dict[str, list[Flow]]
    sizes: dict[str, int]
    all_parameters: int
    all_products: int


def parts(model: Transformer) -> dict[str, list[nn.Module]]:
    """The modules that each block of the figure stands for."""
    encoder: Any = list(model.encoder.layers)
    decoder: Any = list(model.decoder.layers)
    return {
        "source-embedding": [model.source_embeddings],
        "source-positions": [model.positions],
        "encoder-attention": [layer.self_attention for layer in encoder],
        "encoder-norm": [residual.norm for layer in encoder for residual in layer.residuals],
        "encoder-feed-forward": [layer.feed_forward for layer in encoder],
        "target-embedding": [model.target_embeddings],
        "target-positions": [model.positions],
        "decoder-attention": [layer.self_attention for layer in decoder],
        "decoder-norm": [residual.norm for layer in decoder for residual in layer.residuals],
        "memory-attention": [layer.memory_attention for layer in decoder],
        "decoder-feed-forward": [layer.feed_forward for layer in decoder],
        "scores": [model.target_embeddings],
    }


@cache
def measure(shape: TransformerConfig, n: int, m: int) -> Measured:
    """Build the model, send a pair through it, and note what happens."""
    with torch.device("meta"):
        model = Transformer(shape).eval()
        source, target = (torch.ones(1, length, dtype=torch.long) for length in (n, m))
    names = {id(module): name for name, module in model.named_modules()}
    seen: dict[str, list[list[Shape]]] = {}  # by module and call: what went in and, last, what came out

    def note(name: str, _: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        shapes = [tuple(x.shape[1:]) for x in (*inputs, output) if isinstance(x, Tensor)]
        seen.setdefault(name, []).append(shapes)

    for name, module in model.named_modules():
        module.register_forward_hook(partial(note, name))
    with torch.no_grad(), FlopCounterMode(display=False) as counter, recorded_attention(model) as weights:
        model(source, target)
    counted = {name: sum(found.values()) // 2 for name, found in counter.get_flop_counts().items()}
    blocks = parts(model)
    products = {
        block: sum(counted.get(f"Transformer.{names[id(module)]}", 0) for module in modules)
        for block, modules in blocks.items()
    }
    # The scores are no module of their own: they are what the model does outside its two stacks.
    stacks = counted["Transformer.encoder"] + counted["Transformer.decoder"]
    products["scores"] = counted["Global"] - stacks
    named = {p for modules in blocks.values() for module in modules for p in module.parameters()}
    assert named == set(model.parameters()), "a block is missing from figure 1"
    assert sum(products.values()) == counted["Global"], "a product is missing from figure 1"
    return Measured(
        {block: len(modules) for block, modules in blocks.items()},
        {block: sum(p.numel() for x in modules for p in x.parameters()) for block, modules in blocks.items()},
        products,
        flows(seen, {name: tuple(found.shape[1:]) for name, found in weights.items()}),
        dict(n=n, m=m, d_model=shape.d_model, d_ff=shape.d_ff, h=shape.h, N=shape.N)
        | dict(d_k=shape.d_k or shape.d_model // shape.h, V=shape.vocabulary_size),
        sum(p.numel() for p in model.parameters()),
        counted["Global"],
    )


def flows(seen: dict[str, list[list[Shape]]], weights: dict[str, Shape]) -> dict[str, list[Flow]]:
    """What flows through each block: its symbols, and its shape in this forward pass."""
    embedded, added, outside = seen["target_embeddings"], seen["positions"], seen[""][0]

    def attention(path: str, queries: str, keys: str) -> list[Flow]:
        Q, K, V, *_ = seen[f"{path}.attention"][0]
        assert K == V
        inputs = [(f"{queries} × d_model", seen[path][0][0])]
        if path.endswith("memory_attention"):
            inputs.append((f"{keys} × d_model", seen[path][0][1]))
        inside = [(f"h × {queries} × d_k", Q), (f"h × {keys} × d_k", K)]
        between = [(f"h × {queries} × {keys}", weights[path])]
        return [*inputs, *inside, *between, (f"{queries} × d_model", seen[path][0][-1])]

    def through(path: str, *symbols: str) -> list[Flow]:
        shapes = seen[path][0]
        return [(symbols[0], shapes[0]), (symbols[-1], shapes[-1])]

    found = {"whole": [("n", outside[0]), ("m", outside[1]), ("m × V", outside[-1])]}
    for call, (side, length) in enumerate((("source", "n"), ("target", "m"))):
        numbers, vectors = embedded[call]
        found[f"{side}-embedding"] = [(length, numbers), (f"{length} × d_model", vectors)]
        found[f"{side}-positions"] = [(f"{length} × d_model", shape) for shape in added[call]]
    for side, length in (("encoder", "n"), ("decoder", "m")):
        layer, width = f"{side}.layers.0", f"{length} × d_model"
        found[f"{side}-attention"] = attention(f"{layer}.self_attention", length, length)
        found[f"{side}-norm"] = through(f"{layer}.residuals.0", width, width)
        inner = (f"{length} × d_ff", seen[f"{layer}.feed_forward.W_1"][0][-1])
        first, last = through(f"{layer}.feed_forward", width, width)
        found[f"{side}-feed-forward"] = [first, inner, last]
    found["memory"] = [("n × d_model", seen["encoder"][0][-1])]
    found["memory-attention"] = attention("decoder.layers.0.memory_attention", "m", "n")
    found["scores"] = [("m × d_model", seen["decoder"][0][-1]), ("m × V", outside[-1])]
    return found
