"""Batches: nothing is lost, nothing is doubled, the limit is kept, and one seed gives
one order.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import small_runs
import torch
from hypothesis import given
from hypothesis import strategies as st

from aiayn.data import (
    Batch,
    Batches,
    Pairs,
    Vocabulary,
    encode_pairs,
    load_pairs,
    make_batch,
    train_vocabulary,
)
from aiayn.data.batching import Example, GlobalBatch, group_by_length, lengths_of
from aiayn.data.tokenized import encode_corpus
from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from aiayn.errors import InputError


def sides(longest: int) -> st.SearchStrategy[list[int]]:
    """Tokens of a sentence, its end included."""
    words = st.lists(st.integers(EOS_ID + 1, 50), max_size=longest - 1)
    return words.map(lambda tokens: [*tokens, EOS_ID])


EXAMPLES = st.lists(st.tuples(sides(12), sides(12)), min_size=1, max_size=60)
SEEDS = st.integers(0, 2**32 - 1)


def grouped(
    examples: list[Example], tokens: int, seed: int | None = None
) -> list[list[int]]:
    """The groups as lists."""
    generator = None if seed is None else np.random.default_rng(seed)
    return [
        group.tolist()
        for group in group_by_length(lengths_of(examples), tokens, generator)
    ]


def shapes(examples: list[Example], group: Sequence[int]) -> list[tuple[int, int]]:
    return [(len(examples[index][0]), len(examples[index][1])) for index in group]


def width(examples: list[Example], group: list[int]) -> int:
    return max(max(shape) for shape in shapes(examples, group))


def contents(
    batches: Sequence[Batch],
) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every pair in the batches that has something to say, without its padding."""
    pairs: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for batch in batches:
        for source, labels in zip(
            batch.source.tolist(), batch.labels.tolist(), strict=True
        ):
            if any(labels):
                pairs[tuple(filter(None, source)), tuple(filter(None, labels))] += 1
    return pairs


def whole(examples: list[Example]) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    return Counter((tuple(source), tuple(target)) for source, target in examples)


# Groups


@given(EXAMPLES, st.integers(1, 80), st.none() | SEEDS)
def test_every_example_is_in_one_group_whose_sides_keep_the_limit(
    examples: list[Example], tokens: int, seed: int | None
) -> None:
    groups = grouped(examples, tokens, seed)
    indices = sorted(index for group in groups for index in group)
    assert indices == list(range(len(examples))) and all(groups)
    for group in groups:
        assert len(group) == 1 or len(group) * width(examples, group) <= tokens


@given(EXAMPLES, st.integers(1, 80))
def test_groups_are_as_full_as_they_can_be(
    examples: list[Example], tokens: int
) -> None:
    for group, following in pairwise(grouped(examples, tokens)):
        assert (len(group) + 1) * width(examples, [*group, following[0]]) > tokens
        # Neighbours in length share a group.
        assert width(examples, group) <= width(examples, following[:1])


@given(EXAMPLES, st.integers(1, 80), st.none() | SEEDS)
def test_neighbours_in_a_group_are_alike(
    examples: list[Example], tokens: int, seed: int | None
) -> None:
    for group in grouped(examples, tokens, seed):
        order = [
            (
                longer := max(source, target),
                source - target if longer % 2 else target - source,
            )
            for source, target in shapes(examples, group)
        ]
        # The difference rises through one length and falls through the next.
        assert order == sorted(order)


@given(EXAMPLES, st.integers(1, 80), SEEDS)
def test_one_seed_gives_one_order(
    examples: list[Example], tokens: int, seed: int
) -> None:
    first, again = (grouped(examples, tokens, seed) for _ in range(2))
    assert first == again
    # Chance decides on the order, not on what fits together.
    plain = grouped(examples, tokens)
    alike = [
        sorted(sorted(shapes(examples, group)) for group in groups)
        for groups in (first, plain)
    ]
    assert alike[0] == alike[1]


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "int64"])
@given(EXAMPLES, st.integers(1, 80), SEEDS)
def test_any_kind_of_number_will_do_for_lengths(
    kind: str, examples: list[Example], tokens: int, seed: int
) -> None:
    lengths = lengths_of(examples).astype(kind)
    found = group_by_length(lengths, tokens, np.random.default_rng(seed))
    assert [group.tolist() for group in found] == grouped(examples, tokens, seed)


def test_the_longest_numbers_do_not_wrap_round() -> None:
    lengths = np.array([[65_000, 65_000], [1, 60_000], [60_000, 1]], np.uint16)
    assert [group.tolist() for group in group_by_length(lengths, 10_000_000)] == [
        [2, 1, 0]
    ]


