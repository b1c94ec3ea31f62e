"""Encoding once: the same tokens as in memory, whatever was interrupted or removed."""

import math
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_runs

from aiayn.data import (
    Batches,
    Pairs,
    Vocabulary,
    encode_pairs,
    load_pairs,
    shards,
    train_vocabulary,
)
from aiayn.data import tokenized as encoding
from aiayn.data.tokenized import Encoded, check_script, encode_corpus

ENGLISH = [
    f"The cat number {number} sees the dog, and the dog sleeps{'.' * (number % 7)}"
    for number in range(97)
]
GERMAN = [
    f"Die Katze Nummer {number} sieht den Hund, und der Hund schläft"
    for number in range(97)
]
PAIRS = Pairs(ENGLISH, GERMAN, "my.en", "my.de")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabulary([*ENGLISH, *GERMAN], 90)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test, and ten pairs a shard."""
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(encoding, "SHARD_PAIRS", 10)
    monkeypatch.setattr(encoding, "SHARDS_AT_ONCE", 1)  # so that they are made in order
    return tmp_path / "cache"


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The shards that were made by this process, as the list grows."""
    made, encode_shard = list[str](), shards.encode_shard

    def noted(path: Path, *arguments: Any) -> Any:
        made.append(path.stem)
        return encode_shard(path, *arguments)

    monkeypatch.setattr(encoding, "encode_shard", noted)
    return made


complaint = partial(small_runs.complaint, encode_corpus)


def lists(encoded: Encoded) -> list[tuple[list[int], ...]]:
    return [
        tuple(side.tolist() for side in encoded[index]) for index in range(len(encoded))
    ]


def same(
    encoded: Encoded,
    vocabulary: Vocabulary,
    pairs: Pairs = PAIRS,
    max_length: int = 256,
) -> bool:
    """Whether it holds what `encode_pairs` gives, with the right lengths."""
    expected = encode_pairs(vocabulary, pairs, max_length, skip_long=True)
    lengths = [[len(source), len(target)] for source, target in expected]
    return lists(encoded) == expected and encoded.lengths.tolist() == lengths


# What comes out


@pytest.mark.parametrize("number", [1, 9, 10, 11, 97])
def test_it_is_what_encode_pairs_gives(vocabulary: Vocabulary, number: int) -> None:
    pairs = Pairs(ENGLISH[:number], GERMAN[:number])
    encoded = encode_corpus(vocabulary, pairs, 256)
    assert len(encoded) == number and same(encoded, vocabulary, pairs)
    assert encoded.lengths.shape == (number, 2) and encoded.tokens.dtype == np.uint16
    assert lists(encoded)[-1] == tuple(side.tolist() for side in encoded[-1])
    with pytest.raises(IndexError):
        encoded[number]


def test_a_file_gives_the_same_as_a_list(
    vocabulary: Vocabulary, tmp_path: Path
) -> None:
    (tmp_path / "train.en").write_text("\n".join(ENGLISH))
    (tmp_path / "train.de").write_text("\r\n".join(GERMAN))
    pairs = load_pairs(str(tmp_path), "en-de", "train")
    assert same(encode_corpus(vocabulary, pairs, 256), vocabulary)


