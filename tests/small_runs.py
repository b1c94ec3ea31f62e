"""Runs of a tiny model for the tests of training: in this process, and in others that
can be killed.
"""

import json
import multiprocessing
import os
import random
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

import aiayn.training.trainer
from aiayn.base_config import changed
from aiayn.errors import InputError
from aiayn.model import TransformerConfig
from aiayn.training import TrainingConfig, train_model
from aiayn.training.checkpoint import list_checkpoints
from aiayn.training.checkpoint_metadata import Description
from aiayn.training.recipes import BatchConfig, CheckpointConfig, OptimizerConfig

TINY = TransformerConfig(vocabulary_size=60, N=1, d_model=16, d_ff=32, h=2, dropout=0.1)
QUICK = TrainingConfig(
    TINY,
    batches=BatchConfig(tokens=60),
    optimizer=OptimizerConfig(warmup=4),
    checkpoints=CheckpointConfig(minutes=1000.0, keep=2, average=2),
    steps=6,
)


def plan_of(**changes: Any) -> Description:
    """What a run of QUICK is begun with, or of a recipe with these changes."""
    return Description(TINY, changed(QUICK, **changes))


NUMBERS = "one two three four five six seven eight nine ten".split()
ZAHLEN = "eins zwei drei vier fünf sechs sieben acht neun zehn".split()
CLOCKS = {"minutes", "tokens_per_second", "utilisation"}

Tensors = dict[str, torch.Tensor]
Train = Callable[..., Any]  # the fixture `train`


def write_corpus(folder: Path, seed: int = 0) -> Path:
    """Three to five number words and their translations: 60 pairs to train on, 10 to
    validate.
    """
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(seed)
    for split, size in (("train", 60), ("val", 10)):
        rows = [
            [draw.randrange(10) for _ in range(draw.randint(3, 5))] for _ in range(size)
        ]
        for language, words in (("en", NUMBERS), ("de", ZAHLEN)):
            lines = [" ".join(words[k] for k in row) + "\n" for row in rows]
            (folder / f"{split}.{language}").write_text(
                "".join(lines), encoding="utf-8"
            )
    return folder


def complaint(action: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """What an action says of its input: always one line."""
    with pytest.raises(InputError) as caught:
        action(*arguments, **named)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def lines(out: Path) -> list[dict[str, float]]:
    """All that a run wrote down."""
    return [
        json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()
    ]


def timeless(out: Path) -> list[dict[str, float]]:
    """The same without what depends on the clock."""
    return [
        {key: value for key, value in line.items() if key not in CLOCKS}
        for line in lines(out)
    ]


def kept(out: Path) -> list[int]:
    """The steps of the checkpoints in a run's folder."""
    return [int(path.name.removeprefix("step-")) for path in list_checkpoints(out)]


def tensors(out: Path, name: str = "model") -> Tensors:
    """The tensors in a file of the newest checkpoint."""
    return safetensors.torch.load_file(
        list_checkpoints(out)[-1] / f"{name}.safetensors"
    )


def same(one: Tensors, other: Tensors) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(
        torch.equal(one[name], other[name]) for name in one
    )


def same_end(one: Path, other: Path) -> bool:
    """Whether two runs stand at the same step, with the same weights and the same state
    of Adam.
    """
    at_one_step = list_checkpoints(one)[-1].name == list_checkpoints(other)[-1].name
    return at_one_step and all(
        same(tensors(one, n), tensors(other, n)) for n in ("model", "optimizer")
    )


# Other processes: copies of one that imported everything once and never ran a thread

forks = multiprocessing.get_context("forkserver")
forks.set_forkserver_preload(
    ["__main__", "aiayn.training.trainer", "pytest", "torch._dynamo"]
)


def start(
    action: Callable[..., Any],
    *arguments: Any,
    log: Path,
    options: Any = None,
    **environment: Any,
) -> BaseProcess:
    """Begin `action(*arguments, **options)` in another process; what it prints goes to
    the end of a file.
    """
    environment = {"AIAYN_CACHE": os.environ.get("AIAYN_CACHE", "")} | environment
    process = forks.Process(
        target=_run,
        args=(action, arguments, options or {}, log, environment),
        daemon=True,
    )
    process.start()
    return process


def _run(
    action: Callable[..., Any],
    arguments: Any,
    options: Any,
    log: Path,
    environment: Any,
) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.environ.update({name: str(value) for name, value in environment.items()})
    torch.set_num_threads(1)
    try:
        action(*arguments, **options)
    except InputError as error:
        print(f"complaint: {error}", file=sys.stderr, flush=True)
        sys.exit(2)


def finish(process: BaseProcess, seconds: float = 300) -> int:
    """The exit code of a process, which has so long to end."""
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise AssertionError(f"still running after {seconds} seconds")
    return process.exitcode


def wait_for(
    condition: Callable[[], Any],
    process: BaseProcess | None = None,
    seconds: float = 300,
) -> None:
    """Wait until something is true, or the process has ended."""
    limit = time.monotonic() + seconds
    while not condition() and (process is None or process.is_alive()):
        assert time.monotonic() < limit, f"waited {seconds} seconds in vain"
        time.sleep(0.002)


def small_train(
    config: TrainingConfig, corpus: Path, out: Path, **options: Any
) -> None:
    """`train` with a line of metrics every five steps, and without measuring how fast
    the machine is.
    """
    aiayn.training.trainer.LOG_STEPS = 5
    aiayn.training.trainer.hardware_peak = lambda *_: 1e9
    train_model(config, str(corpus), "en-de", out, **options)


def start_workers(
    number: int, config: TrainingConfig, corpus: Path, out: Path, **options: Any
) -> list[BaseProcess]:
    """Let so many processes train one model together, as torchrun would; `out.rank.log`
    is what one says.
    """
    port = free_port()
    return [
        start(
            small_train,
            *(config, corpus, out),
            log=Path(f"{out}.{rank}.log"),
            options=options,
            **worker(rank, port, number),
        )
        for rank in range(number)
    ]


def worker(
    rank: int, port: int, number: int = 2, local: int | None = None
) -> dict[str, Any]:
    """What torchrun's environment tells a worker of several on this machine."""
    places = {"RANK": rank, "LOCAL_RANK": rank if local is None else local}
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return {"WORLD_SIZE": number} | places | where


def complaints(log: Path) -> list[str]:
    """The lines by which processes of `start` refused their input."""
    return [line for line in log.read_text().splitlines() if "complaint: " in line]


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
