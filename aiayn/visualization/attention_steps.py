# Made by `make export` from book/3-workshop/12-visualizations.ipynb
"""A picture of attention for one word, computed step by step."""

# book/3-workshop/12-visualizations.ipynb, cell steps-imports
import html
import math
from dataclasses import asdict, dataclass

import torch

from aiayn.analysis.attention_maps import TrainedModel
from aiayn.errors import InputError
from aiayn.model.layers import EncoderLayer
from aiayn.model.transformer import Transformer
from aiayn.translation.translator import Translator
from aiayn.visualization.widget import html_widget

# book/3-workshop/12-visualizations.ipynb, cell attention-steps
Vectors = list[list[list[float]]]  # (h, words, d_k)


@dataclass(frozen=True)
class AttentionSteps:
    """Attention of one word, step by step, to look at in a notebook (section 3.2.1)."""

    words: list[str]  # what attends, and is attended to
    Q: Vectors  # queries of all heads
    K: Vectors  # keys
    V: Vectors  # values
    word: int = 0  # what is shown at first, counted from 0
    head: int = 0  # likewise

    def _repr_html_(self) -> str:
        return html_widget("steps", self.table(), asdict(self))

    def table(self) -> str:
        """The numbers of the word shown, in HTML, for readers without JavaScript."""
        q = torch.tensor(self.Q)[self.head, self.word]
        K = torch.tensor(self.K)[self.head]
        scores = K @ q / math.sqrt(len(q))
        shown = html.escape(self.words[self.word])
        rows = [
            f"<caption>Head {self.head + 1}: “{shown}”</caption>",
            f"<tr><th></th><th>q · k</th><th>÷ √{len(q)}</th><th>weight</th></tr>",
        ]
        lines = zip(self.words, K @ q, scores, scores.softmax(dim=0), strict=True)
        for word, product, score, weight in lines:
            cells = f"<td>{product:.2f}</td><td>{score:.2f}</td><td>{weight:.0%}</td>"
            rows.append(f'<tr><th scope="row">{html.escape(word)}</th>{cells}</tr>')
        return f"<table>{''.join(rows)}</table>"


# book/3-workshop/12-visualizations.ipynb, cell steps-of
def trace_attention(model: TrainedModel, source: str, layer: int) -> AttentionSteps:
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
    words = [piece.removeprefix("▁") for piece in vocabulary.pieces(tokens[0].tolist())]
    return AttentionSteps(words, Q, K, V)
