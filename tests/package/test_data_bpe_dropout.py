"""Text that looks different each time: other pieces, hidden words, two passes."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from small_runs import (
    NUMBERS,
    QUICK,
    ZAHLEN,
    complaint,
    finish,
    same_end,
    small_train,
    start,
    start_workers,
    tensors,
    timeless,
    write_corpus,
)

from aiayn.base_config import changed
from aiayn.data import Pairs, train_vocabulary
from aiayn.data.batching import encode_pairs, lengths_of
from aiayn.data.bpe_dropout import WINDOW_STEPS, BPEDropout, SampledBatches
from aiayn.data.vocabulary import EOS_ID, PAD_ID, UNK_ID
from aiayn.training import train_model
from aiayn.training.optimizer import learning_rate
from aiayn.training.preprocess import prepare_corpus

WORDS = [*NUMBERS, *ZAHLEN]
# All of it from the first step.
LITTLE = changed(
    QUICK,
    checkpoints={"steps": 1},
    batches={"bpe_dropout": 0.2, "bidirectional": 10},
    optimizer={"cooldown": 10, "muon": True, "weight_decay": 0.5},
    steps=30,
    bfloat16=True,
)


@pytest.fixture(scope="module", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIAYN_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr("aiayn.training.trainer.hardware_peak", lambda *_: 1e9)
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    draw = random.Random(3)
    rows = [[draw.randrange(10) for _ in range(draw.randint(1, 9))] for _ in range(90)]
    sides = [
        [" ".join(words[k] for k in row) for row in rows] for words in (NUMBERS, ZAHLEN)
    ]
    return Pairs(*sides)


# Other pieces


def test_without_a_chance_to_skip_the_pieces_are_the_usual(pairs: Pairs) -> None:
    text = [*pairs.source, *pairs.target]
    vocabulary = train_vocabulary(text, 60)
    dropout = BPEDropout(vocabulary, 0.0)
    for tokens in vocabulary.encode(text):
        assert dropout(tokens, random.Random(1)) == tokens
        assert dropout(np.array(tokens, np.uint16), random.Random(1)) == tokens


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_other_pieces_spell_the_same_text(p: float, pairs: Pairs) -> None:
    text = [*pairs.source, *pairs.target]
    vocabulary = train_vocabulary(text, 60)
    dropout, draw = BPEDropout(vocabulary, p), random.Random(1)
    usual = vocabulary.encode(text)
    other = [dropout(tokens, draw) for tokens in usual]
    assert vocabulary.decode(other) == text
    assert other != usual and sum(map(len, other)) > sum(map(len, usual))
    again = random.Random(1)
    assert other == [dropout(tokens, again) for tokens in usual]


def test_a_word_is_cut_as_often_as_the_probabilities_say() -> None:
    """Into letters if the first look skips all merges, not at all if none does."""
    vocabulary = train_vocabulary(["ten ten ten en en en"], 12)
    usual = vocabulary.encode("ten")
    assert vocabulary.pieces(usual) == ["▁ten", "</s>"]
    merges = [pair in BPEDropout(vocabulary, 0.3).tokens for pair in ("▁t", "te", "en")]
    dropout, word = BPEDropout(vocabulary, 0.3), tuple(usual[:-1])
    drawn = [len(dropout.draw(word, k)) for k in range(20_000)]
    assert drawn.count(4) / 20_000 == pytest.approx(0.3 ** sum(merges), abs=0.01)
    assert 0.7**3 - 0.01 < drawn.count(1) / 20_000 < 0.7
    assert set(drawn) == {1, 2, 3, 4}


def test_what_is_no_usual_word_is_left_alone() -> None:
    """Unknown letters, bytes, symbols of one's own."""
    unknown = train_vocabulary(WORDS, 40)
    tokens = unknown.encode("one жtwo")
    assert UNK_ID in tokens
    other = BPEDropout(unknown, 0.9)(tokens, random.Random(1))
    assert other.count(UNK_ID) == tokens.count(UNK_ID)
    spelled = train_vocabulary(WORDS, 310, byte_fallback=True)
    tokens = spelled.encode("one 🪲 two")
    other = BPEDropout(spelled, 0.9)(tokens, random.Random(1))
    assert spelled.decode([other]) == ["one 🪲 two"] and len(other) > len(tokens)
    trees = train_vocabulary(WORDS, 60, symbols=["(NP", "NP)"])
    tokens = trees.encode("(NP one NP)")
    other = BPEDropout(trees, 0.9)(tokens, random.Random(1))
    brackets = [token for token in tokens if "NP" in trees.pieces([token])[0]]
    assert [token for token in other if token in brackets] == brackets