def test_numbers_of_a_large_vocabulary_need_four_bytes(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = [shards.token_type(size) for size in (1, 65_536, 65_537, 200_000)]
    assert kinds == ["uint16", "uint16", "uint32", "uint32"]
    monkeypatch.setattr(shards, "token_type", lambda _: "uint32")
    encoded = encode_corpus(vocabulary, PAIRS, 256)
    assert encoded.tokens.dtype == np.uint32 and same(encoded, vocabulary)


def test_batches_are_made_from_it(vocabulary: Vocabulary) -> None:
    encoded = encode_corpus(vocabulary, PAIRS, 256)
    examples = encode_pairs(vocabulary, PAIRS, 256)
    mine, expected = (
        Batches(each, encoded.lengths, 500, seed=1)[3] for each in (encoded, examples)
    )
    assert (
        mine.micro_batches[0].source.tolist()
        == expected.micro_batches[0].source.tolist()
    )
    assert (mine.target_tokens, mine.tokens, mine.positions) == (
        expected.target_tokens,
        expected.tokens,
        expected.positions,
    )


def test_another_process_gets_the_name_and_not_the_content(
    vocabulary: Vocabulary,
) -> None:
    encoded = encode_corpus(vocabulary, PAIRS, 256)
    assert len(pickle.dumps(encoded)) < 1000 < encoded.tokens.nbytes
    assert lists(pickle.loads(pickle.dumps(encoded))) == lists(encoded)


# Done once


@pytest.mark.parametrize("at_once", [1, 4])
def test_what_is_there_is_not_made_again(
    vocabulary: Vocabulary, jobs: list[str], monkeypatch: Any, at_once: int
) -> None:
    monkeypatch.setattr(encoding, "SHARDS_AT_ONCE", at_once)
    first, again = (encode_corpus(vocabulary, PAIRS, 256) for _ in range(2))
    assert sorted(jobs) == [f"{number:05}" for number in range(10)]
    assert same(first, vocabulary) and lists(first) == lists(again)
    assert not list(first.folder.glob("*.npz"))


def test_what_decides_on_the_tokens_decides_on_the_folder(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = train_vocabulary([*ENGLISH, *GERMAN], 91)
    changed = Pairs(ENGLISH, [*GERMAN[:-1], "Ende"])
    turned = Pairs(GERMAN, ENGLISH)
    folders = [
        encode_corpus(v, pairs, length).folder
        for v, pairs, length in [
            (vocabulary, PAIRS, 256),
            (other, PAIRS, 256),
            (vocabulary, changed, 256),
            (vocabulary, turned, 256),
            (vocabulary, PAIRS, 255),
        ]
    ]
    monkeypatch.setattr(encoding, "VERSION", encoding.VERSION + 1)
    folders.append(encode_corpus(vocabulary, PAIRS, 256).folder)
    assert len(set(folders)) == 6


def test_of_several_that_ask_at_once_one_encodes(
    vocabulary: Vocabulary, jobs: list[str]
) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda _: encode_corpus(vocabulary, PAIRS, 256), range(4))
        )
    assert len(jobs) == 10 and all(same(encoded, vocabulary) for encoded in found)


def test_the_progress_is_shown_on_request(
    vocabulary: Vocabulary, capsys: pytest.CaptureFixture[str]
) -> None:
    encode_corpus(vocabulary, PAIRS, 256)
    assert capsys.readouterr().err == ""
    encode_corpus(vocabulary, PAIRS, 255, progress=True)
    assert "97.0/97.0" in capsys.readouterr().err


# Sides of unequal length


@pytest.mark.parametrize("max_ratio", [1.0, 1.2, 1.5, 100.0, None])
def test_unequal_pairs_are_left_out_and_counted(
    vocabulary: Vocabulary, max_ratio: float | None
) -> None:
    expected = [
        (source, target)
        for source, target in encode_pairs(vocabulary, PAIRS, 256)
        if max(len(source), len(target))
        <= (max_ratio or math.inf) * min(len(source), len(target))
    ]
    if not expected:
        assert "max_ratio; raise it" in complaint(
            vocabulary, PAIRS, 256, max_ratio=max_ratio
        )
        return
    for _ in range(2):  # the second time from the cache
        encoded = encode_corpus(vocabulary, PAIRS, 256, max_ratio=max_ratio)
        assert lists(encoded) == expected
        assert (encoded.dropped, encoded.unequal) == (0, 97 - len(expected))


def test_long_and_unequal_pairs_are_counted_apart(vocabulary: Vocabulary) -> None:
    pairs = Pairs(
        [*ENGLISH[:9], "long " * 400, ENGLISH[0]],
        [*GERMAN[:9], "lang " * 400, "Ja"],
        "my.en",
        "my.de",
    )
    encoded = encode_corpus(vocabulary, pairs, 256, True, max_ratio=3.0)
    assert (len(encoded), encoded.dropped, encoded.unequal) == (9, 1, 1)
    assert "my.en, line 10" in complaint(vocabulary, pairs, 256, max_ratio=3.0)


# Interruptions and damage


