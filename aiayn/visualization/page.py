# Made by `make export` from book/3-workshop/12-visualizations.ipynb
"""Attention maps as an interactive picture in a notebook or on a page of its own."""

# book/3-workshop/12-visualizations.ipynb, cell view-imports
import base64
import html
from collections.abc import Sequence
from pathlib import Path

import torch

from aiayn.analysis.attention_maps import (
    KINDS,
    Head,
    SentenceAttention,
    TrainedModel,
    as_head,
)
from aiayn.analysis.attention_maps import attention_of as attention_of
from aiayn.data.io import write_atomically
from aiayn.errors import InputError
from aiayn.visualization.widget import (
    html_data,
    html_widget,
    read_static,
    script,
    style,
)


# book/3-workshop/12-visualizations.ipynb, cell table
def attention_table(attention: SentenceAttention, head: Head) -> str:
    """Where each word looks by one head, in HTML: at most three words, from 5% on."""
    queries, keys = attention.sides(head.kind)
    rows = [f"<caption>Where the words look: {head}</caption>"]
    weights = attention.words(head.kind)[head.layer, head.head]
    for word, row in zip(queries.words, weights, strict=True):
        shares, places = (each.tolist() for each in row.topk(min(3, len(row))))
        attended = [
            f"{html.escape(keys.words[place])} {share:.0%}"
            for share, place in zip(shares, places, strict=True)
            if share >= 0.05
        ]
        name = html.escape(word)
        rows.append(
            f'<tr><th scope="row">{name}</th><td>{", ".join(attended)}</td></tr>'
        )
    return f"<table>{''.join(rows)}</table>"


def script_data(attention: SentenceAttention) -> dict[str, object]:
    """What the script draws: words, pieces, whose these are, and weights as bytes."""
    kinds = dict[str, object]()
    for kind in KINDS:
        weights = attention.weights[kind]
        packed = (weights * 255).round().to(torch.uint8).numpy().tobytes()
        queries = "source" if kind == "encoder" else "writes"
        keys = "reads" if kind == "decoder" else "source"
        numbers = base64.b64encode(packed).decode()
        kinds[kind] = [queries, keys, *weights.shape[:2], numbers]
    sides = dict[str, object]()
    for name in ("source", "reads", "writes"):
        each = getattr(attention, name)
        sides[name] = [each.words, each.pieces, each.word_of]
    return {"kinds": kinds, "sides": sides, "unknown": attention.unknown}


# book/3-workshop/12-visualizations.ipynb, cell view
class AttentionView:
    """All heads on a pair of sentences, in a notebook or in a page that `save` writes.

    `head` is the one that is shown large at first, `word` (or its place, from 0 on) the
    one whose lines are shown, and `every` shows those of all heads of the layer.
    """

    def __init__(
        self,
        attention: SentenceAttention,
        head: Head,
        word: str | int | None = None,
        every: bool = False,
    ) -> None:
        self.attention, self.word, self.every = attention, word, every
        self.head = head = as_head(head)
        queries = attention.sides(head.kind)[0].words
        layers, heads = attention.weights[head.kind].shape[:2]
        if not (0 <= head.layer < layers and 0 <= head.head < heads):
            raise InputError(f"{head}: there are {layers} layers of {heads} heads")
        choice = queries if isinstance(word, str) else range(len(queries))
        if word is not None and word not in choice:
            raise InputError(f"no word {word!r}; there are {' '.join(queries)}")
        chosen = queries.index(word) if isinstance(word, str) else word
        self.show = {**head._asdict(), "word": chosen, "every": every}

    @property
    def title(self) -> str:
        """The source sentence."""
        return "".join(self.attention.source.pieces[:-1]).replace("▁", " ").strip()

    def __repr__(self) -> str:
        return f"AttentionView({self.title!r}; {self.head})"

    def _repr_html_(self) -> str:
        return html_widget("attention", *self.parts())

    def parts(self) -> tuple[str, dict[str, object]]:
        """The table of the head that is shown, and what the script draws."""
        shown = script_data(self.attention) | {"show": self.show}
        return attention_table(self.attention, self.head), shown

    def save(self, path: Path | str) -> None:
        """Write a page of its own, which needs no network."""
        write_page(Path(path), [self])


# book/3-workshop/12-visualizations.ipynb, cell page
def write_page(path: Path, views: Sequence[AttentionView]) -> None:
    """Write views to one HTML file, one below the other, all but the first folded.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    folded = [
        f"<summary>{html.escape(view.title)}</summary>"
        f"{html_data('attention', *view.parts())}"
        for view in views
    ]
    sections = [
        f"<details{' open' * (not k)}>{view}</details>" for k, view in enumerate(folded)
    ]
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Attention</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{read_static("page.css")}</style>{style("attention")}</head>
<body><h1>Attention</h1>{"".join(sections) or "<p>There is no sentence to show.</p>"}
{script("attention")}</body></html>
"""
    write_atomically(path, page.encode())


# book/3-workshop/12-visualizations.ipynb, cell attention-view
def attention_view(
    model: TrainedModel,
    source: str,
    target: str | None = None,
    head: Head | None = None,
    word: str | int | None = None,
    every: bool = False,
) -> AttentionView:
    """A picture of where every head looks, for notebooks (figures 3 to 5).

    Parameters
    ----------
    model, source, target
        As for `attention_of`.
    head, word, every
        What is shown at first; the first cross-attention head of the last layer
        unless given. A head is a kind, `encoder`, `decoder` or `cross`, its layer and
        its number, both from 0.
    """
    attention = attention_of(model, source, target)
    last = len(attention.weights["cross"]) - 1
    return AttentionView(attention, head or Head("cross", last, 0), word, every)


# book/3-workshop/12-visualizations.ipynb, cell many
MAX_SENTENCES = 100  # sentences on a page; a browser has to hold the weights of all


def write_attention(
    path: Path, model: TrainedModel, sources: Sequence[str], targets: Sequence[str]
) -> list[str]:
    """Write a page of sentences with translations; return what is not on it, and why.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    views, left_out = list[AttentionView](), list[str]()
    pairs = zip(sources, targets, strict=True)
    for number, (source, target) in enumerate(pairs, start=1):
        if len(views) == MAX_SENTENCES:
            rest = f"sentences {number:,} to {len(sources):,}"
            left_out.append(f"{rest}: a page has room for {MAX_SENTENCES}")
            break
        try:
            if source.strip() and not target.strip():
                raise InputError("it has no translation")
            views.append(attention_view(model, source, target))
        except InputError as error:
            left_out.append(f"sentence {number:,}: {error}")
    write_page(path, views)
    return left_out
