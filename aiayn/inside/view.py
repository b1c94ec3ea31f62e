"""Pages to look at (appendix).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-11-pages-to-look-at.ipynb
"""

__all__ = [
    "table",
    "script_data",
    "AttentionView",
    "write_page",
    "attention_view",
    "MOST_SENTENCES",
    "write_attention",
]


# book/11-11-pages-to-look-at.ipynb, cell view-imports
import base64
import html
import json
from collections.abc import Sequence
from pathlib import Path

import torch

from aiayn.data.files import write_atomically
from aiayn.errors import InputError
from aiayn.inside.sentence import KINDS, Head, SentenceAttention, TrainedModel
from aiayn.inside.sentence import attention_of as attention_of
from aiayn.inside.view_script import SCRIPT, STYLE


# book/11-11-pages-to-look-at.ipynb, cell table
def table(attention: SentenceAttention, head: Head) -> str:
    """What each word looks at most by one head, in HTML: three words at most, from 5 percent on."""
    queries, keys = attention.sides(head.kind)
    rows = [f"<caption>Where the words look: {head}</caption>"]
    for word, row in zip(queries.words, attention.words(head.kind)[head.layer, head.head], strict=True):
        top = row.topk(min(3, len(row)))
        seen = [
            f"{html.escape(keys.words[key])} {weight:.0%}"
            for weight, key in zip(top.values.tolist(), top.indices.tolist(), strict=True)
            if weight >= 0.05
        ]
        rows.append(f'<tr><th scope="row">{html.escape(word)}</th><td>{", ".join(seen)}</td></tr>')
    return f"<table>{''.join(rows)}</table>"


def script_data(attention: SentenceAttention) -> dict[str, object]:
    """What the script draws: words, pieces, whose these are, and weights as bytes, 255 for a weight of 1."""
    kinds = dict[str, object]()
    for kind in KINDS:
        weights = attention.weights[kind]
        packed = (weights * 255).round().to(torch.uint8).numpy().tobytes()
        names = "source" if kind == "encoder" else "writes", "reads" if kind == "decoder" else "source"
        kinds[kind] = [*names, *weights.shape[:2], base64.b64encode(packed).decode()]
    sides = {name: getattr(attention, name) for name in ("source", "reads", "writes")}
    return {
        "kinds": kinds,
        "sides": {name: [each.words, each.pieces, each.word_of] for name, each in sides.items()},
        "unknown": attention.unknown,
    }


# book/11-11-pages-to-look-at.ipynb, cell view
class AttentionView:
    """All heads on one pair of sentences, to look at in a notebook, or in a page that `save` writes.

    `head` is the one that is shown large at first, `word` (or its place, from 0 on) the one whose lines
    are shown, and `every` shows those of all heads of the layer.
    """

    def __init__(
        self, attention: SentenceAttention, head: Head, word: str | int | None = None, every: bool = False
    ) -> None:
        self.attention, self.head, self.word, self.every = attention, head, word, every
        queries = attention.sides(head.kind)[0].words
        layers, heads = attention.weights[head.kind].shape[:2]
        if not (0 <= head.layer < layers and 0 <= head.head < heads):
            raise InputError(f"{head}: there are {layers} layers of {heads} heads")
        if word is not None and word not in (queries if isinstance(word, str) else range(len(queries))):
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
        return f"<div><style>{STYLE}</style>{self.body()}<script>{SCRIPT}</script></div>"

    def body(self) -> str:
        """A table for readers without JavaScript, and the numbers from which the script draws."""
        shown = script_data(self.attention) | {"show": self.show}
        # In a script element only "<" could begin something else; JSON may write it as \u003c.
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).replace("<", r"\u003c")
        data = f'<script type="application/json">{text}</script>'
        return f'<div class="aiayn-attention">{table(self.attention, self.head)}{data}</div>'

    def save(self, path: Path | str) -> None:
        """Write a page of its own, which needs no network."""
        write_page(Path(path), [self])


# book/11-11-pages-to-look-at.ipynb, cell page
def write_page(path: Path, views: Sequence[AttentionView]) -> None:
    """Write views to one HTML file, one below the other, all but the first folded.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    folded = [f"<summary>{html.escape(view.title)}</summary>{view.body()}" for view in views]
    sections = [f"<details{' open' * (not k)}>{view}</details>" for k, view in enumerate(folded)]
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Attention</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>:root{{color-scheme:light dark}}body{{font-family:system-ui,sans-serif;margin:1rem auto;
max-width:46rem;padding:0 1rem}}h1{{font-size:1.4rem}}summary{{cursor:pointer;font-weight:600;margin:.5em 0;
overflow-wrap:anywhere}}{STYLE}</style></head>
<body><h1>Attention</h1>{"".join(sections) or "<p>There is no sentence to show.</p>"}
<script>{SCRIPT}</script></body></html>
"""
    write_atomically(path, page.encode())


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
        What is shown at first; the first head that looks across in the last layer unless given.
    """
    attention = attention_of(model, source, target)
    last = len(attention.weights["cross"]) - 1
    return AttentionView(attention, head or Head("cross", last, 0), word, every)


# book/11-11-pages-to-look-at.ipynb, cell many
MOST_SENTENCES = 100  # sentences on a page; a browser has to hold the weights of all


def write_attention(
    path: Path, model: TrainedModel, sources: Sequence[str], targets: Sequence[str]
) -> list[str]:
    """Write a page of sentences and their translations, and return which ones are not on it, and why.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    views, left_out = list[AttentionView](), list[str]()
    for number, (source, target) in enumerate(zip(sources, targets, strict=True), start=1):
        if len(views) == MOST_SENTENCES:
            left_out.append(f"sentences {number:,} to {len(sources):,}: a page has room for {MOST_SENTENCES}")
            break
        try:
            if source.strip() and not target.strip():
                raise InputError("it has no translation")
            views.append(attention_view(model, source, target))
        except InputError as error:
            left_out.append(f"sentence {number:,}: {error}")
    write_page(path, views)
    return left_out
