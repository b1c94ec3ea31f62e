# Made by `make export` from book/3-workshop/12-visualizations.ipynb
"""A picture of attention for one word, computed step by step."""

# book/3-workshop/12-visualizations.ipynb, cell steps-imports
import html
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from aiayn.analysis.attention_maps import END, TrainedModel
from aiayn.errors import InputError
from aiayn.model.layers import EncoderLayer
from aiayn.model.transformer import Transformer
from aiayn.translation.translator import Translator
from aiayn.visualization.widget import html_widget

# book/3-workshop/12-visualizations.ipynb, cell attention-steps
Vectors = list[list[list[float]]]  # (h, words, d_k)


@dataclass(frozen=True)
class SentenceVectors:
    """What one layer's attention makes of a sentence."""

    words: list[str]  # what attends, and is attended to
    Q: Vectors  # queries of all heads
    K: Vectors  # keys
    V: Vectors  # values


@dataclass(frozen=True)
class AttentionSteps:
    """Attention of one word, step by step, to look at in a notebook (section 3.2.1)."""

    sentences: Mapping[str, SentenceVectors]  # by the name of their button
    word: int = 0  # what is shown at first, counted from 0
    head: int = 0  # likewise

    def _repr_html_(self) -> str:
        sentences = {name: asdict(each) for name, each in self.sentences.items()}
        shown = {"sentences": sentences, "word": self.word, "head": self.head}
        first = next(iter(self.sentences.values()))
        return html_widget("steps", steps_table(first, self.word, self.head), shown)


# book/3-workshop/12-visualizations.ipynb, cell steps-table
def steps_table(sentence: SentenceVectors, word: int, head: int) -> str:
    """One word and one head in HTML, for readers without JavaScript."""
    query = torch.tensor(sentence.Q)[head, word]
    K, V = (torch.tensor(each)[head] for each in (sentence.K, sentence.V))
    products, root = K @ query, math.sqrt(len(query))
    weights = (products / root).softmax(dim=0)
    name = html.escape(sentence.words[word])
    rows = [
        f"<caption>Head {head + 1}. Query of “{name}”: {strip(query, 'q')}</caption>"
        '<thead><tr><th scope="col">key</th><td class="st-wide"></td>'
        f'<th scope="col">q · k</th><th scope="col">÷ √{len(query)}</th>'
        '<th scope="col">weight</th><td></td><th scope="col">value</th></tr></thead>'
    ]
    for each, *row in zip(sentence.words, K, products, weights, V, strict=True):
        key, product, weight, value = row
        scores = f"{product:.2f}</td><td class='n'>{product / root:.2f}</td>"
        bar = f'<i style="width:{weight * 60:.0f}px"></i>'
        rows.append(
            f'<tr><th scope="row">{html.escape(each)}</th>'
            f'<td class="st-wide">{strip(key, "k")}</td>'
            f"<td class='n'>{scores.replace('-', '−')}"
            f"<td class='n'>{weight:.0%}</td><td>{bar}</td>"
            f"<td>{strip(value, 'v')}</td></tr>"
        )
    output = strip(weights @ V, "o")
    return (
        f"<table>{''.join(rows)}</table><p>The output for “{name}”, the values times "
        f"their weights, added: {output}</p>"
    )


def strip(vector: Float[Tensor, " d_k"], kind: str) -> str:
    """A vector as bars, up or down, in the colour of its kind, in SVG."""
    top = max(float(vector.abs().max()), 1e-9)
    bars = (
        f"M{5 * place + 2} 12v{-11 * number / top:.1f}"
        for place, number in enumerate(vector.tolist())
    )
    numbers = ", ".join(f"{number:.2f}" for number in vector.tolist())
    return (
        f'<svg role="img" aria-label="{numbers}" width="{5 * len(vector)}" height="24">'
        f'<path d="{"".join(bars)}" stroke="var(--{kind})" stroke-width="4"/></svg>'
    )


# book/3-workshop/12-visualizations.ipynb, cell steps-of
def trace_attention(model: TrainedModel, source: str, layer: int) -> SentenceVectors:
    """The vectors of self-attention in one layer of the encoder, to two decimals.

    Layers are counted from 0.

    Raises
    ------
    InputError
        If the model is no Transformer, or has no such layer.
    """
    translator = model if isinstance(model, Translator) else Translator(*model)
    network, vocabulary = translator.model, translator.vocabulary
    if not isinstance(network, Transformer):
        raise InputError(
            "only Transformers have heads to look at; choose another model"
        )
    if layer not in range(layers := len(network.encoder.layers)):
        raise InputError(f"layer {layer}: there are {layers}, from 0 on")
    device = next(network.parameters()).device
    tokens = torch.tensor(vocabulary.encode([source]), device=device)
    below, chosen = network.encoder.layers[:layer], network.encoder.layers[layer]
    assert isinstance(chosen, EncoderLayer)
    with torch.no_grad():
        x = network.positions(network.source_embeddings(tokens))
        for each in below:
            x = each(x)
        vectors = chosen.self_attention.projections.project(x)
    # Not every device has numbers of 64 bits, which end after two decimals.
    heads = (each[0].cpu().numpy().astype(float) for each in vectors)
    Q, K, V = (each.round(2).tolist() for each in heads)
    pieces = vocabulary.pieces(tokens[0, :-1].tolist())
    words = [*(piece.removeprefix("▁") for piece in pieces), END]
    return SentenceVectors(words, Q, K, V)