def interrupt(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, after: int
) -> Path:
    """Encode, and break off behind so many shards; gives the folder."""
    encode_shard, made = shards.encode_shard, list[Path]()

    def breaks_off(path: Path, *arguments: Any) -> Any:
        if len(made) == after:
            raise KeyboardInterrupt
        made.append(path)
        return encode_shard(path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(encoding, "encode_shard", breaks_off)
        with pytest.raises(KeyboardInterrupt):
            encode_corpus(vocabulary, PAIRS, 256)
    return made[0].parent


def is_killed(vocabulary: Vocabulary) -> None:
    """Encode, and die while the fourth shard is on its way to the disk."""
    encoding.SHARD_PAIRS, encoding.SHARDS_AT_ONCE, written = 10, 1, []

    def fsync(_: int) -> None:
        written.append(1)
        if len(written) == 4:
            os.kill(os.getpid(), signal.SIGKILL)

    os.fsync = fsync
    encode_corpus(vocabulary, PAIRS, 256)


def test_who_is_killed_leaves_whole_shards(
    vocabulary: Vocabulary, tmp_path: Path, cache: Path, jobs: list[str]
) -> None:
    process = small_runs.start(is_killed, vocabulary, log=tmp_path / "log")
    assert small_runs.finish(process) == -signal.SIGKILL
    assert len([*cache.rglob("*.npz")]) == 3 and [*cache.rglob("*.part")]
    assert same(encode_corpus(vocabulary, PAIRS, 256), vocabulary)
    assert len(jobs) == 7 and not [*cache.rglob("*.part"), *cache.rglob("*.npz")]


def test_it_goes_on_where_it_stopped(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, jobs: list[str]
) -> None:
    interrupt(vocabulary, monkeypatch, after=6)
    jobs.clear()
    assert same(encode_corpus(vocabulary, PAIRS, 256), vocabulary)
    assert jobs == ["00006", "00007", "00008", "00009"]


def test_what_has_no_report_is_made_again(
    vocabulary: Vocabulary, jobs: list[str]
) -> None:
    path = encode_corpus(vocabulary, PAIRS, 256).folder / "report.json"
    content = path.read_bytes()
    path.unlink()
    assert same(encode_corpus(vocabulary, PAIRS, 256), vocabulary)
    assert len(jobs) == 20 and path.read_bytes() == content


def test_what_a_killed_process_left_is_removed(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = interrupt(vocabulary, monkeypatch, after=3)
    (folder / ".00003.npz.123.part").write_bytes(b"half of it")
    encode_corpus(vocabulary, PAIRS, 256)
    assert sorted(p.name for p in folder.iterdir()) == [
        "lengths",
        "lock",
        "report.json",
        "starts",
        "tokens",
    ]


STARTER = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from aiayn.data.tokenized import check_script
if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        print(pool.submit(check_script).result())
"""


def test_a_script_that_does_not_ask_whether_it_is_the_main_program(
    tmp_path: Path,
) -> None:
    """Its processes would begin the whole work again; whoever works below the question
    is left alone.
    """
    check_script()
    (tmp_path / "asks.py").write_text(STARTER)
    (tmp_path / "does_not.py").write_text(
        STARTER.replace('if __name__ == "__main__":', "check_script()\nif True:")
    )
    done, refused = (
        subprocess.run(
            [sys.executable, tmp_path / name],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=600,
        )
        for name in ("asks.py", "does_not.py")
    )
    assert done.returncode == 0 and done.stdout == "None\n"
    assert refused.returncode
    assert "InputError: in a script, call this below" in refused.stderr


def test_a_cache_that_cannot_be_used(
    vocabulary: Vocabulary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("here first")
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "file"))
    message = complaint(vocabulary, PAIRS, 256)
    assert (
        str(tmp_path / "file") in message
        and "let AIAYN_CACHE name another folder" in message
    )


# Sentences that are too long, and other people's vocabularies


def long_ones() -> Pairs:
    english, german = list(ENGLISH), list(GERMAN)
    english[33], german[71] = "long " * 10_000, "lang " * 10_000
    return Pairs(english, german, "my.en", "my.de")


def test_or_dropped_and_counted(vocabulary: Vocabulary, jobs: list[str]) -> None:
    complaint(vocabulary, long_ones(), 256)
    encoded = encode_corpus(vocabulary, long_ones(), 256, skip_long=True)
    assert encoded.dropped == 2
    assert len(encoded) == 95
    assert same(encoded, vocabulary, long_ones())
    # From the cache.
    assert encode_corpus(vocabulary, long_ones(), 256, skip_long=True).dropped == 2
    assert len(jobs) == 10  # the shards from before the complaint were kept
    # They are no excuse.
    assert "my.en, line 34" in complaint(vocabulary, long_ones(), 256)


def test_a_vocabulary_of_other_text_is_warned_of(vocabulary: Vocabulary) -> None:
    assert encode_corpus(vocabulary, PAIRS, 256).unknown == 0
    russian = Pairs(
        ["Кошка спит.", "Собака видит кошку."], ENGLISH[:2], "my.ru", "my.en"
    )
    for _ in range(2):  # also when it is there already
        with pytest.warns(
            UserWarning,
            match=r"^my\.ru: \d+% of the tokens are unknown to the vocabulary",
        ):
            encoded = encode_corpus(vocabulary, russian, 256)
        assert encoded.unknown > 0.1
