# Made by `make export` from book/3-workshop/12-visualizations.ipynb
"""Greedy decoding step by step, one pass through the decoder for each token."""

# book/3-workshop/12-visualizations.ipynb, cell film-imports
import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from aiayn.model.transformer import Transformer
from aiayn.visualization.widget import html_widget


# book/3-workshop/12-visualizations.ipynb, cell film
@dataclass(frozen=True)
class Pass:
    """One pass of the decoder: what it reads, what it has kept, what comes next."""

    reads: str
    keys: list[int]  # shape of the keys that each layer has at the end: (1, h, t, d_k)
    best: list[tuple[str, float]]


@dataclass(frozen=True)
class DecodingSteps:
    """Greedy decoding, pass by pass, to look at in a notebook (section 3.1).

    Attributes
    ----------
    source : list of str
        The words of the source.
    layers : int
        Layers of the decoder.
    passes : list of Pass
        A pass for each word written, the end mark included.
    """

    source: list[str]
    layers: int
    passes: list[Pass]

    def _repr_html_(self) -> str:
        return html_widget("decoding", self.table(), asdict(self))

    def table(self) -> str:
        """All passes as a table in HTML, for readers without JavaScript."""
        rows = ["<tr><th>pass</th><th>reads</th><th>keys kept</th><th>next</th></tr>"]
        for number, each in enumerate(self.passes, start=1):
            word, share = each.best[0]
            cells = [each.reads, str(tuple(each.keys)), f"{word} ({share:.0%})"]
            columns = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            rows.append(f'<tr><th scope="row">{number}</th>{columns}</tr>')
        return f"<table>{''.join(rows)}</table>"


# book/3-workshop/12-visualizations.ipynb, cell film-of
@torch.no_grad()
def trace_decoding(
    model: Transformer,
    source: Int[Tensor, "1 n"],
    words: Sequence[str],
    start: int,
    end: int,
    longest: int = 50,
) -> DecodingSteps:
    """Trace greedy decoding of one source; `words` names the tokens.

    It ends with the token `end`, or after `longest` passes.
    """
    state = model.start(source)
    token, passes = start, list[Pass]()
    while len(passes) < longest and not (passes and token == end):
        reads = words[token]
        logits = model.step(source.new_tensor([[token]]), state)
        shares, tokens = logits[0].softmax(dim=-1).topk(min(4, len(words)))
        best = [
            (words[int(each)], round(float(share), 3))
            for each, share in zip(tokens, shares, strict=True)
        ]
        cached = state.caches[0].target.kept
        assert cached is not None
        passes.append(Pass(reads, list(cached[0].shape), best))
        token = int(tokens[0])
    names = [words[token] for token in source[0].tolist()]
    return DecodingSteps(names, len(state.caches), passes)
