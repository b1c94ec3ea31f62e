# Made by `make export` from book/3-workshop/07-beam-search-and-bleu.ipynb
"""Beam search over many sentences, in batches of similar length."""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell batches-imports
import warnings
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor
from tqdm import tqdm

from aiayn.data.batching import group_by_length, lengths_of, pad
from aiayn.data.lines import is_blank, normalize_line
from aiayn.data.vocabulary import PAD_ID, UNK_ID, Vocabulary
from aiayn.decoding.beam_search import (
    AllowedTokens,
    Hypothesis,
    SearchConfig,
    beam_search,
)
from aiayn.decoding.huggingface_search import HuggingFaceSearch, huggingface_search
from aiayn.decoding.sampling import Sampling, sample
from aiayn.device import fast_products
from aiayn.model.encoder_decoder import EncoderDecoder, IncrementalDecoder


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell warnings
class TooLong(UserWarning):
    """Sentences have too many tokens, `most` at most, and are not translated.

    `tokens` has the number of each such sentence with that of its tokens.
    """

    def __init__(self, tokens: dict[int, int], most: int) -> None:
        self.tokens, self.most = tokens, most
        (sentence, count), *more = tokens.items()
        self.fault = f"sentence {sentence} has {count:,} tokens, more than {most:,}"
        rows = ", ".join(str(number) for number, _ in more[:3])
        rows += ", …" * (len(more) > 3)
        others = f"; so have {len(more):,} others ({rows})" if more else ""
        place = "an empty text takes the place of each; split it"
        super().__init__(f"{self.fault}{others}: {place}")


class CutOff(UserWarning):
    """Translations of `sentences` have no end: the search came to its limit."""

    def __init__(self, sentences: list[int]) -> None:
        self.sentences, more = sentences, len(sentences) - 1
        first = f"the translation of sentence {sentences[0]}"
        fault = f"{first} is cut off at its limit of tokens"
        super().__init__(f"{fault}, and {more:,} more" if more else fault)


class UnknownLetters(UserWarning):
    """Sentences have letters that a model does not know, and so cannot read.

    `letters` has the number of each such sentence with its first such letter.
    """

    def __init__(self, letters: dict[int, str]) -> None:
        self.letters = letters
        (sentence, letter), more = next(iter(letters.items())), len(letters) - 1
        shown = f"{letter!r} (U+{ord(letter):04X})" if letter.isprintable() else ""
        shown = shown or f"U+{ord(letter):04X}"
        fault = f"sentence {sentence} has a letter unknown to the model, {shown}"
        super().__init__(f"{fault}; so have {more:,} more" if more else fault)


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell tokens-of
def tokenize_lines(
    vocabulary: Vocabulary, lines: Sequence[str], before: int = 0
) -> list[list[int]]:
    """Tokens of each line, and the warning `UnknownLetters`; the end alone if blank."""
    texts = ["" if is_blank(line) else normalize_line(line) for line in lines]
    encoded, unknown = vocabulary.encode(texts), dict[int, str]()
    for number, (text, tokens) in enumerate(
        zip(texts, encoded, strict=True), before + 1
    ):
        if UNK_ID in tokens:
            lacking = (each for each in text if UNK_ID in vocabulary.encode(each))
            unknown[number] = next(lacking, text[0])
    if unknown:
        warnings.warn(UnknownLetters(unknown), stacklevel=3)
    return encoded


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell forced-prefix
def forced_prefix(
    vocabulary: Vocabulary, prefix: str
) -> Callable[[list[int]], AllowedTokens | None]:
    """What `batched_beam_search` may write if translations begin with a prefix."""
    (tokens,) = tokenize_lines(vocabulary, [prefix])
    wanted = tokens[:-1]  # without the end

    def allowed_tokens(_: list[int], prefixes: Tensor) -> Tensor:
        rows, step = prefixes.shape[0] * prefixes.shape[1], prefixes.shape[2] - 1
        allowed = prefixes.new_ones(rows, len(vocabulary), dtype=torch.bool)
        allowed[:, PAD_ID] = False
        if step < len(wanted):
            allowed[:] = False
            allowed[:, wanted[step]] = True
        return allowed

    return lambda _: allowed_tokens if wanted else None


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell batch-decoder
@runtime_checkable
class BatchDecoder(Protocol):
    """A decoder that searches by its own rule, as other programs do."""

    def search(self, source: Tensor, search: SearchConfig) -> list[list[Hypothesis]]:
        """The hypotheses of each padded source, best first."""


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell batches
def batched_beam_search(
    model: EncoderDecoder,
    sources: list[list[int]],
    search: SearchConfig,
    batch_tokens: int,
    longest: int,
    allowed_tokens: Callable[[list[int]], AllowedTokens | None] = lambda _: None,
    decoder: IncrementalDecoder | BatchDecoder | None = None,
    progress: bool = False,
    before: int = 0,
) -> list[list[Hypothesis]]:
    """The hypotheses of each source, best first; none if it is empty or too long.

    Sentences of similar length are searched together, `batch_tokens` at a time. One of
    more than `longest` tokens is left out, with the warning `TooLong`, which counts
    those `before` these. `allowed_tokens` is asked for each batch, with the rows of its
    sentences, for what `beam_search` is told to allow. The `decoder` is what is
    searched: the model itself, unless a fast one is given. The kind of `search` says by
    which rule: the paper's, or Hugging Face's; or to draw.
    """
    counts = {row: len(source) for row, source in enumerate(sources, start=before + 1)}
    if too_long := {row: count for row, count in counts.items() if count > longest}:
        warnings.warn(TooLong(too_long, longest), stacklevel=3)
    searched = [row for row, source in enumerate(sources) if 1 < len(source) <= longest]
    lengths = lengths_of([(sources[row], []) for row in searched])  # no target yet
    results: list[list[Hypothesis]] = [[] for _ in sources]
    device = next(model.parameters()).device
    bar = tqdm(total=len(searched), unit="sentence", disable=not progress)
    with bar, fast_products(device, model.config.d_model):
        for group in group_by_length(lengths, batch_tokens) if searched else []:
            rows = [searched[k] for k in group.tolist()]
            batch = pad([sources[row] for row in rows]).to(device)
            searched_model, allowed = decoder or model, allowed_tokens(rows)
            if isinstance(searched_model, BatchDecoder):
                best = searched_model.search(batch, search)
            elif isinstance(search, HuggingFaceSearch):
                best = huggingface_search(searched_model, batch, search, allowed)
            elif isinstance(search, Sampling):
                best = sample(searched_model, batch, search, allowed)
            else:
                best = beam_search(searched_model, batch, search, allowed)
            for row, hypotheses in zip(rows, best, strict=True):
                results[row] = hypotheses
            bar.update(len(rows))
    return results
