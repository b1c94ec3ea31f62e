# Made by `make export` from book/3-workshop/12-visualizations.ipynb
"""The attention maps of all heads for one sentence and its translation."""

# book/3-workshop/12-visualizations.ipynb, cell imports
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from aiayn.data.batching import make_batch
from aiayn.data.lines import is_blank, normalize_line, sentence_list
from aiayn.data.vocabulary import EOS_ID, UNK_ID, Vocabulary
from aiayn.errors import InputError
from aiayn.model.recording import recorded_attention
from aiayn.model.transformer import Transformer
from aiayn.translation.translator import Translator, UnknownLetters

MAX_PIECES = 200  # pieces of a sentence: a picture of more cannot be read
START, END = "‹start›", "‹end›"


# book/3-workshop/12-visualizations.ipynb, cell head
AttentionKind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[AttentionKind, ...] = get_args(AttentionKind)


class Head(NamedTuple):
    """One head of a model."""

    kind: AttentionKind  # of self-attention in one half, or of cross-attention
    layer: int  # from 0
    head: int  # from 0

    def __str__(self) -> str:
        return f"{self.kind}, layer {self.layer + 1}, head {self.head + 1}"


def as_head(head: Any) -> Head:
    """A head, perhaps given as a plain tuple; an `InputError` if it is none."""
    parts = list(map(type, head)) if isinstance(head, tuple) else None
    if parts != [str, int, int] or head[0] not in KINDS:
        kinds = ", ".join(map(repr, KINDS))
        raise InputError(f"head {head!r:.60}: give (kind, layer, head); {kinds}")
    return Head(*head)


# book/3-workshop/12-visualizations.ipynb, cell side
WORD_PATTERN = re.compile(r"'s\b|\w+|[^\w\s]")


@dataclass(frozen=True)
class Side:
    """A sentence as a model has it."""

    words: tuple[str, ...]  # with punctuation marks
    pieces: tuple[str, ...]  # into which they are cut
    word_of: tuple[int, ...]  # the word, from 0, to which each piece belongs

    def membership(self) -> Float[Tensor, "pieces words"]:
        """1 where a piece belongs to a word."""
        return torch.eye(len(self.words))[list(self.word_of)]


def side(
    pieces: Sequence[str], before: Sequence[str] = (), after: Sequence[str] = ()
) -> Side:
    """Join pieces to words and punctuation marks; `before` and `after` are words."""
    text, places = "", list[int]()
    for piece in pieces:
        places.append(len(text) + piece.startswith("▁"))
        text += piece.replace("▁", " ")
    begins = {match.start() for match in WORD_PATTERN.finditer(text)}
    words, word_of, last = list(before), list(range(len(before))), -1
    for piece, place in zip(pieces, places, strict=True):
        if last < 0 or (place in begins and place != last):
            words.append("")
            last = place
        words[-1] += piece.replace("▁", "")
        word_of.append(len(words) - 1)
    word_of += range(len(words), len(words) + len(after))
    return Side((*words, *after), (*before, *pieces, *after), tuple(word_of))


# book/3-workshop/12-visualizations.ipynb, cell sentence
@dataclass(frozen=True)
class SentenceAttention:
    """Where every head of a model looked while it read a sentence and wrote another."""

    source: Side  # what the encoder reads
    reads: Side  # what the decoder reads, from the start on
    writes: Side  # what it writes at these same places, one word further
    # (layers, heads, queries, keys), of pieces; the decoder's queries are named after
    # what is written there
    weights: dict[AttentionKind, Tensor]
    unknown: tuple[str, ...]  # words with letters that the vocabulary does not have

    def sides(self, kind: AttentionKind) -> tuple[Side, Side]:
        """Who looks, and at what."""
        queries = self.source if kind == "encoder" else self.writes
        return queries, (self.reads if kind == "decoder" else self.source)

    def words(self, kind: AttentionKind) -> Float[Tensor, "layers h queries keys"]:
        """Summed over the pieces that are looked at, averaged over those that look."""
        queries, keys = (side.membership() for side in self.sides(kind))
        return (queries / queries.sum(dim=0)).T @ self.weights[kind] @ keys