def test_sampled_batches_are_those_of_any_number_of_workers(pairs: Pairs) -> None:
    vocabulary = train_vocabulary([*pairs.source, *pairs.target], 60)
    examples = encode_pairs(vocabulary, pairs, 100)
    known = BPEDropout(vocabulary, 0.3), 100, examples, lengths_of(examples), 60, 7

    def rows(work):
        return [
            [token for token in (*source, -1, *label) if token != PAD_ID]
            for batch in work.micro_batches
            for source, label in zip(
                batch.source.tolist(), batch.labels.tolist(), strict=True
            )
            if any(label)
        ]

    alone = SampledBatches(*known, micro_batches=4)
    workers = [
        SampledBatches(*known, micro_batches=4, rank=rank, world_size=2)
        for rank in range(2)
    ]
    for step in (1, 2, alone.steps_per_epoch + 1, 2):  # in any order
        whole, parts = alone[step], [worker[step] for worker in workers]
        assert sorted(rows(whole)) == sorted([*rows(parts[0]), *rows(parts[1])])
        assert {part.target_tokens for part in parts} == {whole.target_tokens}
        assert whole.tokens == sum(len(row) - 1 for row in rows(whole))
        assert whole.lengths.sum() == whole.tokens
    assert rows(alone[1]) != rows(alone[1 + alone.steps_per_epoch])


def test_a_sentence_that_would_be_too_long_keeps_its_pieces(pairs: Pairs) -> None:
    vocabulary = train_vocabulary([*pairs.source, *pairs.target], 60)
    examples = encode_pairs(vocabulary, pairs, 100)
    longest = int(lengths_of(examples).max())
    known = examples, lengths_of(examples), 60, 7
    batches = SampledBatches(BPEDropout(vocabulary, 0.9), longest, *known)
    steps = range(1, batches.steps_per_epoch + 1)
    assert max(int(batches[step].lengths.max()) for step in steps) == longest


def test_in_the_first_steps_half_of_the_pairs_are_turned_round(pairs: Pairs) -> None:
    vocabulary = train_vocabulary([*pairs.source, *pairs.target], 60)
    examples = encode_pairs(vocabulary, pairs, 100)
    known = examples, lengths_of(examples), 200, 7
    dropout = BPEDropout(vocabulary, 0.0)
    first = WINDOW_STEPS + 4  # steps
    batches = SampledBatches(dropout, 100, *known, bidirectional=first)
    usual = SampledBatches(dropout, 100, *known)

    def sources(batches: SampledBatches, steps: range) -> Counter[str]:
        rows = (
            row
            for step in steps
            for batch in batches[step].micro_batches
            for row in batch.source.tolist()
        )
        texts = (vocabulary.pieces([t for t in row if t > EOS_ID]) for row in rows)
        return Counter(map(" ".join, texts))

    both, later = (
        range(1, 2 * WINDOW_STEPS + 1),
        range(2 * WINDOW_STEPS + 1, 3 * WINDOW_STEPS + 1),
    )
    assert first in both  # its window is turned to the end
    found, wanted = sources(batches, both), sources(usual, both)
    assert 0.4 < (found & wanted).total() / wanted.total() < 0.6
    assert sources(batches, later) == sources(usual, later)


