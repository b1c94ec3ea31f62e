# Made by `make export` from book/4-synthetic-corpus/4-corpus.ipynb
"""Sentence pairs with known alignments, trees and antecedents."""

# book/4-synthetic-corpus/4-corpus.ipynb, cell imports
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from aiayn.errors import InputError
from aiayn.synthetic.grammar import english, german
from aiayn.synthetic.grammar.adverbials import Draw
from aiayn.synthetic.grammar.joining import join, question_clause, reported_speech
from aiayn.synthetic.grammar.meaning import Clause, Notes, Word
from aiayn.synthetic.grammar.patterns import dependency, leaves, pronoun_sentence
from aiayn.synthetic.grammar.scenes import action


# book/4-synthetic-corpus/4-corpus.ipynb, cell pair
@dataclass(frozen=True)
class Pair:
    """An English sentence, its German translation, and all that is known about them.

    Attributes
    ----------
    source, target : str
        The two sentences as one writes them.
    source_tokens, target_tokens : tuple of str
        Their words and punctuation marks. The numbers below count them from 0.
    alignment : tuple of (int, int)
        Which source token is translated by which target token, many to many.
    tree : str
        The constituents of the English sentence, in Penn Treebank brackets.
    relations : tuple of (str, int, int)
        Name, head and dependent, both English: subject, object, indirect object,
        determiner, modifier, owner, preposition (to its object), particle, complement.
    coreference : tuple of (int, int)
        An English pronoun, and the head noun (or the name) of what it refers to.
    """

    source: str
    target: str
    source_tokens: tuple[str, ...] = field(repr=False)
    target_tokens: tuple[str, ...] = field(repr=False)
    alignment: tuple[tuple[int, int], ...] = field(repr=False)
    tree: str = field(repr=False)
    relations: tuple[tuple[str, int, int], ...] = field(repr=False)
    coreference: tuple[tuple[int, int], ...] = field(repr=False)


# book/4-synthetic-corpus/4-corpus.ipynb, cell tidy
def finish_sentence(words: list[Word], mark: str) -> list[Word]:
    """Capitalise, end with `mark` (no comma before it, nor two in a row) and number."""
    finished = list[Word]()
    for word in words:
        if word.text != "," or finished[-1].text != ",":
            finished.append(word)
    if finished[-1].text == ",":
        finished.pop()
    finished.append(Word(mark, ".", (("end", ""),)))
    finished[0].text = finished[0].text[0].upper() + finished[0].text[1:]
    for index, word in enumerate(finished):
        word.index = index
    return finished


def detokenize(words: list[Word]) -> str:
    """The sentence, with spaces where they belong."""
    return re.sub(r" (?=[,.?'])", "", " ".join(word.text for word in words))


def to_brackets(tree: english.Tree) -> str:
    """A tree in the notation of the Penn Treebank."""
    if isinstance(tree, Word):
        return f"({tree.tag} {tree.text})"
    return f"({tree[0]} {' '.join(map(to_brackets, tree[1:]))})"


# book/4-synthetic-corpus/4-corpus.ipynb, cell draft
class Draft:
    """A meaning said in English; in German too, as a `Pair`, only if that is wanted."""

    def __init__(self, clause: Clause) -> None:
        self.clause, self.notes = clause, Notes()
        tree = english.sentence(clause, self.notes)
        self.words = finish_sentence(leaves(tree), "?" if clause.asks else ".")
        self.tree = (*tree, self.words[-1])
        self.text = detokenize(self.words)

    def pair(self) -> Pair:
        """Both sentences; words for one part of the meaning translate each other."""
        translation = finish_sentence(german.sentence(self.clause), self.words[-1].text)
        places: dict[tuple[object, str], list[int]] = {}
        for word in self.words:
            for atom in word.atoms:
                places.setdefault(atom, []).append(word.index)
        links = {
            (i, word.index)
            for word in translation
            for atom in word.atoms
            for i in places.get(atom, ())
        }
        heads = self.notes.heads
        return Pair(
            self.text,
            detokenize(translation),
            tuple(word.text for word in self.words),
            tuple(word.text for word in translation),
            tuple(sorted(links)),
            to_brackets(self.tree),
            tuple(
                (name, head.index, dependent.index)
                for name, head, dependent in self.notes.relations
            ),
            tuple(
                (word.index, head.index)
                for word, what in self.notes.references
                for head in heads[id(what)]
            ),
        )


