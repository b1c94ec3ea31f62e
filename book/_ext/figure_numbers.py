"""The numbers of figure 1, counted on our own model: what each block holds and does, as ready text.

A Transformer on the meta device has every parameter, but no value: even the big one costs no memory. Torch's
own counter finds the products. Nothing here is typed in; the page and its script only put it in its places.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from aiayn.data.vocabulary import Vocabulary
from aiayn.laboratory_model import laboratory_model
from aiayn.model.configuration import TransformerConfig, config
from aiayn.model.kernels import recorded_attention
from aiayn.model.transformer import Transformer

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
END, START = "‹/s›", "‹s›"
Values = dict[str, Any]


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
    products) what they have together; the whole model's stand under "whole". `sizes` go by their symbols.
    """

    modules: dict[str, int]
    parameters: dict[str, int]
    products: dict[str, int]
    sizes: dict[str, int]


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
        "memory": [],
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
    """Build the model, send a pair through it, and count."""
    with torch.device("meta"):
        model = Transformer(shape).eval()
        source, target = (torch.ones(1, length, dtype=torch.long) for length in (n, m))
    with torch.no_grad(), FlopCounterMode(display=False) as counter, recorded_attention(model):
        model(source, target)
    counted = {name: sum(found.values()) // 2 for name, found in counter.get_flop_counts().items()}
    names = {id(module): name for name, module in model.named_modules()}
    blocks = parts(model)
    products = {
        block: sum(counted.get(f"Transformer.{names[id(module)]}", 0) for module in modules)
        for block, modules in blocks.items()
    }
    # The scores are no module of their own: they are what the model does outside its two stacks.
    products["scores"] = counted["Global"] - counted["Transformer.encoder"] - counted["Transformer.decoder"]
    named = {p for modules in blocks.values() for module in modules for p in module.parameters()}
    assert named == set(model.parameters()), "a block is missing from figure 1"
    assert sum(products.values()) == counted["Global"], "a product is missing from figure 1"
    parameters = {block: sum(map(size_of, modules)) for block, modules in blocks.items()}
    return Measured(
        {block: len(modules) for block, modules in blocks.items()},
        parameters | {"whole": size_of(model)},
        products | {"whole": counted["Global"]},
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


def abridged(words: list[str]) -> str:
    """Words that fit into the drawing."""
    whole = " ".join(words)
    return whole if len(whole) <= 20 else f"{' '.join(words[:2])} … {words[-1]}"


def chips(size: str, pieces: list[str]) -> list[tuple[str, bool]]:
    """Tokens as they are shown: ▁ begins a word; a piece without it belongs to the one before."""
    inside = [size == "laboratory" and piece[0] != "▁" and piece not in (START, END) for piece in pieces]
    return [(piece.removeprefix("▁") or "▁", joined) for piece, joined in zip(pieces, inside, strict=True)]


def note(size: str, whose: str) -> str:
    """What a token is here, in a sentence that is from `whose`."""
    begin = f"The sentence is from {whose}."
    if size != "laboratory":
        return (
            f"{begin} Words and marks are counted as tokens here; the paper's models had pieces of words, "
            "from a vocabulary that only their own corpus can make."
        )
    text = f"{begin} Tokens are the pieces that the laboratory's own vocabulary makes of it."
    if whose != "the laboratory":
        text += " It never met these words, so it has to spell most of them."
    return text


def values(figure: dict[str, Any], size: str, sentence: int) -> Values:
    """All that the page shows of one model and one sentence, by name; `figure` is book/figure-1.yml."""
    english, german, whose = SENTENCES[sentence]
    # What the model reads: the source with its end mark, the target after a start mark.
    source, target = [*tokens(size, english), END], [START, *tokens(size, german)]
    found = measure(shape_of(size), len(source), len(target))
    spoken = re.findall(r"\w+", german)
    result: Values = {
        "tokens.source": chips(size, source),
        "tokens.target": chips(size, target),
        "tokens.note": note(size, whose),
        "figure.source": abridged(re.findall(r"\w+", english)),
        "figure.target": abridged([START, *spoken[:-1]]),
        "figure.next": spoken[-1],
        "figure.N": str(found.sizes["N"]),
        "figure.d_model": str(found.sizes["d_model"]),
        "whole.size": size,
        "whole.parameters": f"{found.parameters['whole']:,}",
        "whole.products": in_words(found.products["whole"]),
        **{f"whole.{name}": f"{value:,}" for name, value in found.sizes.items()},
    }
    for block in figure["blocks"]:
        result |= block_values(block["key"], found)
    for block in (figure["whole"], *figure["blocks"]):
        for row, symbols in enumerate(block["flows"].values()):
            shape = [f"{found.sizes[name]:,}" for name in symbols.split(" × ")]
            result[f"{block['key']}.flow.{row}"] = " × ".join(shape)
    for kind in figure["kinds"]:
        result |= kind_values(
            kind, [block["key"] for block in figure["blocks"] if block["kind"] == kind], found
        )
    return result


def block_values(key: str, found: Measured) -> Values:
    """Parameters and work of one block."""
    held, done = found.parameters[key], found.products[key]
    modules = found.modules[key]
    return {
        f"{key}.parameters": f"{held:,}" if held else "none",
        f"{key}.parameters-share": share(held, found.parameters["whole"]) if held else "",
        f"{key}.parameters-each": f"{modules} × {held // modules:,}" if modules > 1 else "",
        f"{key}.parameters-bar": f"{100 * held / found.parameters['whole']:.2f}",
        f"{key}.products": in_words(done) if done else "none",
        f"{key}.products-share": share(done, found.products["whole"]) if done else "",
        f"{key}.products-each": "",
    }


def kind_values(kind: str, keys: list[str], found: Measured) -> Values:
    """What all blocks of a kind have together; the embedding's matrix counts once."""
    held = found.parameters["scores"] if kind == "embedding" else sum(found.parameters[key] for key in keys)
    done = sum(found.products[key] for key in keys)
    return {
        f"{kind}.parameters": share(held, found.parameters["whole"]),
        f"{kind}.parameters-bar": f"{100 * held / found.parameters['whole']:.2f}",
        f"{kind}.products": share(done, found.products["whole"]) if done else "none",
        f"{kind}.products-bar": f"{100 * done / found.products['whole']:.2f}",
    }
