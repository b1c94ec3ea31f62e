"""Several workers take the steps of one; if one is missing or dies, the others do not
wait for ever.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import (
    QUICK,
    complaints,
    finish,
    free_port,
    kept,
    lines,
    same_end,
    small_train,
    start,
    start_workers,
    tensors,
    timeless,
    wait_for,
    worker,
    write_corpus,
)
from torch.distributed import HashStore, Store, TCPStore

from aiayn.base_config import changed
from aiayn.data import Batches, load_pairs, load_vocabulary
from aiayn.data.tokenized import encode_corpus
from aiayn.errors import InputError
from aiayn.training import TrainingConfig
from aiayn.training.distributed import Workers, barrier, join_workers

# Batches of 5 to 12 pairs, so that some have fewer pairs than eight workers.
EIGHT = changed(QUICK, batches={"micro_batches": 8, "tokens": 100})
TWO = changed(EIGHT, batches={"micro_batches": 2})
NAMES = ["WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"]


@pytest.fixture(scope="module", autouse=True)
def no_workers(own_cache: None) -> Iterator[None]:
    """No name of the environment says that there are several workers."""
    with pytest.MonkeyPatch.context() as patch:
        for name in NAMES:
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def alone(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One worker, eight micro-batches a step, with dropout."""
    out = tmp_path_factory.mktemp("alone") / "run"
    assert finish(start(small_train, EIGHT, corpus, out, log=Path(f"{out}.log"))) == 0
    return out


def agree(one: Path, other: Path, digits: int) -> None:
    """Two runs have the same metrics and weights, but for rounding."""
    tolerance = {"rtol": 10.0**-digits, "atol": 10.0**-digits}
    torch.testing.assert_close(tensors(one), tensors(other), **tolerance)
    for mine, theirs in zip(timeless(one), timeless(other), strict=True):
        assert mine == pytest.approx(theirs, rel=2e-5)  # six digits are written down


def test_distributed_batches_are_small_and_unequal(corpus: Path, alone: Path) -> None:
    """What the tests below prove something about: micro-batches without a pair,
    and with more or fewer words.
    """
    vocabulary, how = load_vocabulary(alone / "vocabulary.model"), EIGHT.batches
    pairs = load_pairs(str(corpus), "en-de", "train")
    encoded = encode_corpus(vocabulary, pairs, how.max_length)
    batches = Batches(encoded, encoded.lengths, how.tokens, EIGHT.seed, micro_batches=8)
    sizes = [len(batches[step].indices) for step in range(1, EIGHT.steps + 1)]
    assert min(sizes) < 8 < max(sizes)
    words = [int((piece.labels != 0).sum()) for piece in batches[1].micro_batches]
    assert len(set(words)) > 1 and sum(words) == batches[1].target_tokens


@pytest.mark.parametrize("number", [2, 8])
def test_distributed_workers_take_the_steps_of_one(
    number: int, corpus: Path, alone: Path, out: Path
) -> None:
    workers = start_workers(number, EIGHT, corpus, out)
    assert [finish(worker) for worker in workers] == [0] * number
    agree(out, alone, digits=4)
    assert kept(out) == [6]


def ends_at_four(step: int, *_: Any) -> bool:
    assert os.environ["RANK"] == "0"
    return step == 4


def test_distributed_workers_end_where_rank_0_is_told_to(
    corpus: Path, out: Path
) -> None:
    workers = start_workers(2, EIGHT, corpus, out, callback=ends_at_four, every=2)
    assert [finish(worker) for worker in workers] == [0, 0]
    assert kept(out) == [4]


def test_a_distributed_worker_s_table_of_positions_grows_alone(tmp_path: Path) -> None:
    """Rank 0 validates on a pair that is longer than those of rank 1."""
    corpus = write_corpus(tmp_path / "corpus")
    for language, word in (("en", "three "), ("de", "drei ")):
        with (corpus / f"val.{language}").open("a") as text:
            text.write(f"{word * 300}\n{word * 500}\n")
    long = changed(
        EIGHT, batches={"tokens": 600, "max_length": 5000}, checkpoints={"steps": 2}
    )
    workers = start_workers(2, long, corpus, tmp_path / "run")
    assert [finish(worker) for worker in workers] == [0, 0]


def test_distributed_workers_need_no_number_of_pieces(
    corpus: Path, tmp_path: Path
) -> None:
    """Without one there are as many as workers; two runs of two workers are the same to
    the last bit.
    """
    as_many = changed(EIGHT, batches={"micro_batches": None})
    first, again, one = (tmp_path / name for name in ("first", "again", "one"))
    for out in (first, again):
        workers = start_workers(2, as_many, corpus, out)
        assert [finish(worker) for worker in workers] == [0, 0]
    assert same_end(first, again)
    assert finish(start(small_train, TWO, corpus, one, log=tmp_path / "log")) == 0
    agree(first, one, digits=4)