# Batches


@given(EXAMPLES)
def test_the_target_is_the_labels_one_position_late(examples: list[Example]) -> None:
    batch = make_batch(examples)
    assert batch.target.shape == batch.labels.shape
    rows = zip(
        examples,
        batch.source.tolist(),
        batch.target.tolist(),
        batch.labels.tolist(),
        strict=True,
    )
    for (source, target), source_row, target_row, label_row in rows:
        padding = [PAD_ID] * (len(label_row) - len(target))
        assert source_row == source + [PAD_ID] * (len(source_row) - len(source))
        assert label_row == target + padding
        assert target_row == [BOS_ID, *target[:-1], *padding]
    assert batch.tokens == sum(len(source) + len(target) for source, target in examples)
    assert batch.source.shape[1] == max(len(source) for source, _ in examples)
    assert batch.labels.shape[1] == max(len(target) for _, target in examples)


def test_a_batch_goes_to_a_device_whole() -> None:
    pairs = [([5, EOS_ID], [6, 7, EOS_ID])]
    assert make_batch(pairs).to("cpu").tokens == 5
    assert make_batch(pairs).to("meta").labels.is_meta
    batch = make_batch(pairs).to(torch.device("meta"))
    assert {
        side.device.type for side in (batch.source, batch.target, batch.labels)
    } == {"meta"}


@given(EXAMPLES, st.integers(1, 16))
def test_widths_are_rounded_up(examples: list[Example], multiple: int) -> None:
    plain, wide = make_batch(examples), make_batch(examples, multiple)
    for name in ("source", "target", "labels"):
        narrow, rows = getattr(plain, name), getattr(wide, name)
        columns = narrow.shape[1]
        assert rows.shape[1] % multiple == 0
        assert columns <= rows.shape[1] < columns + multiple
        assert torch.equal(rows[:, :columns], narrow) and not rows[:, columns:].any()


@given(EXAMPLES)
def test_arrays_are_as_good_as_lists(examples: list[Example]) -> None:
    arrays = [
        tuple(np.array(side, np.uint16) for side in example) for example in examples
    ]
    for name in ("source", "target", "labels"):
        assert torch.equal(
            getattr(make_batch(arrays), name), getattr(make_batch(examples), name)
        )


# Global batches


def an_epoch(batches: Batches, epoch: int = 0) -> list[GlobalBatch]:
    first = epoch * batches.steps_per_epoch + 1
    return [batches[step] for step in range(first, first + batches.steps_per_epoch)]


def flat(steps: list[GlobalBatch]) -> list[Batch]:
    return [batch for step in steps for batch in step.micro_batches]


@given(EXAMPLES, st.integers(12, 80), SEEDS, st.integers(1, 9))
def test_each_epoch_holds_every_pair_once(
    examples: list[Example], tokens: int, seed: int, pieces: int
) -> None:
    batches = Batches(examples, lengths_of(examples), tokens, seed, pieces)
    for epoch in (0, 1, 5):
        steps = an_epoch(batches, epoch)
        assert contents(flat(steps)) == whole(examples)
        for step in steps:
            assert len(step.micro_batches) == pieces
            for batch in step.micro_batches:
                assert max(batch.source.numel(), batch.labels.numel()) <= tokens


