"""Batches: nothing is lost, nothing is doubled, the limit is kept, and one seed gives one order."""

from collections import Counter
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aiayn.batching import (
    Batch,
    Example,
    encode_pairs,
    endless_batches,
    group_by_length,
    make_batch,
    pad,
)
from aiayn.data import InputError, Pairs, load_pairs
from aiayn.training import recipe
from aiayn.vocabulary import BOS_ID, EOS_ID, PAD_ID, Vocabulary, train_vocabulary


def sides(longest: int) -> st.SearchStrategy[list[int]]:
    """Tokens of a sentence, its end included."""
    words = st.lists(st.integers(EOS_ID + 1, 50), max_size=longest - 1)
    return words.map(lambda tokens: [*tokens, EOS_ID])


EXAMPLES = st.lists(st.tuples(sides(12), sides(12)), min_size=1, max_size=60)
SEEDS = st.integers(0, 2**32 - 1)


def shapes(examples: list[Example], group: list[int]) -> list[tuple[int, int]]:
    return [(len(examples[index][0]), len(examples[index][1])) for index in group]


def width(examples: list[Example], group: list[int]) -> int:
    return max(max(shape) for shape in shapes(examples, group))


def contents(batches: list[Batch]) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every pair in the batches, without its padding."""
    pairs: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for batch in batches:
        for source, labels in zip(batch.source.tolist(), batch.labels.tolist(), strict=True):
            pairs[tuple(filter(None, source)), tuple(filter(None, labels))] += 1
    return pairs


def whole(examples: list[Example]) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    return Counter((tuple(source), tuple(target)) for source, target in examples)


# Groups


@given(EXAMPLES, st.integers(1, 80), st.none() | SEEDS)
def test_every_example_is_in_one_group(examples: list[Example], tokens: int, seed: int | None) -> None:
    groups = group_by_length(examples, tokens, None if seed is None else np.random.default_rng(seed))
    assert sorted(index for group in groups for index in group) == list(range(len(examples)))
    assert all(groups)


@given(EXAMPLES, st.integers(1, 80), st.none() | SEEDS)
def test_no_side_of_a_group_exceeds_the_limit(examples: list[Example], tokens: int, seed: int | None) -> None:
    for group in group_by_length(examples, tokens, None if seed is None else np.random.default_rng(seed)):
        assert len(group) == 1 or len(group) * width(examples, group) <= tokens


@given(EXAMPLES, st.integers(1, 80))
def test_groups_are_as_full_as_they_can_be(examples: list[Example], tokens: int) -> None:
    groups = group_by_length(examples, tokens)
    for group, following in pairwise(groups):
        assert (len(group) + 1) * width(examples, [*group, following[0]]) > tokens
        assert width(examples, group) <= width(examples, following[:1])  # neighbours in length


@given(EXAMPLES, st.integers(1, 80), SEEDS)
def test_one_seed_gives_one_order(examples: list[Example], tokens: int, seed: int) -> None:
    first, again = (group_by_length(examples, tokens, np.random.default_rng(seed)) for _ in range(2))
    assert first == again
    plain = group_by_length(examples, tokens)  # chance decides on the order, not on what fits together
    alike = [sorted(sorted(shapes(examples, group)) for group in groups) for groups in (first, plain)]
    assert alike[0] == alike[1]


# Batches


@given(EXAMPLES)
def test_the_target_is_the_labels_one_position_late(examples: list[Example]) -> None:
    batch = make_batch(examples)
    assert batch.target.shape == batch.labels.shape
    rows = zip(examples, batch.source.tolist(), batch.target.tolist(), batch.labels.tolist(), strict=True)
    for (source, target), source_row, target_row, label_row in rows:
        padding = [PAD_ID] * (len(label_row) - len(target))
        assert source_row == source + [PAD_ID] * (len(source_row) - len(source))
        assert label_row == target + padding
        assert target_row == [BOS_ID, *target[:-1], *padding]
    assert batch.tokens == sum(len(source) + len(target) for source, target in examples)
    assert batch.source.shape[1] == max(len(source) for source, _ in examples)
    assert batch.labels.shape[1] == max(len(target) for _, target in examples)


def test_a_batch_goes_to_a_device_whole() -> None:
    batch = make_batch([([5, EOS_ID], [6, 7, EOS_ID])]).to(torch.device("meta"))
    assert {side.device.type for side in (batch.source, batch.target, batch.labels)} == {"meta"}


def test_padding_goes_to_the_right() -> None:
    assert pad([[4, 3], [5, 6, 3], [3]]).tolist() == [[4, 3, 0], [5, 6, 3], [3, 0, 0]]


@given(EXAMPLES, st.integers(12, 80), SEEDS)
def test_each_epoch_holds_every_pair_once(examples: list[Example], tokens: int, seed: int) -> None:
    number = len(group_by_length(examples, tokens))
    batches = list(islice(endless_batches(examples, tokens, seed), 2 * number))
    assert contents(batches[:number]) == contents(batches[number:]) == whole(examples)
    assert all(max(batch.source.numel(), batch.labels.numel()) <= tokens for batch in batches)


def test_the_seed_fixes_the_batches_and_epochs_differ() -> None:
    lengths = np.random.default_rng(0).integers(1, 20, 300)
    examples = [([4] * n + [k % 40 + 4, EOS_ID], [5] * n) for k, n in enumerate(lengths.tolist())]

    def rows(seed: int, number: int = 60) -> list[list[list[int]]]:
        return [batch.source.tolist() for batch in islice(endless_batches(examples, 100, seed), number)]

    assert rows(1) == rows(1) and rows(1) != rows(2)
    epoch = len(group_by_length(examples, 100))
    assert rows(1, 2 * epoch)[:epoch] != rows(1, 2 * epoch)[epoch:]
    torch.manual_seed(5)  # what else draws random numbers has no say in it
    batches, expected = endless_batches(examples, 100, 1), rows(1)
    for want in expected:
        torch.rand(3), np.random.default_rng(1).random()
        assert next(batches).source.tolist() == want


def test_a_long_example_stands_alone() -> None:
    examples = [([4] * n, [4] * n) for n in (3, 50, 4)]
    assert group_by_length(examples, 10) == [[0, 2], [1]]


# Examples

ENGLISH = ["The cat sleeps.", "The dog sees the cat.", "My hand is warm."]
GERMAN = ["Die Katze schläft.", "Der Hund sieht die Katze.", "Meine Hand ist warm."]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabulary(ENGLISH + GERMAN, 70)


def complaint(vocabulary: Vocabulary, pairs: Pairs, max_length: int, drop: bool = False) -> str:
    with pytest.raises(InputError) as caught:
        encode_pairs(vocabulary, pairs, max_length, drop)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_examples_are_the_tokens_of_the_pairs(vocabulary: Vocabulary) -> None:
    examples = encode_pairs(vocabulary, Pairs(ENGLISH, GERMAN), 100)
    assert examples == list(zip(vocabulary.encode(ENGLISH), vocabulary.encode(GERMAN), strict=True))
    assert [vocabulary.decode([target])[0] for _, target in examples] == GERMAN


@pytest.mark.parametrize(
    ("source", "target", "file"), [("long " * 30, "kurz", "my.en"), ("short", "lang " * 30, "my.de")]
)
def test_a_sentence_that_is_too_long(vocabulary: Vocabulary, source: str, target: str, file: str) -> None:
    pairs = Pairs([*ENGLISH, source, "a"], [*GERMAN, target, "b"], "my.en", "my.de")
    tokens = max(len(row) for row in vocabulary.encode([source, target]))
    message = complaint(vocabulary, pairs, 40)
    assert message.startswith(f"{file}, line 4: {tokens} tokens, more than max_length=40; split the sentence")
    assert len(encode_pairs(vocabulary, pairs, 40, drop_too_long=True)) == 4


def test_the_count_is_that_of_the_side_named(vocabulary: Vocabulary) -> None:
    tokens = len(vocabulary.encode(["long " * 30])[0])
    pairs = Pairs(["long " * 30], ["lang " * 60], "my.en", "my.de")
    assert complaint(vocabulary, pairs, 40).startswith(f"my.en, line 1: {tokens} tokens")


def test_the_longest_that_is_allowed(vocabulary: Vocabulary) -> None:
    tokens = max(len(row) for row in vocabulary.encode(ENGLISH + GERMAN))
    assert len(encode_pairs(vocabulary, Pairs(ENGLISH, GERMAN), tokens)) == 3
    assert "max_length" in complaint(vocabulary, Pairs(ENGLISH, GERMAN), tokens - 1)


def test_nothing_is_left(vocabulary: Vocabulary) -> None:
    pairs = Pairs(ENGLISH, GERMAN, "my.en", "my.de")
    assert "my.en: no pairs of at most max_length=2 tokens" in complaint(vocabulary, pairs, 2, drop=True)


# Real data


def padding_share(examples: list[Example], groups: list[list[int]]) -> float:
    words = places = 0
    for group in groups:
        for lengths in zip(*shapes(examples, group), strict=True):
            words, places = words + sum(lengths), places + max(lengths) * len(lengths)
    return 1 - words / places


def test_little_of_multi30k_is_padding(data: Path) -> None:
    small = recipe("small")
    pairs = load_pairs("multi30k", "en-de", "train")
    vocabulary = train_vocabulary(pairs.source + pairs.target, small.model.vocabulary_size)
    examples = encode_pairs(vocabulary, pairs, small.max_length)
    assert len(examples) == 29_000
    groups = group_by_length(examples, small.batch_tokens, np.random.default_rng([small.seed, 0]))
    assert padding_share(examples, groups) < 0.03
    assert padding_share(examples, group_by_length(examples, 25_000)) < 0.1  # the paper's size
    batches = [make_batch([examples[index] for index in group]) for group in groups]
    assert contents(batches) == whole(examples)
