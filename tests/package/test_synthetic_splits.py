"""The synthetic corpus: its splits, its long distances, and the promise that it is
the same everywhere.
"""

import json
from collections import Counter
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_synthetic_corpus import (
    COMMON_NOUN,
    draw_apart,
    drawn,
    read_tree,
    tags_of,
    training,
)

from aiayn.synthetic import Pair, sample
from aiayn.synthetic.corpus import SPLITS
from aiayn.synthetic.grammar import verbs
from aiayn.synthetic.grammar.lexicon import NOUNS

# Splits


def test_splits_share_no_sentence() -> None:
    sources = {split: {pair.source for pair in drawn(split)} for split in SPLITS}
    sources["train"] |= {pair.source for pair in training()}
    for one, other in combinations(SPLITS, 2):
        assert not sources[one] & sources[other], (one, other)


def test_long_sentences_are_longer_than_all_of_training() -> None:
    longest = max(len(pair.source_tokens) for pair in training())
    assert all(len(pair.source_tokens) > longest for pair in drawn("long"))
    assert all(
        len(pair.source_tokens) <= longest
        for split in ("valid", "test")
        for pair in drawn(split)
    )


OBJECT_VERBS = (
    *verbs.TRANSITIVE,
    *verbs.PARTICLE,
    *verbs.DITRANSITIVE,
    *verbs.PLACING,
    verbs.MAKE,
)
INFINITIVES = {form: verb.english[0] for verb in OBJECT_VERBS for form in verb.english}
SINGULARS = {
    noun.english(plural): noun.singular
    for noun in NOUNS.values()
    for plural in (False, True)
}


def put_together(pair: Pair) -> set[tuple[str, str]]:
    """The verbs with their objects, and the adjectives with their nouns, in their base
    forms.
    """
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
        [
            word.lower()
            for pair in pairs
            for word in getattr(pair, side)
            if not word.isdigit()
        ]
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
    for new, old in zip(
        forms(drawn("novel")), map(set, forms(training())), strict=True
    ):
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
        assert differ == (
            [cue] if len(numbers) == 1 else [pronoun, pronoun + 1, cue]
        ), (one, other)
        consequences = {j for i, j in one.alignment if i in (pronoun, pronoun + 1, cue)}
        for j, (mine, yours) in enumerate(
            zip(one.target_tokens, other.target_tokens, strict=True)
        ):
            assert mine == yours or j in consequences
        if numbers == {"NN"}:
            nouns = (NOUNS[one.source_tokens[first]], NOUNS[one.source_tokens[second]])
            assert nouns[0].gender != nouns[1].gender


def test_pronoun_pairs_are_balanced() -> None:
    """Half mean what comes first; the cue stands before and after; er, sie and es are
    all to be found.
    """
    pairs = drawn("pronouns")
    german: Counter[str] = Counter()
    before = 0
    for pair in pairs:
        ((pronoun, noun),) = pair.coreference
        (place,) = [j for i, j in pair.alignment if i == pronoun]
        german[pair.target_tokens[place].lower()] += 1
        before += pronoun < noun
    assert sum(
        one.coreference < other.coreference
        for one, other in zip(pairs[::2], pairs[1::2], strict=True)
    )
    assert set(german) == {"er", "sie", "es"}
    assert min(german.values()) > 0.15 * len(pairs)
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
@settings(max_examples=8, deadline=None)
def test_a_smaller_sample_begins_a_larger_one(seed: int, split: str, n: int) -> None:
    assert sample(n, seed, split) == sample(4, seed, split)[:n]


def test_seeds_and_splits_give_other_pairs() -> None:
    texts = [
        tuple(pair.source for pair in sample(2, seed, split))
        for seed in range(3)
        for split in SPLITS
    ]
    assert len(set(texts)) == len(texts)


def test_hash_seed_locale_and_time_zone_change_nothing() -> None:
    calls: list[dict[str, Any]] = [
        {"n": 50, "seed": 5, "split": split} for split in SPLITS
    ]
    odd = draw_apart(
        calls, PYTHONHASHSEED="1", LC_ALL="C", PYTHONUTF8="0", TZ="Asia/Tokyo"
    )
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


# The golden file

GOLDEN = Path(__file__).parents[1] / "golden" / "synthetic.jsonl"
CALL = ("seed", "split", "span", "index")


def golden_now(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same calls, with the pairs that they give now."""
    longest: Counter[tuple[Any, ...]] = Counter()
    for line in lines:
        call = line["seed"], line["split"], line["span"]
        longest[call] = max(longest[call], line["index"] + 1)
    calls = [
        {"n": n, "seed": seed, "split": split, "span": span}
        for (seed, split, span), n in longest.items()
    ]
    found = dict(zip(longest, draw_apart(calls), strict=True))
    return [
        {key: line[key] for key in CALL}
        | json.loads(
            json.dumps(
                asdict(found[line["seed"], line["split"], line["span"]][line["index"]])
            )
        )
        for line in lines
    ]


def read_golden() -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()
    ]


def write_golden() -> None:
    """Draw the golden pairs again, after a change to the grammar that is meant; then
    read what git shows.

    cd tests/package
    python -c "import test_synthetic_splits as it; it.write_golden()"
    """
    lines = (json.dumps(line, ensure_ascii=False) for line in golden_now(read_golden()))
    GOLDEN.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_a_hundred_pairs_that_were_read_are_still_the_same() -> None:
    golden = read_golden()
    assert len(golden) == 100 and {line["split"] for line in golden} == set(SPLITS)
    for line, now in zip(golden, golden_now(golden), strict=True):
        assert now == line
