"""An animation of greedy decoding, one pass through the decoder for each token.

From "Pages to look at":
https://github.com/OWNER/aiayn/blob/main/book/11-11-pages-to-look-at.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-11-pages-to-look-at.ipynb, cell film-imports
import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from aiayn.inside.widget import widget
from aiayn.model.transformer import Transformer


# book/11-11-pages-to-look-at.ipynb, cell film
@dataclass(frozen=True)
class Pass:
    """One pass of the decoder: what it reads, what it has kept, what comes next."""

    reads: str
    keys: list[int]  # shape of the keys that each layer has at the end: (1, h, t, d_k)
    best: list[tuple[str, float]]


@dataclass(frozen=True)
class DecodingFilm:
    """Greedy decoding, pass by pass, to look at in a notebook (section 3.1).

    Attributes
    ----------
    source : list of str
        The words of the source.
    layers : int
        Layers of the decoder.
    frames : list of Pass
        A pass for each word written, the end mark included.
    """

    source: list[str]
    layers: int
    frames: list[Pass]

    def _repr_html_(self) -> str:
        return widget("film", self.table(), asdict(self))

    def table(self) -> str:
        """All passes as a table in HTML, for readers without JavaScript."""
        rows = ["<tr><th>pass</th><th>reads</th><th>keys kept</th><th>next</th></tr>"]
        for number, each in enumerate(self.frames, start=1):
            word, share = each.best[0]
            cells = [each.reads, str(tuple(each.keys)), f"{word} ({share:.0%})"]
            found = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            rows.append(f'<tr><th scope="row">{number}</th>{found}</tr>')
        return f"<table>{''.join(rows)}</table>"


# book/11-11-pages-to-look-at.ipynb, cell film-of
@torch.no_grad()
def decoding_film(
    model: Transformer,
    source: Int[Tensor, "1 n"],
    words: Sequence[str],
    start: int,
    end: int,
    longest: int = 50,
) -> DecodingFilm:
    """Film greedy decoding of one source; `words` names the tokens.

    The film ends with the token `end`, or after `longest` passes.
    """
    state = model.start(source)
    token, frames = start, list[Pass]()
    while len(frames) < longest and not (frames and token == end):
        reads = words[token]
        logits = model.step(source.new_tensor([[token]]), state)
        shares, tokens = logits[0].softmax(dim=-1).topk(min(4, len(words)))
        best = [
            (words[int(each)], round(float(share), 3))
            for each, share in zip(tokens, shares, strict=True)
        ]
        kept = state.caches[0].target.kept
        assert kept is not None
        frames.append(Pass(reads, list(kept[0].shape), best))
        token = int(tokens[0])
    names = [words[token] for token in source[0].tolist()]
    return DecodingFilm(names, len(state.caches), frames)
