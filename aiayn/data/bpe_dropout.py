# Made by `make export` from book/3-workshop/06-low-resource.ipynb
"""BPE-dropout: the same batches, with words cut differently in each epoch."""

# book/3-workshop/06-low-resource.ipynb, cell sampling-imports
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from operator import add
from random import Random
from typing import Any

import numpy as np

from aiayn.data.batching import (
    Batches,
    Example,
    GlobalBatch,
    Tokens,
    lengths_of,
    order_by_length,
    shard_batch,
)
from aiayn.data.vocabulary import EOS_ID, Vocabulary
from aiayn.errors import InputError

# book/3-workshop/06-low-resource.ipynb, cell sampled
DRAWS_PER_WORD = 16  # draws of a word that are kept, to be used again


class BPEDropout:
    """Cuts words into other pieces: each merge is skipped with probability p.

    BPE-dropout (Provilkov and others, 2020), for the tokens of a vocabulary. A word
    that comes again takes one of `DRAWS_PER_WORD` draws.
    """

    def __init__(self, vocabulary: Vocabulary, p: float) -> None:
        self.p = p
        self.texts = vocabulary.pieces(list(range(len(vocabulary))))
        self.tokens = {text: token for token, text in enumerate(self.texts)}
        if p and "▁" not in self.tokens:
            fault = "this vocabulary does not spell words by letters"
            raise InputError(f"bpe_dropout={p}: {fault}; leave it out")
        marked = (
            token for token, text in enumerate(self.texts) if text.startswith("▁")
        )
        self.begins = {*range(EOS_ID + 1), *marked}
        self.variant = lru_cache(1 << 20)(self.draw)

    def __call__(self, sentence: Tokens, generator: Random) -> list[int]:
        """The sentence in other pieces, drawn from the generator."""
        tokens = list[int]()
        for word in self.words(sentence):
            tokens += self.variant(word, int(DRAWS_PER_WORD * generator.random()))
        return tokens

    # book/3-workshop/06-low-resource.ipynb, cell sampled-pieces
    def words(self, sentence: Tokens) -> Iterator[tuple[int, ...]]:
        """The tokens of each word; ▁ marks where one begins."""
        tokens = np.asarray(sentence).tolist()
        starts = [k for k, token in enumerate(tokens) if token in self.begins]
        for start, end in pairwise([0, *starts, len(tokens)]):
            yield tuple(tokens[start:end])

    def draw(self, word: tuple[int, ...], k: int) -> list[int]:
        """The tokens of a word at its k-th draw."""
        text = "".join(self.texts[token] for token in word)
        spellable = all(letter in self.tokens for letter in text)
        if not spellable or self.merge(text, 0.0, Random(0)) != list(word):
            return list(word)
        return self.merge(text, self.p, Random(f"{k} {text}"))

    def merge(self, word: str, p: float, generator: Random) -> list[int]:
        """Letters, merged while two neighbours make a piece that is not skipped."""
        pieces = list(word)
        while True:
            best, place = math.inf, -1
            for k, pair in enumerate(map(add, pieces, pieces[1:])):
                rank = self.tokens.get(pair, math.inf)  # merged in this order
                if rank < best and generator.random() >= p:
                    best, place = rank, k
            if place < 0:
                return [self.tokens[piece] for piece in pieces]
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]


# book/3-workshop/06-low-resource.ipynb, cell sampled-batches
WINDOW_STEPS = 64  # steps whose pairs are drawn together


class SampledBatches(Batches):
    """`Batches` whose pairs are drawn anew each time: in other pieces, or turned round.

    In the first steps, as many as `bidirectional` says and on to the end of a window,
    half of the pairs are read in the target language and written in the source
    language. The `tokens` a side count the usual pieces; a sentence that would have
    more than `longest` keeps these. The other parameters are those of `Batches`.
    """

    def __init__(
        self,
        dropout: BPEDropout,
        longest: int,
        *batches: Any,
        bidirectional: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(*batches, **options)
        self.dropout, self.longest = dropout, longest
        self.bidirectional = bidirectional
        self.window = lru_cache(2)(self.draw_window)

    def __getitem__(self, step: int) -> GlobalBatch:
        if step < 1:
            raise InputError(f"step {step}: there is no such step, the first is 1")
        number, place = divmod(step - 1, WINDOW_STEPS)
        examples, indices, groups = self.window(number)
        group = groups[place]
        lengths = lengths_of([examples[index] for index in group.tolist()])
        return replace(
            shard_batch(self, group, examples, lengths), indices=indices[group]
        )

    # book/3-workshop/06-low-resource.ipynb, cell draw-window
    def draw_window(
        self, window: int
    ) -> tuple[list[Example], np.ndarray, list[np.ndarray]]:
        """The pairs of a window, their numbers, and which of them each step has."""
        generator, first = Random(self.seed << 32 | window), window * WINDOW_STEPS + 1
        in_order = [self.group(step) for step in range(first, first + WINDOW_STEPS)]
        indices = np.concatenate(in_order)

        def drawn(sentence: Tokens) -> Tokens:
            other = self.dropout(sentence, generator)
            return other if len(other) <= self.longest else sentence

        examples = list[Example]()
        for index in indices.tolist():
            source, target = map(drawn, self.examples[index])
            turned = first <= self.bidirectional and generator.random() < 0.5
            examples.append((target, source) if turned else (source, target))
        lengths = lengths_of(examples)
        order = order_by_length(lengths)
        sizes = sorted(map(len, in_order), reverse=True)  # the shorter, the more
        groups = np.split(order, np.cumsum(sizes)[:-1])
        generator.shuffle(groups)
        return examples, indices, groups
