"""The numbers of figure 1, counted on our own model: what each block holds and does, as
ready text.

A Transformer on the meta device has every parameter, but no value: even the big one
costs no memory. Torch's own counter finds the products. Nothing here is typed in; the
page and its script only put it in its places.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from aiayn.model.configuration import config
from aiayn.model.recording import recorded_attention
from aiayn.model.transformer import Transformer

SIZES = ("base", "big", "synthetic")
# What the model reads: the source with its end mark, the target after a start mark.
SOURCE = "The cake was sour . ‹end›".split()
TARGET = "‹start› Der Kuchen war sauer .".split()


@dataclass(frozen=True)
class Measured:
    """What was found on one model with the pair, by block.

    `modules` says how many modules a block stands for, `parameters` and `products`
    (multiply-adds of matrix products) what they have together; the whole model's stand
    under "whole". `sizes` go by their symbols.
    """

    modules: dict[str, int]
    parameters: dict[str, int]
    products: dict[str, int]
    sizes: dict[str, int]


def parts(model: Transformer) -> dict[str, list[nn.Module]]:
    """The modules that each block of the figure stands for."""
    encoder: Any = list(model.encoder.layers)
    decoder: Any = list(model.decoder.layers)

    def norms(layers: Any) -> list[nn.Module]:
        return [each.norm for layer in layers for each in layer.residuals]

    return {
        "source-embedding": [model.source_embeddings],
        "source-positions": [model.positions],
        "encoder-attention": [layer.self_attention for layer in encoder],
        "encoder-norm": norms(encoder),
        "encoder-feed-forward": [layer.feed_forward for layer in encoder],
        "memory": [],
        "target-embedding": [model.target_embeddings],
        "target-positions": [model.positions],
        "decoder-attention": [layer.self_attention for layer in decoder],
        "decoder-norm": norms(decoder),
        "cross-attention": [layer.cross_attention for layer in decoder],
        "decoder-feed-forward": [layer.feed_forward for layer in decoder],
        "scores": [model.target_embeddings],
    }


def measure(size: str) -> Measured:
    """Build the model, send the pair through it, and count."""
    shape, n, m = config(size), len(SOURCE), len(TARGET)
    with torch.device("meta"):
        model = Transformer(shape).eval()
        source, target = (torch.ones(1, length, dtype=torch.long) for length in (n, m))
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter, recorded_attention(model):
        model(source, target)
    flops = counter.get_flop_counts().items()
    counted = {name: sum(found.values()) // 2 for name, found in flops}
    names = {id(module): name for name, module in model.named_modules()}
    blocks, products, parameters = parts(model), dict[str, int](), dict[str, int]()
    for block, modules in blocks.items():
        places = [f"Transformer.{names[id(module)]}" for module in modules]
        products[block] = sum(counted.get(place, 0) for place in places)
        parameters[block] = sum(map(size_of, modules))
    # The scores are no module of their own: they are what the model does outside its
    # two stacks.
    stacks = counted["Transformer.encoder"] + counted["Transformer.decoder"]
    products["scores"] = counted["Global"] - stacks
    every = (module for modules in blocks.values() for module in modules)
    named = {weight for module in every for weight in module.parameters()}
    assert named == set(model.parameters()), "a block is missing from figure 1"
    whole = counted["Global"]
    assert sum(products.values()) == whole, "a product is missing from figure 1"
    return Measured(
        {block: len(modules) for block, modules in blocks.items()},
        parameters | {"whole": size_of(model)},
        products | {"whole": whole},
        dict(n=n, m=m, d_model=shape.d_model, d_ff=shape.d_ff, h=shape.h, N=shape.N)
        | dict(d_k=shape.d_k or shape.d_model // shape.h, V=shape.vocabulary_size),
    )


def size_of(module: nn.Module) -> int:
    """The parameters of a module."""
    return sum(parameter.numel() for parameter in module.parameters())


def in_words(count: int) -> str:
    """A large count to three digits."""
    for size, word in ((10**9, "billion"), (10**6, "million"), (10**3, "thousand")):
        if count >= size:
            return f"{float(f'{count / size:.3g}'):g} {word}"
    return str(count)


def share(part: int, whole: int) -> str:
    """A part in percent."""
    return "< 0.1%" if 0 < part < whole / 2000 else f"{100 * part / whole:.1f}%"


def values(figure: dict[str, Any], size: str) -> dict[str, str]:
    """All that the page shows of one model, by name; `figure` is
    book/data/figure-1.yml.
    """
    found = measure(size)
    result = {
        "whole.size": size,
        "whole.parameters": f"{found.parameters['whole']:,}",
        "whole.products": in_words(found.products["whole"]),
        **{f"whole.{name}": f"{value:,}" for name, value in found.sizes.items()},
    }
    for block in (figure["whole"], *figure["blocks"]):
        for row, symbols in enumerate(block["flows"].values()):
            shape = [f"{found.sizes[name]:,}" for name in symbols.split(" × ")]
            result[f"{block['key']}.flow.{row}"] = " × ".join(shape)
    for block in figure["blocks"]:
        result |= block_values(block["key"], found)
    for kind in figure["kinds"]:
        keys = [block["key"] for block in figure["blocks"] if block["kind"] == kind]
        result |= kind_values(kind, keys, found)
    return result


def block_values(key: str, found: Measured) -> dict[str, str]:
    """Parameters and work of one block."""
    held, done = found.parameters[key], found.products[key]
    modules, whole = found.modules[key], found.parameters["whole"]
    each = f"{modules} × {held // modules:,}" if modules > 1 else ""
    return {
        f"{key}.parameters": f"{held:,}" if held else "none",
        f"{key}.parameters-share": share(held, whole) if held else "",
        f"{key}.parameters-each": each,
        f"{key}.parameters-bar": f"{100 * held / whole:.2f}",
        f"{key}.products": in_words(done) if done else "none",
        f"{key}.products-share": share(done, found.products["whole"]) if done else "",
    }


def kind_values(kind: str, keys: list[str], found: Measured) -> dict[str, str]:
    """What all blocks of a kind have together; the embedding's matrix counts once."""
    counted_once = ["scores"] if kind == "embedding" else keys
    held = sum(found.parameters[key] for key in counted_once)
    done = sum(found.products[key] for key in keys)
    return {
        f"{kind}.parameters": share(held, found.parameters["whole"]),
        f"{kind}.parameters-bar": f"{100 * held / found.parameters['whole']:.2f}",
        f"{kind}.products": share(done, found.products["whole"]) if done else "none",
        f"{kind}.products-bar": f"{100 * done / found.products['whole']:.2f}",
    }
