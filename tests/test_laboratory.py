"""The laboratory's corpus: its records, its splits, and the promise that it is the same everywhere."""

import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.grammar import verbs
from aiayn.grammar.lexicon import NOUNS
from aiayn.laboratory import SPLITS, Pair, sample

GOLDEN = Path(__file__).with_name("golden") / "laboratory.jsonl"
WORD_TAGS = set(
    "CC CD DT IN JJ JJR MD NN NNP NNS POS PRP PRP$ RB RBR RP TO VB VBD VBG VBN VBP VBZ WDT WP WRB , .".split()
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
TIMES = {*DAYS, *"yesterday today tomorrow day morning evening night week month year".split()}


DRAW = """
import pickle, sys
from aiayn.laboratory import sample
calls = pickle.load(sys.stdin.buffer)
pickle.dump([sample(**call) for call in calls], sys.stdout.buffer)
"""


def draw_apart(calls: list[dict[str, Any]], **environment: str) -> list[list[Pair]]:
    """What `sample` gives in a process of its own: the types checked here make it thirty times as slow."""
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
    calls: list[dict[str, Any]] = [{"n": 3000, "seed": 5, "split": split} for split in SPLITS]
    return draw_apart([*calls, {"n": 30_000}])


def drawn(split: str) -> list[Pair]:
    """3,000 pairs of a split."""
    return all_drawn()[SPLITS.index(split)]


def training() -> list[Pair]:
    """30,000 pairs to learn from."""
    return all_drawn()[-1]


def everything() -> list[Pair]:
    """3,000 pairs, 500 of each split."""
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
            assert bool(node.text) != bool(node.parts), "a tag has a word, a phrase has parts"
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
        assert tree.label in (("S",) if pair.source_tokens[-1] == "." else ("SQ", "SBARQ"))


def test_labels_are_those_of_the_treebank() -> None:
    for pair in everything():
        assert set(re.findall(r"\((\S+) \(", pair.tree)) <= PHRASES
        assert set(tags_of(pair)) <= WORD_TAGS


# Sentences


def test_a_sentence_is_its_tokens() -> None:
    for pair in everything():
        for text, tokens in ((pair.source, pair.source_tokens), (pair.target, pair.target_tokens)):
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
        assert (len(pair.source_tokens) - 1, len(pair.target_tokens) - 1) in pair.alignment  # the final marks


def test_every_word_is_aligned() -> None:
    for pair in everything():
        sides = zip(*pair.alignment, strict=True)
        for side, tokens in zip(sides, (pair.source_tokens, pair.target_tokens), strict=True):
            assert {tokens[k] for k in set(range(len(tokens))) - set(side)} <= {","}, pair


def test_names_and_numbers_are_copied() -> None:
    for pair in everything():
        for i, (word, tag) in enumerate(zip(pair.source_tokens, tags_of(pair), strict=True)):
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

ROLES = "subject", "object", "indirect object", "owner", "preposition"
RELATIONS = {  # the tags of head and dependent, and whether the dependent follows its head (None: either)
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
    """Only times (last week, on Monday) stand outside the relations, and numbers or owners that determine."""
    wanted = {name: tags for name, (_, tags, _) in RELATIONS.items()}
    for pair in everything():
        names: dict[int, list[str]] = {}
        for name, _, dependent in pair.relations:
            names.setdefault(dependent, []).append(name)
        for k, leaf in enumerate(read_tree(pair.tree).leaves()):
            assert leaf.parent
            timed = any({word.text, word.text.lower()} & TIMES for word in leaf.parent.leaves())
            possible = [name for name, tags in wanted.items() if leaf.label in tags]
            assert len(names.get(k, [])) == bool(possible and not timed), (leaf.text, pair)


def test_references_run_from_a_pronoun_to_a_noun() -> None:
    for pair in everything():
        tags = tags_of(pair)
        for pronoun, noun in pair.coreference:
            assert tags[pronoun] in {"PRP", "PRP$", "WP", "WDT"} and tags[noun] in NOUN
        referring = {pronoun for pronoun, _ in pair.coreference}
        for k, (word, tag) in enumerate(zip(pair.source_tokens, tags, strict=True)):
            if tag == "WDT" or word.lower() in ("it", "its", "his", "their"):  # he, she, they may stand alone
                assert k in referring, pair


# Splits


def test_splits_share_no_sentence() -> None:
    sources = {split: {pair.source for pair in drawn(split)} for split in SPLITS}
    sources["train"] |= {pair.source for pair in training()}
    for one, other in combinations(SPLITS, 2):
        assert not sources[one] & sources[other], (one, other)


def test_long_sentences_are_longer_than_all_of_training() -> None:
    longest = max(len(pair.source_tokens) for pair in training())
    assert all(len(pair.source_tokens) > longest for pair in drawn("long"))
    assert all(len(pair.source_tokens) <= longest for split in ("valid", "test") for pair in drawn(split))


OBJECT_VERBS = (*verbs.TRANSITIVE, *verbs.PARTICLE, *verbs.DITRANSITIVE, *verbs.PLACING, verbs.MAKE)
INFINITIVES = {form: verb.english[0] for verb in OBJECT_VERBS for form in verb.english}
SINGULARS = {noun.english(plural): noun.singular for noun in NOUNS.values() for plural in (False, True)}


def put_together(pair: Pair) -> set[tuple[str, str]]:
    """The verbs with their objects, and the adjectives with their nouns, in their base forms."""
    tags, words = tags_of(pair), [word.lower() for word in pair.source_tokens]
    found = set()
    for name, head, dependent in pair.relations:
        if name == "object" and tags[dependent] in COMMON_NOUN:
            found.add((INFINITIVES[words[head]], SINGULARS[words[dependent]]))
        if name == "modifier" and tags[dependent] == "JJ":
            found.add((words[dependent], SINGULARS[words[head]]))
    return found


def forms(pairs: list[Pair]) -> list[list[str]]:
    """The words as they stand, English and German, digits apart."""
    return [
        [word.lower() for pair in pairs for word in getattr(pair, side) if not word.isdigit()]
        for side in ("source_tokens", "target_tokens")
    ]


def test_novel_sentences_put_known_words_together_anew() -> None:
    known = set().union(*map(put_together, training()))
    for pair in drawn("novel"):
        new = put_together(pair) - known
        assert new and {word for words in new for word in words} <= {
            word for words in known for word in words
        }


def test_nearly_every_form_of_the_novel_sentences_is_trained_on() -> None:
    """Of a rare inflection (lobe, ruhiger) training may show another form only."""
    for new, old in zip(forms(drawn("novel")), map(set, forms(training())), strict=True):
        assert sum(word not in old for word in new) < len(new) / 2000


def test_pronouns_come_as_minimal_pairs() -> None:
    pairs = drawn("pronouns")
    for one, other in zip(pairs[::2], pairs[1::2], strict=True):
        tags = tags_of(one)
        assert tags == tags_of(other)
        words = zip(one.source_tokens, other.source_tokens, strict=True)
        differ = [k for k, (mine, yours) in enumerate(words) if mine != yours]
        ((pronoun, first),), ((same, second),) = one.coreference, other.coreference
        assert pronoun == same and first != second
        numbers = {tags[first], tags[second]}
        cue = pronoun + 3  # it was too tired
        assert differ == ([cue] if len(numbers) == 1 else [pronoun, pronoun + 1, cue]), (one, other)
        consequences = {j for i, j in one.alignment if i in (pronoun, pronoun + 1, cue)}
        for j, (mine, yours) in enumerate(zip(one.target_tokens, other.target_tokens, strict=True)):
            assert mine == yours or j in consequences
        if numbers == {"NN"}:
            nouns = (NOUNS[one.source_tokens[first]], NOUNS[one.source_tokens[second]])
            assert nouns[0].gender != nouns[1].gender


def test_pronoun_pairs_are_balanced() -> None:
    """Half mean what comes first; the cue stands before and after; er, sie and es are all to be found."""
    pairs = drawn("pronouns")
    german: Counter[str] = Counter()
    before = 0
    for pair in pairs:
        ((pronoun, noun),) = pair.coreference
        (place,) = [j for i, j in pair.alignment if i == pronoun]
        german[pair.target_tokens[place].lower()] += 1
        before += pronoun < noun
    assert sum(
        one.coreference < other.coreference for one, other in zip(pairs[::2], pairs[1::2], strict=True)
    )
    assert set(german) == {"er", "sie", "es"} and min(german.values()) > 0.15 * len(pairs)
    assert 0.25 < before / len(pairs) < 0.5


def test_no_sentence_has_two_translations() -> None:
    translations: dict[str, str] = {}
    for pair in training():
        assert translations.setdefault(pair.source, pair.target) == pair.target


def test_the_corpus_has_many_forms_and_sentences() -> None:
    english, german = map(set, forms(training()))
    assert len(english) >= 500 and len(german) >= 1000
    assert len({pair.source for pair in training()}) > 0.9 * len(training())


# Spans


def test_a_span_is_the_number_of_words_between() -> None:
    calls = [
        {"n": 20, "span": span, "split": split}
        for span in range(1, 11)
        for split in ("train", "test", "long")
    ]
    for call, pairs in zip(calls, draw_apart(calls), strict=True):
        for pair in pairs:
            leaves = list(read_tree(pair.tree).leaves())
            gaps = set()
            for name, head, dependent in pair.relations:
                if name in ("particle", "complement"):
                    phrase = leaves[dependent].parent
                    assert phrase
                    gaps.add(leaves.index(next(phrase.leaves())) - head - 1)
            assert call["span"] in gaps, pair


# The same everywhere


@given(st.integers(0, 2**63), st.sampled_from(SPLITS), st.integers(0, 3))
@settings(max_examples=15, deadline=None)
def test_a_smaller_sample_begins_a_larger_one(seed: int, split: str, n: int) -> None:
    assert sample(n, seed, split) == sample(4, seed, split)[:n]


def test_seeds_and_splits_give_other_pairs() -> None:
    texts = [tuple(pair.source for pair in sample(2, seed, split)) for seed in range(3) for split in SPLITS]
    assert len(set(texts)) == len(texts)


def test_hash_seed_locale_and_time_zone_change_nothing() -> None:
    calls: list[dict[str, Any]] = [{"n": 50, "seed": 5, "split": split} for split in SPLITS]
    odd = draw_apart(calls, PYTHONHASHSEED="1", LC_ALL="C", PYTHONUTF8="0", TZ="Asia/Tokyo")
    assert odd == [drawn(split)[:50] for split in SPLITS]
    assert [pairs[:5] for pairs in odd] == [sample(5, 5, split) for split in SPLITS]


# Bad input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"n": 1, "split": "dev"}, "split 'dev': choose one of train, valid, test"),
        ({"n": -1}, "n=-1: .* cannot be negative"),
        ({"n": 1, "span": 0}, "span 0 .*choose 1 to 10"),
        ({"n": 1, "span": 11}, "span 11 .*choose 1 to 10"),
        ({"n": 1, "span": 3, "split": "pronouns"}, "a split other than pronouns"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sample(**call)


def test_none_can_be_drawn() -> None:
    assert sample(0) == []
