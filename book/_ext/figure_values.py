"""What the explorable figure 1 shows, as ready text: the page and its script only put it in its places."""

import re
from typing import Any

from figure_blocks import BLOCKS, KINDS, WHOLE, Block
from figure_numbers import SENTENCES, Measured, measure, shape_of, tokens

END, START = "‹/s›", "‹s›"
Values = dict[str, Any]


def number(count: int) -> str:
    """A count with its thousands apart."""
    return f"{count:,}"


def in_words(count: int) -> str:
    """A large count to three digits."""
    for size, word in ((10**9, "billion"), (10**6, "million"), (10**3, "thousand")):
        if count >= size:
            return f"{float(f'{count / size:.3g}'):g} {word}"
    return str(count)


def share(part: int, whole: int) -> str:
    """A part in percent."""
    return "< 0.1%" if 0 < part < whole / 2000 else f"{100 * part / whole:.1f}%"


def bar(part: int, whole: int) -> str:
    """A part in percent, as the length of a bar."""
    return f"{100 * part / whole:.2f}"


def abridged(words: list[str]) -> str:
    """Words that fit into the drawing."""
    whole = " ".join(words)
    return whole if len(whole) <= 20 else f"{' '.join(words[:2])} … {words[-1]}"


def pair(size: str, sentence: int) -> tuple[list[str], list[str]]:
    """What the model reads on either side: the source with its end mark, the target after a start mark."""
    source, target, _ = SENTENCES[sentence]
    return [*tokens(size, source), END], [START, *tokens(size, target)]


def chips(size: str, pieces: list[str]) -> list[tuple[str, bool]]:
    """Tokens as they are shown: ▁ begins a word; a piece without it belongs to the one before."""
    inside = [size == "laboratory" and piece[0] != "▁" and piece not in (START, END) for piece in pieces]
    return [(piece.removeprefix("▁") or "▁", joined) for piece, joined in zip(pieces, inside, strict=True)]


def note(size: str, sentence: int) -> str:
    """What a token is here."""
    source = SENTENCES[sentence][2]
    whose = f"The sentence is from {source}. "
    if size != "laboratory":
        return (
            f"{whose}Words and marks are counted as tokens here; the paper's models had pieces of words, "
            "from a vocabulary that only their own corpus can make."
        )
    strange = (
        "" if source == "the laboratory" else " It never met these words, so it has to spell most of them."
    )
    return f"{whose}Tokens are the pieces that the laboratory's own vocabulary makes of it.{strange}"


def values(size: str, sentence: int) -> Values:
    """All that the page shows of one model and one sentence, by name."""
    source, target = pair(size, sentence)
    found = measure(shape_of(size), len(source), len(target))
    english, german = (re.findall(r"\w+", text) for text in SENTENCES[sentence][:2])
    result: Values = {
        "tokens.source": chips(size, source),
        "tokens.target": chips(size, target),
        "tokens.note": note(size, sentence),
        "figure.source": abridged(english),
        "figure.target": abridged([START, *german[:-1]]),
        "figure.next": german[-1],
        "figure.N": str(found.sizes["N"]),
        "figure.d_model": str(found.sizes["d_model"]),
        "whole.size": size,
        "whole.parameters": number(found.all_parameters),
        "whole.products": in_words(found.all_products),
        **{f"whole.{name}": number(value) for name, value in found.sizes.items()},
    }
    for block in BLOCKS:
        result |= block_values(block, found)
    for block in (*BLOCKS, WHOLE):
        result |= flow_values(block, found)
    for kind in KINDS:
        result |= kind_values(kind, found)
    return result


def block_values(block: Block, found: Measured) -> Values:
    """Parameters and work of one block."""
    held, done = found.parameters.get(block.key, 0), found.products.get(block.key, 0)
    modules = found.modules.get(block.key, 1)
    return {
        f"{block.key}.parameters": number(held) if held else "none",
        f"{block.key}.parameters-share": share(held, found.all_parameters) if held else "",
        f"{block.key}.parameters-each": f"{modules} × {number(held // modules)}" if modules > 1 else "",
        f"{block.key}.parameters-bar": bar(held, found.all_parameters),
        f"{block.key}.products": in_words(done) if done else "none",
        f"{block.key}.products-share": share(done, found.all_products) if done else "",
        f"{block.key}.products-each": "",
    }


def flow_values(block: Block, found: Measured) -> Values:
    """The shapes of what flows there; what the symbols beside them promise is what came."""
    result = {}
    for row, (symbols, shape) in enumerate(found.shapes[block.key]):
        promised = tuple(found.sizes[name] for name in symbols.split(" × "))
        assert promised == shape, f"{block.key}: {symbols} is {promised}, but {shape} came"
        result[f"{block.key}.flow.{row}"] = " × ".join(map(number, shape))
    return result


def kind_values(kind: str, found: Measured) -> Values:
    """What all blocks of a kind have together; the embedding's matrix counts once."""
    keys = [block.key for block in BLOCKS if block.kind == kind]
    held = found.parameters["scores"] if kind == "embedding" else sum(found.parameters[key] for key in keys)
    done = sum(found.products[key] for key in keys)
    return {
        f"{kind}.parameters": share(held, found.all_parameters),
        f"{kind}.parameters-bar": bar(held, found.all_parameters),
        f"{kind}.products": share(done, found.all_products) if done else "none",
        f"{kind}.products-bar": bar(done, found.all_products),
    }
