"""The pairs of the synthetic corpus: trees, alignments, relations and references are
what they say they are.
"""

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from aiayn.synthetic import Pair, sample
from aiayn.synthetic.corpus import SPLITS

WORD_TAGS = set(
    """
    CC CD DT IN JJ JJR MD NN NNP NNS POS PRP PRP$ RB RBR RP TO VB VBD VBG VBN VBP VBZ
    WDT WP WRB , .
    """.split()
)
PHRASES = set("S SBAR SBARQ SQ NP VP PP PRT ADJP ADVP WHNP WHADVP".split())
COMMON_NOUN, VERB = {"NN", "NNS"}, {"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"}
NOUN = COMMON_NOUN | {"NNP"}
NUMBERS = dict(
    zip(
        "two three four five six seven eight nine ten eleven twelve".split(),
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split(),
        strict=True,
    )
)
DAYS = dict(
    zip(
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
        strict=True,
    )
)
TIMES = {
    *DAYS,
    *"yesterday today tomorrow day morning evening night week month year".split(),
}


DRAW = """
import pickle, sys
from aiayn.synthetic import sample
calls = pickle.load(sys.stdin.buffer)
pickle.dump([sample(**call) for call in calls], sys.stdout.buffer)
"""


def draw_apart(calls: list[dict[str, Any]], **environment: str) -> list[list[Pair]]:
    """What `sample` gives in a process of its own, with an environment of its own."""
    run = subprocess.run(
        [sys.executable, "-c", DRAW],
        input=pickle.dumps(calls),
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    pairs: list[list[Pair]] = pickle.loads(run.stdout)
    return pairs


@cache
def all_drawn() -> list[list[Pair]]:
    return [sample(1000, seed=5, split=split) for split in SPLITS]


def drawn(split: str) -> list[Pair]:
    """1,000 pairs of a split."""
    return all_drawn()[SPLITS.index(split)]


@cache
def training() -> list[Pair]:
    """40,000 pairs to learn from."""
    return sample(40_000)


def everything() -> list[Pair]:
    """Pairs of all splits, 500 of each."""
    return [pair for split in SPLITS for pair in drawn(split)[:500]]


# Trees


@dataclass(eq=False)
class Node:
    """A word with its tag, or a phrase with its parts."""

    label: str
    parent: "Node | None" = None
    parts: list["Node"] = field(default_factory=list)
    text: str = ""

    def leaves(self) -> Iterator["Node"]:
        """The words, in order."""
        if self.text:
            yield self
        for part in self.parts:
            yield from part.leaves()


def read_tree(brackets: str) -> Node:
    """A tree from its Penn Treebank notation, in which brackets have to be balanced."""
    node = root = Node("")
    for label, word in re.findall(r"\((\S+)|([^()\s]+)|\)", brackets):
        if label:
            node.parts.append(Node(label, node))
            node = node.parts[-1]
        elif word:
            assert not node.text and not node.parts, "one word a tag"
            node.text = word
        else:
            assert node.parent, "a bracket closes what none opened"
            assert bool(node.text) != bool(node.parts), (
                "a tag has a word, a phrase has parts"
            )
            node = node.parent
    assert node is root, "a bracket stays open"
    (tree,) = root.parts
    return tree


def tags_of(pair: Pair) -> list[str]:
    return [leaf.label for leaf in read_tree(pair.tree).leaves()]


def test_the_leaves_of_a_tree_are_the_tokens() -> None:
    for pair in everything():
        tree = read_tree(pair.tree)
        assert tuple(leaf.text for leaf in tree.leaves()) == pair.source_tokens
        assert tree.label in (
            ("S",) if pair.source_tokens[-1] == "." else ("SQ", "SBARQ")
        )


def test_labels_are_those_of_the_treebank() -> None:
    for pair in everything():
        assert set(re.findall(r"\((\S+) \(", pair.tree)) <= PHRASES
        assert set(tags_of(pair)) <= WORD_TAGS


# Sentences


def test_a_sentence_is_its_tokens() -> None:
    for pair in everything():
        for text, tokens in (
            (pair.source, pair.source_tokens),
            (pair.target, pair.target_tokens),
        ):
            assert text.replace(" ", "") == "".join(tokens)
            assert text[0].isupper() or text[0].isdigit()
            assert re.fullmatch(r"[A-ZÄÖÜa-zäöüß0-9', ]+[.?]", text)
            assert not re.search(r"  | [,.?']|,[^ ]|, ?,", text)
        assert pair.source[-1] == pair.target[-1]


def test_a_becomes_an_before_a_vowel() -> None:
    for pair in everything():
        for word, following in re.findall(r"\b([Aa]n?) (\w)", pair.source):
            assert (word.lower() == "an") == (following in "aeiou"), pair.source


# Alignment


def test_alignments_are_in_range_and_sorted() -> None:
    for pair in everything():
        assert pair.alignment == tuple(sorted(set(pair.alignment)))
        assert all(i in range(len(pair.source_tokens)) for i, _ in pair.alignment)
        assert all(j in range(len(pair.target_tokens)) for _, j in pair.alignment)
        # The final marks belong together.
        assert (
            len(pair.source_tokens) - 1,
            len(pair.target_tokens) - 1,
        ) in pair.alignment


def test_every_word_is_aligned() -> None:
    for pair in everything():
        sides = zip(*pair.alignment, strict=True)
        for side, tokens in zip(
            sides, (pair.source_tokens, pair.target_tokens), strict=True
        ):
            assert {tokens[k] for k in set(range(len(tokens))) - set(side)} <= {","}, (
                pair
            )


def test_names_and_numbers_are_copied() -> None:
    for pair in everything():
        for i, (word, tag) in enumerate(
            zip(pair.source_tokens, tags_of(pair), strict=True)
        ):
            partners = [pair.target_tokens[j] for k, j in pair.alignment if k == i]
            if tag == "CD":
                number = NUMBERS.get(word.lower(), word)
                assert [partner.lower() for partner in partners] == [number]
            elif word in DAYS:
                assert DAYS[word] in partners
            elif tag == "NNP":
                owns = pair.source_tokens[i + 1] == "'s"
                assert partners == [word + "s" * owns]


# Relations

# The tags of head and dependent, and whether the dependent comes after (None: either).
RELATIONS = {
    "subject": (VERB, NOUN | {"PRP", "WP", "WDT"}, None),
    "object": (VERB, NOUN | {"PRP", "WP", "WDT"}, None),
    "indirect object": (VERB, NOUN, True),
    "owner": (COMMON_NOUN, NOUN, False),
    "preposition": ({"IN"}, NOUN, True),
    "determiner": (COMMON_NOUN, {"DT", "PRP$"}, False),
    "modifier": (COMMON_NOUN, {"JJ", "CD"}, False),
    "particle": (VERB, {"RP"}, True),
    "complement": (VERB, {"JJ", "JJR"}, True),
}


def test_relations_join_words_that_can_have_them() -> None:
    for pair in everything():
        tags = tags_of(pair)
        assert len(set(pair.relations)) == len(pair.relations)
        for name, head, dependent in pair.relations:
            heads, dependents, follows = RELATIONS[name]
            assert tags[head] in heads and tags[dependent] in dependents, (name, pair)
            assert follows in (None, dependent > head), (name, pair)


def test_every_word_has_one_head() -> None:
    """Only times (last week, on Monday) stand outside the relations, and numbers or
    owners that determine.
    """
    wanted = {name: tags for name, (_, tags, _) in RELATIONS.items()}
    for pair in everything():
        names: dict[int, list[str]] = {}
        for name, _, dependent in pair.relations:
            names.setdefault(dependent, []).append(name)
        for k, leaf in enumerate(read_tree(pair.tree).leaves()):
            assert leaf.parent
            timed = any(
                {word.text, word.text.lower()} & TIMES for word in leaf.parent.leaves()
            )
            possible = [name for name, tags in wanted.items() if leaf.label in tags]
            assert len(names.get(k, [])) == bool(possible and not timed), (
                leaf.text,
                pair,
            )


def test_references_run_from_a_pronoun_to_a_noun() -> None:
    for pair in everything():
        tags = tags_of(pair)
        for pronoun, noun in pair.coreference:
            assert tags[pronoun] in {"PRP", "PRP$", "WP", "WDT"} and tags[noun] in NOUN
        referring = {pronoun for pronoun, _ in pair.coreference}
        for k, (word, tag) in enumerate(zip(pair.source_tokens, tags, strict=True)):
            # The words he, she and they may stand alone.
            if tag == "WDT" or word.lower() in ("it", "its", "his", "their"):
                assert k in referring, pair