# book/4-synthetic-corpus/4-corpus.ipynb, cell home
SPLITS = ("train", "valid", "test", "long", "novel", "pronouns")
MAX_TRAIN_TOKENS = 18  # tokens, in a training sentence


def split_of(draft: Draft) -> str:
    """The one split in which a sentence may appear; "" if it may appear in none.

    It depends on the English sentence alone, so no two splits can share one. Sentences
    that differ only in the adjective after too or so go to the same split, so that no
    split knows half a riddle from another.
    """
    held_out = any(
        zlib.crc32(words.encode()) % 16 == 0 for words in draft.notes.combinations
    )
    nouns = [word.text.lower() for word in draft.words if word.tag.startswith("NN")]
    if len(nouns) > len(set(nouns)):  # Jan helped Jan: one of them, or two?
        return ""
    if len(draft.words) > MAX_TRAIN_TOKENS:
        return "" if held_out else "long"
    frame, pronouns = re.subn(r"\b(too|so) \w+", "", draft.text)
    if held_out:
        return "" if pronouns else "novel"
    part = zlib.crc32(frame.encode()) % 16
    if part < 8:
        return ("test", "test", "valid", "pronouns" if pronouns else "train")[part // 2]
    return "train"


# book/4-synthetic-corpus/4-corpus.ipynb, cell compose
def compose(draw: Draw, long: bool, span: int | None = None) -> Clause:
    """A meaning: a pronoun to resolve, a question, something said or something done.

    With a `span`, so many words stand between a verb and its particle or complement.
    """
    if span:
        clause = dependency(draw, span)
        if long:
            join(draw, clause, 3.0)
        return clause
    if not long and draw.chance(0.25):
        return pronoun_sentence(draw, draw.chance(0.5))
    kind = draw.random()
    if kind < 0.09:
        return question_clause(draw)
    said, rich = kind < 0.17, 2.5 if long else 1.0
    clause = reported_speech(draw) if said else action(draw, rich)
    if not clause.content and draw.chance(0.9 if long else 0.16):
        join(draw, clause, 3.0 if long else 1.0)
    return clause


def pronoun_pair(draw: Draw) -> list[Draft]:
    """The two readings of one sentence."""
    seed = str(draw.random())
    return [Draft(pronoun_sentence(Draw(seed), second)) for second in (False, True)]


# book/4-synthetic-corpus/4-corpus.ipynb, cell draws
def generate_pairs(seed: int, split: str, span: int | None) -> Iterator[Pair]:
    """Pairs of a split, without end."""
    draw, long = Draw(f"{split} {seed} {span}"), split == "long"
    while True:
        if split == "pronouns":
            drafts = pronoun_pair(draw)
        else:
            drafts = [Draft(compose(draw, long, span))]
        if all(split_of(draft) == split for draft in drafts):
            for draft in drafts:
                yield draft.pair()


# book/4-synthetic-corpus/4-corpus.ipynb, cell sample
SPANS = range(1, 11)


def sample(
    n: int, seed: int = 1, split: str = "train", span: int | None = None
) -> list[Pair]:
    """English-German pairs from the book's own grammar, the same on every machine.

    Parameters
    ----------
    n : int
        How many. The first ten of a hundred are the ten.
    seed : int
        Other seeds give other pairs.
    split : str
        `train`, `valid` and `test` share no sentence. `long`: longer than all of
        training. `novel`: with a verb and an object, or an adjective and a noun, that
        training never puts together. `pronouns`: sentences two by two that differ in
        one adjective, by which the pronoun means another thing.
    span : int, optional
        1 to 10: only sentences with so many words between a verb and its particle (call
        … up) or complement (make … more difficult).

    Raises
    ------
    InputError
        If there is no such split or span, or `n` is negative.
    """
    if n < 0:
        raise InputError(f"n={n}: a number of pairs cannot be negative")
    if split not in SPLITS:
        raise InputError(f"split {split!r}: choose one of {', '.join(SPLITS)}")
    if span is not None and (span not in SPANS or split == "pronouns"):
        spans = f"choose {SPANS[0]} to {SPANS[-1]}, and a split other than pronouns"
        raise InputError(f"span {span} in split {split!r}: {spans}")
    pairs = generate_pairs(seed, split, span)
    return [next(pairs) for _ in range(n)]
