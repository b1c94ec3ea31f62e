"""The pictures of the tour's first cards: what the encoder does with the sentence."""

from pathlib import Path

import torch
from torch import Tensor
from tour_numbers import LAYER, Tour
from tour_svg import (
    WIDTH,
    curve,
    curve_down,
    legend,
    path,
    percent,
    rect,
    strip,
    words,
)

# Rows of English words, and what is beside them.
TOP, STEP, EDGE, LEFT = 30, 20, 58, 64
NOUNS = {"es": "the animal", "sie": "the street"}
GERMAN = {"es": "das Tier", "sie": "die Straße"}


class EncoderDrawings:
    """The pictures, for a word that is the last of the sentence."""

    def __init__(self, tour: Tour, word: str, drawing: Path) -> None:
        self.tour, self.word, self.drawing = tour, word, drawing
        self.source = tour.source[word]
        self.vectors = tour.vectors[word]
        self.pronoun = tour.pronoun[word]
        self.place = tour.place[word]

    def rows(self, chosen: str = "") -> str:
        """The English words, one below the other."""
        return "".join(
            words(EDGE, TOP + STEP * place, each, self.named(each, chosen))
            for place, each in enumerate(self.source)
        )

    def named(self, each: str, chosen: str) -> str:
        """The classes of an English word."""
        strong = " strong blue" if each == chosen else " strong" * (each == self.word)
        return f"end{strong}"

    def strips(self, rows: Tensor, x: float, w: float, colour: str, full: float) -> str:
        """A strip beside each English word."""
        return "".join(
            strip(row, x, TOP - 13 + STEP * place, w, 16, colour, full, place)
            for place, row in enumerate(rows)
        )

    def question(self) -> str:
        """The pronoun between the two nouns that it may stand for."""
        drawn = (
            '<text x="180" y="62" class="large middle">… because'
            ' <tspan class="huge strong blue"> it </tspan> was too'
            f' <tspan class="strong">{self.word}</tspan></text>'
        )
        for x, (pronoun, english) in zip((86, 274), NOUNS.items(), strict=True):
            drawn += path(curve_down(180, 78, x, 138), "line blue dashed", 1.6)
            drawn += rect(x - 78, 142, 156, 140, "frame ink")
            drawn += words(x, 178, english, "large strong middle")
            drawn += words(x, 208, GERMAN[pronoun], "german large middle", "de")
            drawn += words(x, 256, f"{pronoun}?", "german huge middle ochre-text", "de")
        return drawn

    def embedding(self) -> str:
        """A vector for each token."""
        size = self.vectors.embedding.shape[1]
        head = words(LEFT, 12, f"{size} numbers each", "small")
        drawn = self.strips(self.vectors.embedding, LEFT, 288, "ochre", 2.4)
        return head + self.rows() + drawn + legend(324, "ochre")

    def positions(self) -> str:
        """Embedding and position, and their sum; sines first, as waves."""
        columns = (
            ("embedding", "word", "ochre", 2.4),
            ("positions", "+ position", "violet", 1),
            ("sum", "= sum", "blue", 2.4),
        )
        drawn = self.rows()
        for number, (rows, name, colour, full) in enumerate(columns):
            x = LEFT + 101 * number
            drawn += words(x, 12, name, "small")
            vectors = getattr(self.vectors, rows)
            ordered = torch.cat([vectors[:, 0::2], vectors[:, 1::2]], dim=1)
            drawn += self.strips(ordered, x, 94, colour, full)
        note = "columns: sines, then cosines; grey: below zero"
        return drawn + words(LEFT, 324, note, "small")

    def pull(self) -> str:
        """Where the words look by a head of the encoder."""
        weights = self.tour.weights(self.word, self.tour.pulls())
        left, right = 112, 236
        it = self.source.index("it")
        faint = strong = ""
        for query, row in enumerate(weights.tolist()):
            for key, share in enumerate(row):
                y, to = TOP - 4 + STEP * query, TOP - 4 + STEP * key
                d = curve(left + 6, y, right - 6, to)
                if query == it:
                    strong += path(d, "line blue draw", 14 * share, key / 3)
                elif share > 0.12:
                    faint += path(d, "line faint", 5 * share)
        drawn = faint + strong
        for place, each in enumerate(self.source):
            share, y = float(weights[it, place]), TOP + STEP * place
            drawn += words(left, y, each, self.named(each, "it"))
            looked = "strong red" if share == weights[it].max() else ""
            drawn += words(right, y, each, looked)
            if share >= 0.1:
                drawn += words(WIDTH - 8, y, percent(share), f"end {looked}", moment=8)
        drawn += words(left, 12, "these words …", "small end")
        return drawn + words(right, 12, "… collect from these", "small")

    def residual(self) -> str:
        """The vector of "it", what is added to it, and the sum."""
        it = self.source.index("it")
        collected = f"+ what the heads of layer {LAYER + 1} collect for it"
        names = (
            ("before", "“it”, before", "blue", 2.4),
            ("added", collected, "output", 1),
            ("after", "= the sum, normalised", "blue", 2.4),
        )
        drawn = path("M24 57H14V277H20", "line muted draw", 1.6, 4)
        drawn += path("M15 272L22 277L15 282", "line muted", 1.6)
        for number, (rows, name, colour, full) in enumerate(names):
            y = 40 + 110 * number
            drawn += words(30, y - 8, name, "large", moment=None)
            row = getattr(self.vectors, rows)[it]
            drawn += strip(row, 30, y, 320, 36, colour, full, 5 * number)
        note = "grey: below zero; any other colour: above zero"
        return drawn + words(30, 324, note, "small")

    def memory(self) -> str:
        """The encoder's output, and how much each row differs between the sentences."""
        drawn = self.rows("it") + words(LEFT, 12, "the encoder’s output", "small")
        drawn += words(WIDTH, 12, "differs by", "small end")
        drawn += self.strips(self.vectors.memory, LEFT, 212, "violet", 1.2)
        for place, share in enumerate(self.tour.differences()):
            y = TOP + STEP * place
            drawn += rect(282, y - 11, 40 * share, 12, "grow red", place)
            strong = "strong" if self.source[place] in ("it", self.word) else ""
            shown = f"{share:.0%}" if share >= 0.005 else percent(share)
            drawn += words(WIDTH, y, shown, f"end {strong}")
        return drawn + legend(324, "violet")