def test_distributed_pieces_that_cannot_be_shared_evenly(
    corpus: Path, out: Path
) -> None:
    nine = changed(EIGHT, batches={"micro_batches": 9})
    workers = start_workers(2, nine, corpus, out)
    assert [finish(worker) for worker in workers] == [2, 2]
    said = (
        "complaint: 2 workers cannot share 9 micro-batches evenly:"
        " take 1 or 3 or 9 workers, or a multiple"
    )
    assert all(said in Path(f"{out}.{rank}.log").read_text() for rank in range(2))


# Workers that are missing


@pytest.fixture(params=["hash", "tcp"])
def stores(request: pytest.FixtureRequest) -> list[Store]:
    """The same store as four workers see it."""
    if request.param == "hash":
        return [HashStore()] * 4
    where = "127.0.0.1", free_port()
    return [
        TCPStore(*where, is_master=rank == 0, wait_for_workers=False)
        for rank in range(4)
    ]


def roll(stores: list[Store], present: list[int], seconds: float) -> list[str | None]:
    """What the workers that are present say when the roll of all is called."""

    def call(rank: int) -> str | None:
        try:
            barrier(stores[rank], rank, len(stores), seconds)
        except InputError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(len(present)) as pool:
        return list(pool.map(call, present))


def test_distributed_roll_with_all_present(stores: list[Store]) -> None:
    assert roll(stores, [3, 1, 0, 2], seconds=30.0) == [None] * 4


def test_distributed_roll_names_who_is_missing(stores: list[Store]) -> None:
    said = "of 4 workers, rank 1, 3 did not join within 0.3 seconds; look at"
    for message in roll(stores, [2, 0], seconds=0.3):
        assert message is not None and len(message.splitlines()) == 1
        assert message.startswith(said)


def join_briefly() -> None:
    with join_workers(seconds=1.0):
        raise AssertionError("nobody else was there")


@pytest.mark.parametrize(
    ("rank", "said"),
    [
        (0, "of 2 workers, rank 1 did not join within 1 seconds"),
        (1, "rank 0 at 127.0.0.1:"),
    ],
)
def test_a_distributed_worker_that_is_alone_says_so(
    rank: int, said: str, tmp_path: Path
) -> None:
    log, where = tmp_path / "log", worker(rank, free_port())
    assert finish(start(join_briefly, log=log, **where)) == 2
    (found,) = complaints(log)
    assert said in found


def test_one_worker_needs_no_distributed_launch() -> None:
    with join_workers() as workers:
        assert (workers.rank, workers.world_size) == (0, 1)
        assert not torch.distributed.is_initialized()


def test_one_worker_agrees_with_itself() -> None:
    workers = Workers()
    assert workers.any_worker(True) and not workers.any_worker(False)
    assert workers.all_reduce(1, 2.5, torch.tensor(3.0)) == [1.0, 2.5, 3.0]


# Workers that were told different things


def told_apart(tmp_path: Path, *jobs: tuple[TrainingConfig, Path, Path]) -> list[str]:
    """What two workers, as on two machines, say of what they were told."""
    port, logs = free_port(), [tmp_path / f"{rank}.log" for rank in range(2)]
    workers = [
        start(small_train, *job, log=logs[rank], **worker(rank, port, local=0))
        for rank, job in enumerate(jobs)
    ]
    assert [finish(worker) for worker in workers] == [2, 2]
    return [line for log in logs for line in complaints(log)]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (replace(TWO, seed=7), "seed=7, rank 0 seed=1"),
        (replace(TWO, steps=7), "steps=7, rank 0 steps=6"),
        (
            changed(TWO, model={"dropout": 0.3}),
            "model.dropout=0.3, rank 0 model.dropout=0.1",
        ),
    ],
)
def test_distributed_workers_with_other_settings_are_told_apart(
    changed: TrainingConfig, said: str, corpus: Path, tmp_path: Path, out: Path
) -> None:
    """As with two launches at one address, or other flags on one of the machines."""
    lines = told_apart(tmp_path, (TWO, corpus, out), (changed, corpus, out))
    wanted = f"complaint: rank 1 has {said}; give all workers the same command"
    assert lines == [wanted, wanted] and not out.exists()


