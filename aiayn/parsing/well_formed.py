# Made by `make export` from book/3-workshop/11-trees-and-parsing.ipynb
"""Restricts the beam search to prefixes of well-formed trees."""

# book/3-workshop/11-trees-and-parsing.ipynb, cell well-formed-imports
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from aiayn.data.trees import LEFT, MAX_DEPTH, RIGHT
from aiayn.data.vocabulary import EOS_ID, Vocabulary
from aiayn.errors import InputError


# book/3-workshop/11-trees-and-parsing.ipynb, cell tree-vocabulary
class TreeVocabulary:
    """Which tokens of a vocabulary are brackets and parts of speech.

    Attributes
    ----------
    closing : dict of int to int
        For each opening bracket, the bracket that closes it.
    tags : list of int
        Parts of speech.

    Raises
    ------
    InputError
        If the vocabulary has none: it is not that of a parser.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        pieces = vocabulary.pieces(list(range(len(vocabulary))))
        tokens = {
            piece.removeprefix("▁"): token
            for token, piece in enumerate(pieces)
            if LEFT in piece or RIGHT in piece
        }
        self.size = len(vocabulary)
        self.tags = [
            token
            for piece, token in tokens.items()
            if piece[0] == LEFT and piece[-1] == RIGHT
        ]
        self.closing = {
            token: tokens[f"{piece[1:]}{RIGHT}"]
            for piece, token in tokens.items()
            if piece[0] == LEFT and f"{piece[1:]}{RIGHT}" in tokens
        }
        if not self.tags or not self.closing:
            raise InputError(
                "not the vocabulary of a parser: it has no brackets;"
                " train with the pair en-trees"
            )


# book/3-workshop/11-trees-and-parsing.ipynb, cell stand
LONGEST_RUN = 12  # opening brackets one behind the other, with no word between them


class ParserState(NamedTuple):
    """How far the beginning of a linearised tree has come."""

    due: tuple[int, ...]  # the closing brackets still to come, the next one last
    words: int  # how many words have no part of speech yet
    run: int = 0  # how many opening brackets it ends with

    def advance(self, token: int, trees: TreeVocabulary) -> "ParserState":
        """With one more token."""
        if token in trees.closing:
            return ParserState(
                (*self.due, trees.closing[token]), self.words, self.run + 1
            )
        if self.due and token == self.due[-1]:
            return ParserState(self.due[:-1], self.words)
        return ParserState(self.due, self.words - 1)

    def allowed_actions(self, room: int) -> tuple[bool, bool, int, bool]:
        """May a bracket open, a word come, which close (-1: none), may the tree end?

        `room` is how many tokens may still come.
        """
        depth = len(self.due)
        finish = self.words + depth + 1  # tokens, the end of the sentence among them
        opens = (
            self.words > 0
            and self.run < LONGEST_RUN
            and depth < MAX_DEPTH - 1
            and room >= finish + 2
        )
        closes = depth > 0 and self.run == 0 and (self.words == 0 or depth > 1)
        ends = depth == 0 and self.words == 0
        return opens, depth > 0 and self.words > 0, self.due[-1] if closes else -1, ends


# book/3-workshop/11-trees-and-parsing.ipynb, cell well-formed
class TreeConstraint:
    """Tells `beam_search` which tokens may follow, so that all it finds are trees.

    Parameters
    ----------
    trees : TreeVocabulary
        The tokens.
    words, limits : list of int
        For each sentence of the batch the number of its words, and of tokens that its
        tree may have.
    """

    def __init__(
        self, trees: TreeVocabulary, words: list[int], limits: list[int]
    ) -> None:
        self.trees, self.words, self.limits = trees, words, limits
        self.states: dict[tuple[int, bytes], ParserState] = {}
        self.mask_indices: dict[tuple[bool, bool, int, bool], int] = {}
        self.masks: list[Tensor] = []

    def __call__(
        self, going: list[int], prefixes: Int[Tensor, "batch beams length"]
    ) -> Bool[Tensor, "rows vocabulary"]:
        """Which tokens may follow; a prefix stands one token on from its parent."""
        rows, length = prefixes.cpu().numpy(), prefixes.shape[-1]
        states: dict[tuple[int, bytes], ParserState] = {}
        mask_indices = []
        for sentence, beams in zip(going, rows, strict=True):
            for prefix, newest in zip(beams, beams[:, -1].tolist(), strict=True):
                key = (sentence, prefix.tobytes())
                parent = (sentence, prefix[:-1].tobytes())
                if length == 1:
                    states[key] = ParserState((), self.words[sentence])
                elif key not in states:
                    states[key] = self.states[parent].advance(newest, self.trees)
                room = self.limits[sentence] - length + 1
                mask_indices.append(self.mask_index(states[key].allowed_actions(room)))
        self.states = states
        return torch.stack(self.masks)[mask_indices].to(prefixes.device)

    # book/3-workshop/11-trees-and-parsing.ipynb, cell mask-index
    def mask_index(self, following: tuple[bool, bool, int, bool]) -> int:
        """The number of the mask that allows this; there are few different ones."""
        if following not in self.mask_indices:
            opens, words, closing, ends = following
            tokens = list(self.trees.closing) if opens else []
            tokens += self.trees.tags if words else []
            tokens += [closing] * (closing >= 0) + [EOS_ID] * ends
            self.masks.append(torch.zeros(self.trees.size, dtype=torch.bool))
            self.masks[-1][tokens] = True
            self.mask_indices[following] = len(self.mask_indices)
        return self.mask_indices[following]