@given(
    EXAMPLES,
    st.integers(1, 80),
    SEEDS,
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 8),
)
def test_the_number_of_workers_makes_no_difference(
    examples: list[Example], tokens: int, seed: int, workers: int, multiple: int
) -> None:
    """Eight micro-batches, however dealt out, are the same eight, and all know the
    counts of the whole.
    """
    lengths = lengths_of(examples)
    alone = Batches(examples, lengths, tokens, seed, 8, multiple=multiple)
    others = [
        Batches(examples, lengths, tokens, seed, 8, k, workers, multiple)
        for k in range(workers)
    ]
    uncut = Batches(examples, lengths, tokens, seed)
    for step in (1, alone.steps_per_epoch, alone.steps_per_epoch + 1):
        expected, shares = alone[step], [other[step] for other in others]
        for k, batch in enumerate(expected.micro_batches):
            mine = shares[k % workers].micro_batches[k // workers]
            assert torch.equal(mine.source, batch.source)
            assert torch.equal(mine.labels, batch.labels)
            assert torch.equal(mine.target, batch.target)
        for share in shares:
            assert len(share.micro_batches) == 8 // workers
            for count in ("target_tokens", "tokens", "positions"):
                assert getattr(share, count) == getattr(expected, count)
        assert contents(expected.micro_batches) == contents(uncut[step].micro_batches)
        for count in ("target_tokens", "tokens"):
            assert getattr(expected, count) == getattr(uncut[step], count)
        assert all(
            np.array_equal(each.indices, uncut[step].indices)
            for each in (expected, *shares)
        )
        assert whole([examples[index] for index in expected.indices]) == contents(
            expected.micro_batches
        )


@given(EXAMPLES, st.integers(1, 80), SEEDS, st.integers(1, 9), st.integers(1, 8))
def test_the_counts_are_those_of_the_batches(
    examples: list[Example], tokens: int, seed: int, pieces: int, multiple: int
) -> None:
    for step in an_epoch(
        Batches(examples, lengths_of(examples), tokens, seed, pieces, multiple=multiple)
    ):
        said = [batch for batch in step.micro_batches if batch.labels.any()]
        assert step.target_tokens == sum(
            int((batch.labels != PAD_ID).sum()) for batch in said
        )
        assert step.tokens == sum(batch.tokens for batch in said)
        assert step.positions == sum(
            batch.source.numel() + batch.labels.numel() for batch in said
        )


def test_an_empty_piece_has_work_but_nothing_to_say() -> None:
    examples = [([4] * 30 + [EOS_ID], [5] * 29 + [EOS_ID]) for _ in range(3)]
    step = Batches(examples, lengths_of(examples), 100, 1, micro_batches=8)[1]
    assert [batch.source.shape for batch in step.micro_batches] == [(1, 31)] * 8
    for batch in step.micro_batches[3:]:
        assert not batch.labels.any()
        # Attention has something to look at.
        assert batch.source.all() and batch.target.all()
    assert step.target_tokens == 90 and step.tokens == 3 * 61 == step.positions


def test_pieces_need_less_padding_and_the_busiest_is_hardly_busier() -> None:
    """Than micro-batches dealt like cards, which would all be as wide as the whole."""
    lengths = np.random.default_rng(0).integers(1, 60, size=(4000, 2))
    examples = [([4] * source, [5] * target) for source, target in lengths.tolist()]
    batches = Batches(examples, lengths, 4000, 1, micro_batches=8)
    busiest = dealt_busiest = positions = dealt = 0
    for group, step in zip(batches.groups, an_epoch(batches), strict=True):
        mine = [
            batch.source.numel() + batch.labels.numel() for batch in step.micro_batches
        ]
        others = [lengths[group[k::8]] for k in range(min(8, len(group)))]
        theirs = [len(piece) * int(piece.max(axis=0).sum()) for piece in others]
        busiest, dealt_busiest = busiest + max(mine), dealt_busiest + max(theirs)
        positions, dealt = positions + step.positions, dealt + sum(theirs)
        rows = [len(batch.labels) for batch in step.micro_batches]
        assert max(rows) - min(rows) <= 1
    assert positions < 0.9 * dealt and busiest < 1.05 * dealt_busiest


@pytest.mark.parametrize(
    ("pieces", "workers", "said"),
    [
        (
            8,
            3,
            "3 workers cannot share 8 micro-batches evenly: take 1 or 2 or 4 or 8 wo",
        ),
        (1, 2, "evenly: take 1 workers, or a multiple of 2 micro-batches"),
        (4, 8, "take 1 or 2 or 4 workers, or a multiple of 8 micro-batches"),
    ],
)
def test_workers_that_cannot_share_evenly(pieces: int, workers: int, said: str) -> None:
    lengths = lengths_of(examples := [([4, EOS_ID], [5, EOS_ID])] * 20)
    with pytest.raises(InputError, match=said):
        Batches(examples, lengths, 100, 1, pieces, 0, workers)


def test_the_seed_fixes_the_batches_and_epochs_differ() -> None:
    sizes = np.random.default_rng(0).integers(1, 20, 300)
    examples = [
        ([4] * n + [k % 40 + 4, EOS_ID], [5] * n) for k, n in enumerate(sizes.tolist())
    ]

    def rows(seed: int, epoch: int = 0) -> list[list[list[int]]]:
        batches = Batches(examples, lengths_of(examples), 100, seed)
        return [batch.source.tolist() for batch in flat(an_epoch(batches, epoch))]

    assert rows(1) == rows(1) and rows(1) != rows(2) and rows(1, 0) != rows(1, 1)


@given(
    EXAMPLES,
    st.integers(1, 80),
    SEEDS,
    st.lists(st.integers(1, 200), min_size=1, max_size=20),
)
def test_the_step_is_all_that_decides(
    examples: list[Example], tokens: int, seed: int, steps: list[int]
) -> None:
    """In whatever order steps are asked for, and whatever else draws random numbers in
    between.
    """
    lengths = lengths_of(examples)
    batches = Batches(examples, lengths, tokens, seed)
    for step in steps:
        torch.rand(3), np.random.random()  # noqa: NPY002
        fresh = Batches(examples, lengths, tokens, seed)[step].micro_batches[0]
        assert torch.equal(batches[step].micro_batches[0].source, fresh.source)


@pytest.mark.parametrize("step", [0, -1, -(10**12)])
def test_there_is_no_step_before_the_first(step: int) -> None:
    lengths = lengths_of(examples := [([5, EOS_ID], [6, EOS_ID])] * 9)
    batches = Batches(examples, lengths, 8, 1)
    with pytest.raises(
        InputError, match=f"step {step}: there is no such step, the fir"
    ):
        batches[step]
    assert batches[1].target_tokens == 2


def test_a_data_loader_takes_steps_as_they_are() -> None:
    examples = [([4] * n + [EOS_ID], [5] * n + [EOS_ID]) for n in range(1, 30)]
    batches = Batches(examples, lengths_of(examples), 60, 1, micro_batches=2)
    loader = torch.utils.data.DataLoader(
        batches, batch_size=None, sampler=range(5, 40), num_workers=2
    )
    for step, found in zip(range(5, 40), loader, strict=True):
        assert [b.source.tolist() for b in found.micro_batches] == [
            b.source.tolist() for b in batches[step].micro_batches
        ]


# Examples

ENGLISH = ["The cat sleeps.", "The dog sees the cat.", "My hand is warm."]
GERMAN = ["Die Katze schläft.", "Der Hund sieht die Katze.", "Meine Hand ist warm."]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabulary(ENGLISH + GERMAN, 70)


complaint = partial(small_runs.complaint, encode_pairs)


def test_examples_are_the_tokens_of_the_pairs(vocabulary: Vocabulary) -> None:
    examples = encode_pairs(vocabulary, Pairs(ENGLISH, GERMAN), 100)
    assert examples == list(
        zip(vocabulary.encode(ENGLISH), vocabulary.encode(GERMAN), strict=True)
    )
    assert [vocabulary.decode([target])[0] for _, target in examples] == GERMAN


@pytest.mark.parametrize(
    ("source", "target", "file"),
    [
        ("long " * 30, "kurz", "my.en"),
        ("short", "lang " * 30, "my.de"),
        ("long " * 30, "lang " * 60, "my.en"),
    ],
)
def test_a_sentence_that_is_too_long(
    vocabulary: Vocabulary, source: str, target: str, file: str
) -> None:
    pairs = Pairs([*ENGLISH, source, "a"], [*GERMAN, target, "b"], "my.en", "my.de")
    tokens = len(vocabulary.encode(source if file == "my.en" else target))
    message = complaint(vocabulary, pairs, 40)
    assert message.startswith(
        f"{file}, line 4: {tokens} tokens, more than max_length=40; split the sentence"
    )
    assert "(skip_long)" in message
    assert len(encode_pairs(vocabulary, pairs, 40, skip_long=True)) == 4


def test_the_longest_that_is_allowed(vocabulary: Vocabulary) -> None:
    tokens = max(len(row) for row in vocabulary.encode(ENGLISH + GERMAN))
    assert len(encode_pairs(vocabulary, Pairs(ENGLISH, GERMAN), tokens)) == 3
    assert "max_length" in complaint(vocabulary, Pairs(ENGLISH, GERMAN), tokens - 1)


def test_nothing_is_left(vocabulary: Vocabulary) -> None:
    pairs = Pairs(ENGLISH, GERMAN, "my.en", "my.de")
    assert "my.en: no pairs of at most max_length=2 tokens" in complaint(
        vocabulary, pairs, 2, skip_long=True
    )


# Real data


# The sizes of the small model's recipe, of the Multi30k recipe, and of the paper, which
# had eight GPUs.
@pytest.mark.parametrize(("tokens", "pieces"), [(2000, 1), (8192, 1), (25_000, 8)])
def test_little_of_multi30k_is_padding(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tokens: int,
    pieces: int,
) -> None:
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path))
    pairs = load_pairs("multi30k", "en-de", "train")
    vocabulary = train_vocabulary([*pairs.source, *pairs.target], 8000)
    encoded = encode_corpus(vocabulary, pairs, 256)
    steps = an_epoch(Batches(encoded, encoded.lengths, tokens, 1, pieces))
    padding = 1 - sum(step.tokens for step in steps) / sum(
        step.positions for step in steps
    )
    assert len(encoded) == 29_000 and padding < 0.05
    if pieces == 1:
        assert contents(flat(steps)) == whole(encode_pairs(vocabulary, pairs, 256))
