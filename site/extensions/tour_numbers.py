"""The numbers of the tour "One word decides", computed with the package.

Two sentences that differ in one word, and what the synthetic corpus's model makes of
them: vectors, attention, probabilities, and what becomes of the pronoun when a head is
switched off, for each head. The head that decides is looked for here, not typed in.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from sphinx.errors import ExtensionError
from torch import Tensor

from aiayn.analysis.attention_maps import Head, attention_of
from aiayn.analysis.pruning import all_heads, zero_ablation
from aiayn.data.batching import make_batch
from aiayn.data.vocabulary import Vocabulary
from aiayn.model.transformer import Transformer
from aiayn.shipped import pretrained
from aiayn.translation.translator import Translation, Translator

SENTENCE = "The animal did not cross the street because it was too {}."
WORDS = ("tired", "wide")
PRONOUNS = ("es", "sie")
LAYER = 1  # of the encoder, from 0, that a card looks into


@dataclass(frozen=True)
class Decider:
    """The head that alone changes the pronoun, and nothing else, when it is off."""

    head: Head
    word: str  # of the sentence in which it does
    pronoun: str  # with it
    other: str  # without it


@dataclass(frozen=True)
class Vectors:
    """What the encoder computes of a sentence: a row of d_model for each token."""

    embedding: Tensor
    positions: Tensor
    sum: Tensor
    before: Tensor  # the residual stream before the second layer's attention
    added: Tensor  # what that attention adds
    after: Tensor  # the sum, normalised
    memory: Tensor  # the encoder's output


def named(head: Head) -> str:
    """A head of the cross-attention, as cards and pictures name it."""
    return f"cross-attention, layer {head.layer + 1}, head {head.head + 1}"


class Tour:
    """The model, and all that the tour says of it.

    Raises
    ------
    ExtensionError
        If no head alone decides which pronoun the model writes.
    """

    def __init__(self, model: Transformer, vocabulary: Vocabulary) -> None:
        self.model, self.vocabulary = model, vocabulary
        self.translator = Translator(model, vocabulary)
        self.heads = all_heads(model)
        self.german = {word: self.translate(word) for word in WORDS}
        sentences = {word: SENTENCE.format(word) for word in WORDS}
        self.attention = {
            word: attention_of(self.translator, text)
            for word, text in sentences.items()
        }
        self.source = {word: seen.source.words for word, seen in self.attention.items()}
        self.target = {word: seen.writes.words for word, seen in self.attention.items()}
        self.pronoun = {word: self.pronoun_in(self.target[word]) for word in WORDS}
        self.place = {w: self.target[w].index(self.pronoun[w]) for w in WORDS}
        self.off = {word: self.switched_off(word) for word in WORDS}
        self.decider = self.find_decider()
        self.vectors = {word: self.encode(word) for word in WORDS}

    def translate(self, word: str) -> Translation:
        """The model's translation of the sentence with that word."""
        return self.translator.n_best([SENTENCE.format(word)], 1)[0][0]

    @staticmethod
    def pronoun_in(words: tuple[str, ...]) -> str:
        """Which of the pronouns the translation has."""
        found = [word for word in words if word in PRONOUNS]
        if len(found) != 1:
            raise ExtensionError(
                f"tour: the model writes {' '.join(words)!r}; one of the pronouns"
                f" {', '.join(PRONOUNS)} was to be in it"
            )
        return found[0]

    @torch.no_grad()
    def distributions(self, word: str) -> Tensor:
        """The probabilities of every next token along the translation."""
        tokens = self.german[word].tokens
        source = self.vocabulary.encode([SENTENCE.format(word)])[0]
        batch = make_batch([(source, tokens)])
        return self.model(batch.source, batch.target)[0].softmax(dim=-1)

    def chances(self, word: str) -> dict[str, float]:
        """The probability of each pronoun where the translation has one."""
        row = self.distributions(word)[self.place[word]]
        token = self.vocabulary.processor.PieceToId
        return {pronoun: float(row[token(f"▁{pronoun}")]) for pronoun in PRONOUNS}

    def steps(self, word: str) -> list[float]:
        """The probability of each token of the translation when its turn came."""
        rows = self.distributions(word)
        tokens = torch.tensor(self.german[word].tokens)
        return [float(each) for each in rows.gather(1, tokens[:, None])[:, 0]]

    def switched_off(self, word: str) -> dict[Head, dict[str, Any]]:
        """The translation, and the chances of the pronouns, without each head."""
        found = dict[Head, dict[str, Any]]()
        for head in self.heads:
            with zero_ablation(self.model, [head]):
                text = self.translate(word).text
                found[head] = {"text": text, "chances": self.chances(word)}
        return found

    def find_decider(self) -> Decider:
        """The head without which one pronoun becomes the other and nothing else does;
        of several, the one that takes most from the right pronoun's probability.
        """
        found = list[tuple[float, Decider]]()
        for word in WORDS:
            pronoun = self.pronoun[word]
            (other,) = set(PRONOUNS) - {pronoun}
            changed = self.german[word].text.replace(f" {pronoun} ", f" {other} ")
            for head, without in self.off[word].items():
                if without["text"] == changed:
                    decider = Decider(head, word, pronoun, other)
                    found.append((without["chances"][pronoun], decider))
        if not found:
            raise ExtensionError(
                'tour: no head of "synthetic-en-de" decides between'
                f" {' and '.join(PRONOUNS)}: with each of the {len(self.heads)} heads"
                " switched off in turn, no translation differs in the pronoun alone."
                " Was the model trained anew? The tour needs other sentences"
                " (SENTENCE and WORDS in site/extensions/tour_numbers.py)"
            )
        return min(found, key=lambda each: each[0])[1]

    @torch.no_grad()
    def encode(self, word: str) -> Vectors:
        """The vectors on the way through the encoder."""
        model = self.model
        source = torch.tensor(self.vocabulary.encode([SENTENCE.format(word)]))
        kept = dict[str, Tensor]()

        def keep(name: str) -> Any:
            def hook(_: Any, inputs: Any, output: Any) -> None:
                kept[f"{name}.in"], kept[f"{name}.out"] = inputs[0][0], output[0]

            return hook

        layer: Any = model.encoder.layers[LAYER]
        hooks = [
            layer.residuals[0].register_forward_hook(keep("sum")),
            layer.self_attention.register_forward_hook(keep("attention")),
        ]
        memory = model.encode(source)[0]
        for hook in hooks:
            hook.remove()
        embedding = model.source_embeddings(source)
        x = model.positions(embedding)
        names = "sum.in", "attention.out", "sum.out"
        before, added, after = (kept[name] for name in names)
        position = (x - embedding)[0]
        return Vectors(embedding[0], position, x[0], before, added, after, memory)

    def differences(self) -> list[float]:
        """By how much each row of the encoder's output differs between the sentences,
        as a share of the rows' mean length.
        """
        one, other = (self.vectors[word].memory for word in WORDS)
        lengths = (one.norm(dim=-1) + other.norm(dim=-1)) / 2
        return [float(each) for each in (one - other).norm(dim=-1) / lengths]

    def weights(self, word: str, head: Head) -> Tensor:
        """Where each word looks by that head."""
        return self.attention[word].words(head.kind)[head.layer, head.head]

    def pulls(self) -> Head:
        """The encoder's head by which "it" looks most at the word that differs."""

        def least(head: Head) -> float:
            """The smaller of its two weights, one in each sentence."""
            return min(
                float(self.weights(word, head)[words.index("it"), words.index(word)])
                for word, words in self.source.items()
            )

        return max((head for head in self.heads if head.kind == "encoder"), key=least)

    def names_the_noun(self) -> Head:
        """The cross-attention head that, at the pronoun, looks most at the noun."""
        nouns = dict(zip(PRONOUNS, ("animal", "street"), strict=True))

        def at_noun(word: str, head: Head) -> float:
            noun = self.source[word].index(nouns[self.pronoun[word]])
            return float(self.weights(word, head)[self.place[word], noun])

        def least(head: Head) -> float:
            return min(at_noun(word, head) for word in WORDS)

        return max((head for head in self.heads if head.kind == "cross"), key=least)

    def data(self) -> dict[str, Any]:
        """What the page holds, rounded as it is shown."""
        decider = {"head": str(self.decider.head), "word": self.decider.word}
        decider |= {"from": self.decider.pronoun, "to": self.decider.other}
        sentences = {word: self.sentence_data(word) for word in WORDS}
        return {"decider": decider, "sentences": sentences}

    def sentence_data(self, word: str) -> dict[str, Any]:
        """The numbers of one sentence."""
        encoder, noun = self.pulls(), self.names_the_noun()
        place, it = self.place[word], self.source[word].index("it")
        weights = rounded(self.weights(word, encoder)[it].tolist())
        off = {
            str(head): {"german": each["text"], "chances": rounded(each["chances"])}
            for head, each in self.off[word].items()
        }
        return {
            "source": self.source[word],
            "german": self.german[word].text,
            "target": self.target[word],
            "steps": rounded(self.steps(word)),
            "pronoun": self.pronoun[word],
            "chances": rounded(self.chances(word)),
            "encoder": {"head": str(encoder), "weights": weights},
            "cross": {
                str(head): rounded(self.weights(word, head)[place].tolist())
                for head in (self.decider.head, noun)
            },
            "off": off,
        }


def rounded(numbers: Any) -> Any:
    """Shares to three decimals."""
    if isinstance(numbers, dict):
        return {name: round(number, 3) for name, number in numbers.items()}
    return [round(number, 3) for number in numbers]


@cache
def tour() -> Tour:
    """The tour of the package's model."""
    model, vocabulary = pretrained("synthetic-en-de")
    assert isinstance(model, Transformer)
    return Tour(model, vocabulary)