# book/3-workshop/12-visualizations.ipynb, cell attention-places
TrainedModel = Translator | tuple[Transformer, Vocabulary]
MODULE_PATHS = {
    "encoder": "encoder.layers.{}.self_attention",
    "decoder": "decoder.layers.{}.self_attention",
    "cross": "decoder.layers.{}.cross_attention",
}


# book/3-workshop/12-visualizations.ipynb, cell attention-of
@torch.no_grad()
def attention_of(
    model: TrainedModel, source: str, target: str | None = None
) -> SentenceAttention:
    """How all heads look at one pair of sentences, teacher-forced (figures 3 to 5).

    Parameters
    ----------
    model : Translator, or Transformer and Vocabulary
        A trained model.
    source : str
        A sentence.
    target : str, optional
        Its translation; unless given, what the model makes of it.

    Raises
    ------
    InputError
        If a sentence is empty, or has more than `MAX_PIECES` pieces.
    """
    translator = model if isinstance(model, Translator) else Translator(*model)
    network, vocabulary = translator.model, translator.vocabulary
    if not isinstance(network, Transformer):
        raise InputError(
            "only Transformers have heads to look at; choose another model"
        )
    read, read_pieces = tokenize(vocabulary, source)
    if target is not None:
        written, written_pieces = tokenize(vocabulary.target, target)
    else:
        written = [*best_translation(translator, source), EOS_ID]
        written_pieces = vocabulary.target.pieces(written[:-1])
    batch = make_batch([(read, written)]).to(next(network.parameters()).device)
    with recorded_attention(network) as recorded:
        network(batch.source, batch.target)
    weights = {}
    for kind in KINDS:
        stack = network.encoder if kind == "encoder" else network.decoder
        places = map(MODULE_PATHS[kind].format, range(len(stack.layers)))
        weights[kind] = torch.cat([recorded[place] for place in places]).float().cpu()
    english, german = side(read_pieces, after=[END]), side(written_pieces, after=[END])
    shifted = side(written_pieces, before=[START])
    unknown = unknown_words(english, read) + unknown_words(german, written)
    once = tuple(dict.fromkeys(unknown))
    return SentenceAttention(english, shifted, german, weights, once)


# book/3-workshop/12-visualizations.ipynb, cell cut
def tokenize(vocabulary: Vocabulary, text: str) -> tuple[list[int], list[str]]:
    """The tokens of a sentence, with its end, and the pieces without it."""
    (text,) = sentence_list([text], "sentence")
    # As `Translator` reads it; an unknown piece is its own letters.
    text = "" if is_blank(text) else normalize_line(text)
    pieces = vocabulary.cut(text)
    if not pieces:
        raise InputError("an empty sentence: there is nothing to look at")
    if len(pieces) > MAX_PIECES:
        advice = f"a picture has room for {MAX_PIECES}; choose a shorter one"
        raise InputError(f"a sentence of {len(pieces):,} pieces: {advice}")
    return vocabulary.encode([text])[0], pieces


def unknown_words(side: Side, tokens: list[int]) -> list[str]:
    """The words with letters that the vocabulary does not have."""
    return [
        side.words[side.word_of[place]]
        for place, token in enumerate(tokens)
        if token == UNK_ID
    ]


def best_translation(translator: Translator, source: str) -> list[int]:
    """The tokens of the model's translation, without its end."""
    # A view says itself which words have unknown letters.
    with warnings.catch_warnings(action="ignore", category=UnknownLetters):
        (translations,) = translator.n_best([source], 1)
    if not translations:
        raise InputError(
            "the model leaves this sentence untranslated; choose a shorter one"
        )
    return [token for token in translations[0].tokens if token != EOS_ID]
