"""What comes before the first step: done once, by one worker, while the others wait
without a clock.
"""

import logging
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_runs import (
    QUICK,
    complaint,
    complaints,
    finish,
    free_port,
    kept,
    small_train,
    start,
    wait_for,
    worker,
    write_corpus,
)

import aiayn.training.distributed
import aiayn.training.preprocess
from aiayn.base_config import changed
from aiayn.cli import launch as launch_module
from aiayn.training import prepare_corpus
from aiayn.training.distributed import join_workers
from aiayn.training.preprocess import learn_vocabulary

TWO = changed(QUICK, batches={"micro_batches": 2})


@pytest.fixture(autouse=True)
def cold_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus")


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the vocabularies that were learned."""
    sizes, real = [], aiayn.training.preprocess.train_vocabulary

    def counted(sentences: Any, size: int, *more: Any, **named: Any) -> Any:
        sizes.append(size)
        return real(sentences, size, *more, **named)

    monkeypatch.setattr(aiayn.training.preprocess, "train_vocabulary", counted)
    return sizes


def test_what_is_prepared_is_prepared_once(corpus: Path, learned: list[int]) -> None:
    first, again = (prepare_corpus(QUICK, str(corpus), "en-de") for _ in range(2))
    assert learned == [60]
    assert first.vocabulary.model == again.vocabulary.model
    assert first.train.folder == again.train.folder
    assert first.valid.folder == again.valid.folder
    assert (len(first.train), len(first.valid)) == (60, 10)
    smaller = changed(QUICK, model={"vocabulary_size": 50})
    assert len(prepare_corpus(smaller, str(corpus), "en-de").vocabulary) == 50
    write_corpus(corpus, seed=1)  # another text
    prepare_corpus(QUICK, str(corpus), "en-de")
    assert learned == [60, 50, 60]


def test_it_says_what_it_learns_and_leaves_out(
    corpus: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "aiayn")
    short = changed(QUICK, batches={"max_length": 5, "skip_long": True})
    found = prepare_corpus(short, str(corpus), "en-de")
    assert found.train.dropped > 0
    said = "\n".join(caplog.messages)
    assert "vocabulary of 60 pieces: learned now, from 60 pairs" in said
    dropped = f"train.en: {found.train.dropped} of 60 pairs are left out"
    assert f"{dropped}, a side has more than 5 tokens" in said
    caplog.clear()
    prepare_corpus(short, str(corpus), "en-de")
    assert "vocabulary of 60 pieces: learned before" in caplog.messages[0]


def test_a_cache_that_cannot_be_used(corpus: Path, cold_cache: Path) -> None:
    cold_cache.mkdir()
    (cold_cache / "vocabularies").write_text("a file where a folder should be")
    said = complaint(prepare_corpus, QUICK, str(corpus), "en-de")
    assert str(cold_cache / "vocabularies") in said and "AIAYN_CACHE" in said


# Several workers


def slow(
    seconds: float, then: Callable[..., Any], *arguments: Any, **options: Any
) -> None:
    """Call `then` where learning a vocabulary takes so long, and a worker may take 10
    seconds to join.
    """
    real = learn_vocabulary

    def learn(*arguments: Any) -> Any:
        print("learning", flush=True)
        time.sleep(seconds)
        return real(*arguments)

    aiayn.training.preprocess.learn_vocabulary = learn
    aiayn.training.distributed.JOIN_SECONDS = 10.0
    then(*arguments, **options)


def two(tmp_path: Path, *call: Any) -> list[Any]:
    """The call, in two processes that are to work together; PATH.rank.log is what they
    say.
    """
    port = free_port()
    return [
        start(*call, log=tmp_path / f"{rank}.log", **worker(rank, port))
        for rank in range(2)
    ]


@pytest.mark.nightly
def test_distributed_workers_wait_for_a_slow_rank_0(
    corpus: Path, tmp_path: Path, out: Path
) -> None:
    """It takes longer to prepare than any clock of theirs runs."""
    workers = two(tmp_path, slow, 12.0, small_train, TWO, corpus, out)
    codes = [finish(worker) for worker in workers]
    assert codes == [0, 0], (tmp_path / "0.log").read_text()
    assert kept(out) == [6]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_rank_0_that_dies_in_preparation_is_named(
    corpus: Path, tmp_path: Path, out: Path, how: int
) -> None:
    workers = two(tmp_path, slow, 600.0, small_train, TWO, corpus, out)
    log = tmp_path / "0.log"
    wait_for(lambda: log.exists() and "learning" in log.read_text(), workers[0])
    os.kill(workers[0].pid or 0, how)
    assert [finish(worker) for worker in workers] == [-how, 2]
    (said,) = complaints(tmp_path / "1.log")
    assert "rank 0 was lost while the data were prepared" in said


def test_a_fault_that_rank_0_finds_ends_all(tmp_path: Path) -> None:
    workers = two(tmp_path, small_train, TWO, tmp_path / "nowhere", tmp_path / "run")
    assert [finish(worker) for worker in workers] == [2, 2]
    assert "neither the name of a corpus" in (tmp_path / "0.log").read_text()


def stopped_in_its_turn() -> None:
    """Of two workers the second one stops for ever, and gives no more signs of life."""
    aiayn.training.distributed.HEARTBEAT_SECONDS = 1.5
    os.environ["LOCAL_RANK"] = "0"  # as on two machines
    with join_workers() as workers:
        workers.rank_zero_first(
            lambda: os.kill(os.getpid(), signal.SIGSTOP) if workers.rank else None
        )


def test_a_worker_that_gives_no_sign_of_life_is_named(tmp_path: Path) -> None:
    workers = two(tmp_path, stopped_in_its_turn)
    assert finish(workers[0]) == 2
    workers[1].kill()
    finish(workers[1])
    said = "rank 1 has given no sign of life for 1.5 seconds"
    assert said in (tmp_path / "0.log").read_text()


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"WORLD_SIZE": "0", "RANK": "0"}, "WORLD_SIZE='0'"),
        ({"WORLD_SIZE": "abc", "RANK": "0"}, "WORLD_SIZE='abc'"),
        ({"WORLD_SIZE": "2", "RANK": "5"}, "RANK='5'"),
        ({"WORLD_SIZE": "2"}, "RANK=''"),
        ({"WORLD_SIZE": "2", "RANK": "0", "MASTER_PORT": "none"}, "MASTER_PORT='none'"),
        ({"WORLD_SIZE": "2", "RANK": "1"}, "MASTER_ADDR=''"),
    ],
)
def test_an_environment_that_makes_no_sense(
    environment: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert said in complaint(join_workers(seconds=1.0).__enter__)


SCRIPT = """
import os
import signal
import sys
import time

