# Made by `make export` from book/3-workshop/12-visualizations.ipynb
"""Greedy decoding step by step, one pass through the decoder for each token."""

# book/3-workshop/12-visualizations.ipynb, cell film-imports
import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from aiayn.decoding.beam_search import expand
from aiayn.model.recording import recorded_attention
from aiayn.model.transformer import Transformer
from aiayn.visualization.widget import html_widget


# book/3-workshop/12-visualizations.ipynb, cell film
@dataclass(frozen=True)
class Prefix:
    """A hypothesis in the beam, before the pass that lengthens it."""

    tokens: list[str]  # written so far, without the start
    origin: int  # its place in the beam of the pass before, from 0
    looks: list[float]  # cross-attention of the last layer: each source token's share
    best: list[tuple[str, float]]  # the most probable next tokens

    def row(self, number: int, source: list[str], lost: bool) -> str:
        """A row of the table; what is lost is pale."""
        place = max(range(len(source)), key=self.looks.__getitem__)
        candidates = "<br>".join(
            f'<meter value="{share}" aria-hidden="true"></meter> '
            f"{html.escape(token)} {f'{share:.0%}' if share else '&lt;1%'}"
            for token, share in self.best
        )
        columns = [
            html.escape(" ".join(self.tokens) or "–"),
            f"{html.escape(source[place])} {self.looks[place]:.0%}",
            candidates,
            f"{number} / {number * (number + 1) // 2}",
        ]
        cells = "".join(f"<td>{column}</td>" for column in columns)
        style = ' class="lost"' if lost else ""
        return f'<tr{style}><th scope="row">{number}</th>{cells}</tr>'


# book/3-workshop/12-visualizations.ipynb, cell film-steps
@dataclass(frozen=True)
class DecodingSteps:
    """Beam search, pass by pass, to look at in a notebook (section 6.1).

    Attributes
    ----------
    source : list of str
        The tokens of the source.
    passes : list of list of Prefix
        The beam of each pass, the most probable hypothesis first.
    answer : tuple of int
        Pass and place, from 0, of the hypothesis that became the translation.
    end : str
        The token that ends it.
    """

    source: list[str]
    passes: list[list[Prefix]]
    answer: tuple[int, int]
    end: str

    def _repr_html_(self) -> str:
        return html_widget("decoding", self.table(), asdict(self))

    def table(self) -> str:
        """All passes as a table in HTML, for readers without JavaScript."""
        last, place = self.answer
        path = dict[int, int]()  # the translation's place in the beam of each pass
        for number in range(last, -1, -1):
            path[number] = place
            place = self.passes[number][place].origin
        names = ["pass", "written so far", "looks at", "next", "positions*"]
        rows = [f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"]
        for number, beam in enumerate(self.passes):
            for place, prefix in enumerate(beam):
                lost = path.get(number) != place
                rows.append(prefix.row(number + 1, self.source, lost))
        return (
            f"<table>{''.join(rows)}</table>"
            "<p>* that the decoder has computed, with a cache / without one</p>"
        )


# book/3-workshop/12-visualizations.ipynb, cell film-of
def prefix_of(
    words: Sequence[str],
    written: list[int],
    origin: int,
    looks: Float[Tensor, " n"],
    logits: Float[Tensor, " vocabulary"],
) -> Prefix:
    """A hypothesis with the names of its tokens and its numbers in hundredths."""
    shares, best = logits.softmax(dim=-1).topk(min(3, len(words)))
    candidates = zip(best.tolist(), shares.tolist(), strict=True)
    return Prefix(
        [words[token] for token in written[1:]],
        origin,
        [round(share, 2) for share in looks.tolist()],
        [(words[token], round(share, 2)) for token, share in candidates],
    )


# book/3-workshop/12-visualizations.ipynb, cell film-trace
@torch.no_grad()
def trace_decoding(
    model: Transformer,
    source: Int[Tensor, "1 n"],
    words: Sequence[str],
    start: int,
    end: int,
    beam: int = 2,
    longest: int = 50,
) -> DecodingSteps:
    """Trace a beam search without length penalty; `words` names the tokens.

    It stops when a finished hypothesis is more probable than all others, or after
    `longest` passes.
    """
    state, live = model.start(source), torch.zeros(1, 1)
    written, origins, passes = [[start]], [0], list[list[Prefix]]()
    answer, most = (longest - 1, 0), -math.inf
    last = f"decoder.layers.{len(state.caches) - 1}.cross_attention"
    while written and len(passes) < longest:
        newest = source.new_tensor([tokens[-1:] for tokens in written])
        with recorded_attention(model) as recorded:
            logits = model.step(newest, state)
        looks = recorded[last][:, :, 0].mean(dim=1)  # of all heads
        rows = zip(written, origins, looks, logits, strict=True)
        passes.append([prefix_of(words, *row) for row in rows])
        kept = list[tuple[float, int, int]]()
        longer = expand(logits, live, 2 * beam if beam > 1 else 1)
        candidates = (each[0].tolist() for each in longer)
        for total, row, token in zip(*candidates, strict=True):
            if total > most and token == end:
                most, answer = total, (len(passes) - 1, row)
            elif total > most and len(kept) < beam:
                kept.append((total, row, token))
        written = [[*written[row], token] for _, row, token in kept]
        origins = [row for _, row, _ in kept]
        live = live.new_tensor([[total for total, _, _ in kept]])
        state.select(source.new_tensor(origins))
    names = [words[token] for token in source[0].tolist()]
    return DecodingSteps(names, passes, answer, words[end])
