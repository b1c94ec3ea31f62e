"""The pictures of the tour's cards, one method each, drawn from the tour's numbers."""

from pathlib import Path

import torch
from torch import Tensor
from tour_numbers import LAYER, PRONOUNS, WORDS, Tour
from tour_svg import (
    WIDTH,
    bars,
    curve,
    figure_map,
    legend,
    path,
    percent,
    rect,
    strip,
    words,
)

from aiayn.analysis.attention_maps import Head

TOP, STEP, EDGE, LEFT = 30, 20, 58, 64  # rows of English words, and what is beside them
GLOSSES = dict(
    pair.split("=")
    for pair in "Das=the Tier=animal überquerte=crossed die=the Straße=street nicht=not"
    " weil=because".split()
)
NOUNS = {"es": "the animal", "sie": "the street"}
GERMAN = {"es": "das Tier", "sie": "die Straße"}
# Where each card of the tour was, in figure 1.
SEEN = {
    "source-embedding": "2",
    "source-positions": "3",
    "encoder-attention": "4",
    "encoder-norm": "5",
    "memory": "6",
    "target-embedding": "7",
    "scores": "8",
    "cross-attention": "9–11",
}


class Drawings:
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
            drawn += rect(x - 78, 142, 156, 140, "card ink")
            drawn += words(x, 178, english, "large strong middle")
            drawn += words(x, 208, GERMAN[pronoun], "german large middle", "de")
            drawn += words(x, 256, f"{pronoun}?", "german huge middle ochre-text", "de")
        return drawn

    def embedding(self) -> str:
        """A vector for each token."""
        head = words(
            LEFT, 12, f"{self.vectors.embedding.shape[1]} numbers each", "small"
        )
        drawn = self.strips(self.vectors.embedding, LEFT, 288, "ochre", 2.4)
        return head + self.rows() + drawn + legend(324, "ochre")

    def positions(self) -> str:
        """Embedding and position, and their sum; sines first, as waves."""
        columns = (
            ("embedding", "word", "ochre", 2.4),
            ("positions", "+ position", "violet", 1),
            ("sum", "= sum", "ink", 2.4),
        )
        drawn = self.rows()
        for number, (rows, name, colour, full) in enumerate(columns):
            x = LEFT + 101 * number
            drawn += words(x, 12, name, "small")
            vectors = getattr(self.vectors, rows)
            ordered = torch.cat([vectors[:, 0::2], vectors[:, 1::2]], dim=1)
            drawn += self.strips(ordered, x, 94, colour, full)
        return drawn + words(
            LEFT, 324, "columns: sines, then cosines; grey: below zero", "small"
        )

    def pull(self) -> str:
        """Where the words look by a head of the encoder."""
        weights = self.tour.weights(self.word, self.tour.pulls())
        left, right = 112, 236
        it = self.source.index("it")
        faint = strong = ""
        for query, row in enumerate(weights.tolist()):
            for key, share in enumerate(row):
                d = curve(
                    left + 6, TOP - 4 + STEP * query, right - 6, TOP - 4 + STEP * key
                )
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
        names = (
            ("before", "“it”, before", "ink", 2.4),
            (
                "added",
                f"+ what the heads of layer {LAYER + 1} collect for it",
                "output",
                1,
            ),
            ("after", "= the sum, normalised", "ink", 2.4),
        )
        drawn = path("M24 57H14V277H20", "line muted draw", 1.6, 4)
        drawn += path("M15 272L22 277L15 282", "line muted", 1.6)
        for number, (rows, name, colour, full) in enumerate(names):
            y = 40 + 110 * number
            drawn += words(30, y - 8, name, "large", moment=None)
            row = getattr(self.vectors, rows)[it]
            drawn += strip(row, 30, y, 320, 36, colour, full, 5 * number)
        return drawn + words(
            30, 324, "coloured or black: above zero; grey: below", "small"
        )

    def memory(self) -> str:
        """The encoder's output, and how much each row differs between the sentences."""
        drawn = self.rows("it") + words(LEFT, 12, "the encoder’s output", "small")
        drawn += words(WIDTH, 12, "differs by", "small end")
        drawn += self.strips(self.vectors.memory, LEFT, 212, "violet", 1.2)
        for place, share in enumerate(self.tour.differences()):
            y = TOP + STEP * place
            drawn += rect(282, y - 11, 40 * share, 12, "grow red", place)
            if share >= 0.005:
                strong = "strong" if self.source[place] in ("it", self.word) else ""
                drawn += words(WIDTH, y, f"{share:.0%}", f"end {strong}")
        return drawn + legend(324, "violet")

    def written(self, x: float, step: float) -> str:
        """The German so far, one word below the other, with its probabilities."""
        drawn = ""
        probabilities = self.tour.steps(self.word)
        for place, each in enumerate(self.tour.target[self.word][: self.place]):
            y, moment, share = TOP + step * place, 4 * place, probabilities[place]
            gloss = GLOSSES.get(each, "")
            drawn += words(x, y, each, "german appear", "de", moment)
            drawn += words(x + 80, y, gloss, "small appear", moment=moment)
            drawn += rect(x + 136, y - 11, 54 * share, 13, "grow ochre", moment)
            drawn += words(WIDTH, y, percent(share), "end appear", moment=moment)
        return drawn

    def decoder(self) -> str:
        """What the decoder reads, and what it has written."""
        drawn = words(EDGE, 12, "reads", "small end") + words(
            136, 12, "writes", "small"
        )
        drawn += words(WIDTH, 12, "probability", "small end") + self.rows("it")
        drawn += self.strips(self.vectors.memory, LEFT, 44, "violet", 1.2)
        y = TOP + 28 * self.place - 5
        drawn += path("M110 18H115V294H110", "line muted", 1.2)
        drawn += path(
            f"M115 {y}H130M124 {y - 5}L130 {y}L124 {y + 5}", "line muted", 1.6
        )
        drawn += rect(136, y - 13, 40, 26, "card ochre pulse")
        return (
            drawn
            + self.written(136, 28)
            + words(156, y + 6, "?", "large strong middle")
        )

    def guess(self) -> str:
        """The question, and the answers for both sentences."""
        begin, end = self.halves()
        drawn = words(14, 34, f"{begin},", "german large", "de")
        drawn += words(14, 62, end, "german large", "de") + rect(
            54, 42, 52, 28, "card ochre pulse"
        )
        drawn += words(80, 62, "?", "large strong middle")
        drawn += words(
            14, 88, "the animal crossed the street not, because it …", "small"
        )
        answers = ""
        for number, word in enumerate(WORDS):
            y = 136 + 100 * number
            strong = "strong" if word == self.word else ""
            answers += words(14, y, f"… it was too {word}", f"large {strong}")
            answers += bars(14, y + 28, self.tour.chances(word), 210)
        return drawn + f'<g class="tour-answer">{answers}</g>'

    def halves(self) -> tuple[str, str]:
        """The German before the comma, and the word after it."""
        begin, end = self.tour.german[self.word].text.split(", ", 1)
        return begin, end.split()[0]

    def heads(self) -> str:
        """The probability of the right pronoun with each head switched off."""
        drawn = words(104, 332, "dashed: other words change as well", "small")
        for number, head in enumerate(self.tour.heads):
            x, y = 104 + 65 * head.head, 22 + 49 * (number // 4)
            if head.head == 0:
                drawn += words(0, y + 19, f"{head.kind},")
                drawn += words(0, y + 34, f"layer {head.layer + 1}")
            if number < 4:
                drawn += words(x + 29, 13, f"head {head.head + 1}", "small middle")
            drawn += self.without(head, x, y, number)
        return drawn

    def without(self, head: Head, x: float, y: float, moment: int) -> str:
        """The pronoun, and the chance of the right one, without a head."""
        decider = self.tour.decider
        decides = (head, self.word) == (decider.head, decider.word)
        without = self.tour.off[self.word][head]
        share = without["chances"][self.pronoun]
        changed = without["text"] != self.tour.german[self.word].text
        now = next(
            each for each in without["text"].split() if each in (*PRONOUNS, "er")
        )
        frame = "card red decides" if decides else "card dashed" if changed else "card"
        strong = " strong red" if now != self.pronoun else ""
        bar = "grow red" if decides else "grow ochre"
        return (
            rect(x, y, 58, 42, frame, moment)
            + words(x + 7, y + 18, now, f"german{strong}", "de")
            + words(x + 53, y + 18, percent(share), "end small ink")
            + rect(x + 7, y + 27, 45 * share, 8, bar, moment / 2)
        )

    def looks(self) -> str:
        """Where two heads look when the pronoun is chosen."""
        left, right = 98, 178
        drawn = self.looked(left, right)
        for place, each in enumerate(self.tour.target[self.word][: self.place + 1]):
            now = " strong blue" if place == self.place else ""
            y = TOP + STEP * (place + 2)
            drawn += words(left, y, each, f"german end{now}", "de")
        drawn += words(left, 12, "chosen now:", "small end")
        return drawn + words(right, 12, "looks at", "small")

    def looked(self, left: float, right: float) -> str:
        """The English words, and lines to those that the two heads look at most."""
        drawn, looks = "", dict[int, str]()
        heads = {self.tour.names_the_noun(): "muted", self.tour.decider.head: "blue"}
        for head, colour in heads.items():
            row = self.tour.weights(self.word, head)[self.place]
            key = int(row.argmax())
            y, to = TOP - 4 + STEP * (self.place + 2), TOP - 4 + STEP * key
            line = curve(left + 6, y, right - 6, to)
            drawn += path(line, f"line {colour} draw", 5 * float(row[key]), 2)
            looks[key] = "strong red" if colour == "blue" else "strong"
            share = percent(float(row[key]))
            drawn += words(right + 84, to + 4, share, f"end {looks[key]}")
            name = f"head {head.head + 1}, layer {head.layer + 1}"
            drawn += words(WIDTH, to + 4, name, "small end")
        for place, each in enumerate(self.source):
            drawn += words(right, TOP + STEP * place, each, looks.get(place, ""))
        return drawn

    def switch(self) -> str:
        """The translation with the head and without it."""
        off = self.tour.off[self.word][self.tour.decider.head]
        with_all = (self.tour.german[self.word].text, self.tour.chances(self.word))
        return self.state("on", "with all heads", *with_all) + self.state(
            "off", f"without {self.tour.decider.head}", off["text"], off["chances"]
        )

    def state(
        self, state: str, name: str, german: str, chances: dict[str, float]
    ) -> str:
        """A translation, with what it means and the chances of the pronouns."""
        begin, end = german.split(", ", 1)
        weil, pronoun, rest = end.split(" ", 2)
        changed = "red" if pronoun != self.pronoun else "ochre"
        drawn = words(14, 22, name, "small")
        drawn += words(14, 48, f"{begin},", "german large", "de")
        drawn += words(14, 74, weil, "german large", "de")
        drawn += rect(52, 55, 36, 26, f"card {changed}")
        drawn += words(
            70, 74, pronoun, f"german large strong middle {changed}-text", "de"
        )
        drawn += words(96, 74, rest, "german large", "de")
        drawn += words(14, 98, f"“it” is {NOUNS[pronoun]}", "small")
        drawn += bars(14, 126, chances, 210)
        return f'<g class="tour-{state}">{drawn}</g>'

    def map(self) -> str:
        """Figure 1, in which all blocks have been seen, with the cards' numbers."""
        return figure_map(self.drawing, ["all"], (0.86, 0.6), SEEN)


def curve_down(x: float, y: float, to_x: float, to_y: float) -> str:
    """A line that leaves and arrives upright."""
    middle = (y + to_y) / 2
    return f"M{x:g} {y:g}C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}"