def test_distributed_workers_with_another_text_are_told_apart(
    tmp_path: Path, out: Path
) -> None:
    texts = [write_corpus(tmp_path / str(seed) / "corpus", seed) for seed in range(2)]
    one, other = told_apart(tmp_path, *((TWO, text, out) for text in texts))
    assert one == other and "rank 1 has corpus=" in one
    assert one.endswith("; give all workers the same text")


def test_distributed_workers_read_the_text_once_a_machine(
    corpus: Path, tmp_path: Path, out: Path
) -> None:
    """The second takes over what the first has made: its own text is not there."""
    port, log = free_port(), tmp_path / "log"
    workers = [
        start(small_train, TWO, text, out, log=log, **worker(rank, port))
        for rank, text in enumerate((corpus, tmp_path / "nowhere"))
    ]
    assert [finish(worker) for worker in workers] == [0, 0]
    assert kept(out) == [6]


# Workers that die


LONG = changed(TWO, checkpoints={"steps": 5}, steps=100_000)


def test_a_killed_worker_ends_the_distributed_run(corpus: Path, out: Path) -> None:
    """With two processes and no torchrun that would look after them."""
    workers = start_workers(2, LONG, corpus, out)
    wait_for(lambda: list(out.glob("checkpoints/step-*")), workers[0])
    workers[1].kill()
    assert finish(workers[1]) == -signal.SIGKILL
    assert finish(workers[0]) not in (0, -signal.SIGKILL)
    step = kept(out)[-1]
    small_train(changed(TWO, steps=step + 2), corpus, out, resume=True)
    assert kept(out)[-1] == step + 2


def test_a_signal_to_one_distributed_worker_ends_all_at_one_step(
    corpus: Path, out: Path
) -> None:
    workers = start_workers(2, LONG, corpus, out)
    wait_for(lambda: list(out.glob("checkpoints/step-*")), workers[0])
    os.kill(workers[1].pid or 0, signal.SIGTERM)  # the one that writes nothing
    assert [finish(worker) for worker in workers] == [0, 0]
    assert lines(out)[-1]["step"] == kept(out)[-1]


SCRIPT = """
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

sys.path[:0] = sys.argv[1].split(os.pathsep)
import aiayn.training.trainer
from aiayn.base_config import changed
from small_runs import small_train
from test_training_distributed import EIGHT

step = aiayn.training.trainer.training_step

def dying(*arguments):
    first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    if first and os.environ["RANK"] == "1" and arguments[3] == 8:
        print("worker 1 dies", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return step(*arguments)

aiayn.training.trainer.training_step = dying
config = changed(
    EIGHT,
    batches={"micro_batches": 2},
    steps=int(sys.argv[4]),
    checkpoints={"steps": 5},
)
small_train(config, Path(sys.argv[2]), Path(sys.argv[3]), resume=True)
"""


def torchrun(tmp_path: Path, corpus: Path, *arguments: Any) -> subprocess.Popen[str]:
    """Two workers, which are started again if one of them dies.

    Three times at most: gloo's threads may abort a worker at its very end, after its
    last checkpoint ("terminate called without an active exception", seen once).
    """
    (tmp_path / "script.py").write_text(SCRIPT)
    how = "--standalone --nproc-per-node=2 --max-restarts=3 script.py".split()
    paths = os.pathsep.join(map(str, Path(__file__).parents[:2]))
    words = [paths, corpus, tmp_path / "run", *arguments]
    with (tmp_path / "log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", *how, *map(str, words)],
            cwd=tmp_path,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=log,
            stderr=log,
            text=True,
        )


@pytest.mark.nightly
def test_torchrun_restarts_a_distributed_run_and_passes_signals_on(
    corpus: Path, tmp_path: Path, out: Path
) -> None:
    """Worker 1 is killed at step 8; all begin again at the checkpoint of step 5."""
    log, whole = tmp_path / "log", tmp_path / "whole"
    assert torchrun(tmp_path, corpus, 12).wait(300) == 0, log.read_text()
    assert "worker 1 dies" in log.read_text()
    workers = start_workers(2, replace(LONG, steps=12), corpus, whole)
    assert [finish(worker) for worker in workers] == [0, 0]
    assert same_end(out, whole) and timeless(out) == timeless(whole)

    process = torchrun(tmp_path, corpus, 100_000)
    wait_for(lambda: kept(out)[-1] > 12 or process.poll() is not None)
    process.terminate()  # as SLURM does when the time is over
    process.wait(300)
    step, last = kept(out)[-1], lines(out)[-1]
    assert step > 12 and last["step"] == step and "loss" in last, log.read_text()