import aiayn.training.distributed
import aiayn.training.preprocess
import aiayn.training.trainer
from aiayn.__main__ import main

real = aiayn.training.preprocess.learn_vocabulary

def learn(*arguments):
    if "DIES" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(12.0)
    return real(*arguments)

aiayn.training.distributed.JOIN_SECONDS = 10.0
aiayn.training.preprocess.learn_vocabulary = learn
aiayn.training.trainer.hardware_peak = lambda *_: 1e9
main()
"""


@pytest.mark.nightly
@pytest.mark.parametrize("dies", [False, True])
def test_a_launch_with_a_cold_cache_and_a_clock_of_ten_seconds(
    aiayn: Any,
    corpus: Path,
    tmp_path: Path,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    dies: bool,
) -> None:
    """The vocabulary takes longer than workers are waited for; if its worker dies, one
    line names it.
    """
    for language in ("en", "de"):
        shutil.copy(corpus / f"val.{language}", corpus / f"test.{language}")
    script, real = tmp_path / "script.py", launch_module.torchrun_command
    script.write_text(SCRIPT)

    def command(program: list[str], *more: Any) -> list[str]:
        assert program[:2] == ["-m", "aiayn"]
        return real([str(script), *program[2:]], *more)

    monkeypatch.setattr(launch_module, "torchrun_command", command)
    if dies:
        monkeypatch.setenv("DIES", "yes")
    how = "--recipe synthetic --model.vocabulary-size 60 --steps 3 --workers 2"
    words = ["launch", "--data", corpus, "--out", out, *how.split(), "--restarts", 0]
    code, output, errors = aiayn(*words)
    said = [line for line in errors.splitlines() if line.startswith("aiayn: ")]
    said = [line for line in said if "cut off at its limit" not in line]
    if dies:
        assert code == 2 and len(said) == 1
        assert said[0].startswith("aiayn: rank 0: killed by SIGKILL")
    else:
        assert (code, said) == (0, []), output + errors
        assert kept(out) == [3] and (out / "bleu.json").exists()