# Whole trainings


def test_two_workers_train_on_little_text_as_one(corpus: Path, tmp_path: Path) -> None:
    # In 16 bits, sums in another order may round to another weight.
    config = replace(LITTLE, steps=6, bfloat16=False)
    config = changed(config, batches={"micro_batches": 4, "tokens": 100})
    one = start(small_train, config, corpus, tmp_path / "one", log=tmp_path / "log")
    workers = start_workers(2, config, corpus, tmp_path / "two")
    assert [finish(process) for process in (one, *workers)] == [0, 0, 0]
    found, wanted = tensors(tmp_path / "two"), tensors(tmp_path / "one")
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    both = zip(timeless(tmp_path / "two"), timeless(tmp_path / "one"), strict=True)
    for mine, theirs in both:
        assert mine == pytest.approx(theirs, rel=2e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {"batches.bpe_dropout": 0.1},
        {"batches.bidirectional": 2},
        {"optimizer.cooldown": 3},
        {"optimizer.muon": True},
        {"optimizer.weight_decay": 1.0, "optimizer.muon": True},
        {"bfloat16": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_each_remedy_changes_the_training(
    changes: dict[str, float],
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    muon = "optimizer.weight_decay" in changes  # which is part of it
    plain = changed(QUICK, optimizer={"muon": muon})
    train_model(plain, str(corpus), "en-de", tmp_path / "plain")
    train_model(changed(QUICK, **changes), str(corpus), "en-de", tmp_path / "run")
    assert not same_end(tmp_path / "plain", tmp_path / "run")


# A rate that falls to nothing


def test_the_rate_falls_to_nothing_in_the_last_steps(
    corpus: Path, tmp_path: Path
) -> None:
    config = changed(QUICK, optimizer={"warmup": 10, "cooldown": 5}, steps=50)
    train_model(config, str(corpus), "en-de", tmp_path / "run")
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    last = [line for line in map(json.loads, lines) if "rate" in line][-1]
    peak = learning_rate(10, config.model.d_model, 10, config.optimizer.rate_factor)
    assert last["rate"] == pytest.approx(peak / 5)
    shares = [config.rate(step) / peak for step in (1, 10, 30, 46, 49, 50)]
    assert shares == pytest.approx([0.1, 1.0, 1.0, 1.0, 0.4, 0.2])


# Small letters


def test_a_vocabulary_of_small_letters(tmp_path: Path) -> None:
    text = ["Der Ärger BEGINNT", "Straße und STRASSE", "ÉMILE isst İzmir-Köfte"] * 9
    vocabulary = train_vocabulary(text, 60, lowercase=True)
    for line in text:
        assert vocabulary.decode([vocabulary.encode(line)]) == [line.lower()]
    vocabulary.save(tmp_path / "vocabulary.model")
    assert not any(
        piece.lower() != piece for piece in vocabulary.pieces(list(range(4, 60)))
    )


def test_the_recipe_asks_for_small_letters(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    for split in ("train", "val"):
        path = corpus / f"{split}.de"
        path.write_text(path.read_text().title())
    for lowercase, first in ((True, "zwei"), (False, "Zwei")):
        config = changed(QUICK, vocabulary={"lowercase": lowercase})
        vocabulary = prepare_corpus(config, str(corpus), "en-de").vocabulary
        assert vocabulary.decode([vocabulary.encode("Zwei")]) == [first]


def test_brackets_have_no_small_letters() -> None:
    pairs = Pairs(["one two"], ["(S (CD one) (CD two))"])
    said = complaint(
        prepare_corpus,
        changed(QUICK, vocabulary={"lowercase": True}),
        (pairs, pairs),
        "en-trees",
    )
    assert said.startswith("vocabulary.lowercase: ")
