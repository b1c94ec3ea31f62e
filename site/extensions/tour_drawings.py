"""The pictures of the tour's cards, a method each, drawn from the tour's numbers."""

from tour_encoder import EDGE, LEFT, NOUNS, STEP, TOP, EncoderDrawings
from tour_numbers import PRONOUNS, WORDS, named
from tour_svg import WIDTH, bars, curve, figure_map, path, percent, rect, words

from aiayn.analysis.attention_maps import Head

GLOSSES = dict(
    pair.split("=")
    for pair in "Das=the Tier=animal überquerte=crossed die=the Straße=street nicht=not"
    " weil=because".split()
)
# Where each card of the tour was, in figure 1.
SEEN = {"source-embedding": "2", "source-positions": "3", "encoder-attention": "4, 9"}
SEEN |= {"encoder-norm": "5", "encoder-feed-forward": "6", "memory": "6"}
SEEN |= dict.fromkeys(("target-embedding", "target-positions"), "7")
SEEN |= dict.fromkeys(("decoder-norm", "decoder-feed-forward"), "7")
SEEN |= {"decoder-attention": "7, 9", "cross-attention": "7, 9–11", "scores": "8"}


class Drawings(EncoderDrawings):
    """All of them: what the decoder does, and which head decides."""

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
        drawn = words(EDGE, 12, "reads", "small end")
        drawn += words(136, 12, "writes", "small")
        drawn += words(WIDTH, 12, "probability", "small end") + self.rows("it")
        drawn += self.strips(self.vectors.memory, LEFT, 44, "violet", 1.2)
        y = TOP + 28 * self.place - 5
        drawn += path("M110 18H115V294H110", "line muted", 1.2)
        arrow = f"M115 {y}H130M124 {y - 5}L130 {y}L124 {y + 5}"
        drawn += path(arrow, "line muted", 1.6)
        drawn += rect(136, y - 13, 40, 26, "frame ochre")
        drawn += self.written(136, 28)
        return drawn + words(156, y + 6, "?", "large strong middle")

    def guess(self) -> str:
        """The question, and the answers for both sentences."""
        begin, end = self.halves()
        drawn = words(14, 34, f"{begin},", "german large", "de")
        drawn += words(14, 62, end, "german large", "de")
        drawn += rect(54, 42, 52, 28, "frame ochre")
        drawn += words(80, 62, "?", "large strong middle tour-open")
        gloss = "the animal crossed the street not, because it …"
        drawn += words(14, 88, gloss, "small")
        answers = words(80, 62, self.pronoun, "german large strong middle", "de")
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
        note = "red word: written instead; dashed: other words change, too"
        drawn = words(0, 332, note, "small")
        for number, head in enumerate(self.tour.heads):
            x, y = 104 + 65 * head.head, 22 + 49 * (number // 4)
            if head.head == 0:
                cross = "-attention" if head.kind == "cross" else ""
                drawn += words(0, y + 19, f"{head.kind}{cross}")
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
        written = without["text"].split()
        now = next(each for each in written if each in (*PRONOUNS, "er"))
        frame = "frame dashed" if changed else "frame"
        frame = "frame red decides" if decides else frame
        instead = words(x + 7, y + 14, now, "german strong red", "de")
        line = y + 29 if now != self.pronoun else y + 18
        bar = "grow red" if decides else "grow ochre"
        return (
            rect(x, y, 58, 42, frame, moment)
            + (instead if now != self.pronoun else "")
            + words(x + 6, line, self.pronoun, "german", "de")
            + words(x + 54, line, percent(share), "end small ink")
            + rect(x + 7, y + 33, 45 * share, 5, bar, moment / 2)
        )

    def looks(self) -> str:
        """Where two heads look when the pronoun is chosen."""
        left, right = 90, 168
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
            drawn += (
                f'<text class="end" x="{WIDTH}" y="{to + 4}"><tspan'
                f' class="{looks[key]}">{percent(float(row[key]))}</tspan>'
                f' <tspan class="small">layer {head.layer + 1}, head {head.head + 1}'
                "</tspan></text>"
            )
        for place, each in enumerate(self.source):
            drawn += words(right, TOP + STEP * place, each, looks.get(place, ""))
        return drawn

    def switch(self) -> str:
        """The translation with the head and without it."""
        off = self.tour.off[self.word][self.tour.decider.head]
        with_all = (self.tour.german[self.word].text, self.tour.chances(self.word))
        without = (
            f"without {named(self.tour.decider.head)}",
            off["text"],
            off["chances"],
        )
        on = self.state("on", "with all heads", *with_all)
        return on + self.state("off", *without)

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
        drawn += rect(52, 55, 36, 26, f"frame {changed}")
        strong = f"german large strong middle {changed}-text"
        drawn += words(70, 74, pronoun, strong, "de")
        drawn += words(96, 74, rest, "german large", "de")
        drawn += words(14, 98, f"“it” is {NOUNS[pronoun]}", "small")
        drawn += bars(14, 126, chances, 210)
        return f'<g class="tour-{state}">{drawn}</g>'

    def map(self) -> str:
        """Figure 1, in which all blocks have been seen, with the cards' numbers."""
        return figure_map(self.drawing, ["all"], (0.8, 0.6), SEEN)
