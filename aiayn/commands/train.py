"""Launch (paper, section 6.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
"""

__all__ = [
    "Training",
    "fetched_elsewhere",
    "train",
    "farewell",
    "prepare",
    "flags",
    "launch",
]


# book/09-launch.ipynb, cell training-imports
import math
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated

import torch
import tyro

from aiayn.commands.evaluation import load_test, report, score, write_record
from aiayn.commands.launch import launch as launch_workers
from aiayn.commands.launch import torchrun_command
from aiayn.commands.slurm import slurm_script
from aiayn.data.batching import check_shares
from aiayn.errors import InputError, NotFetched
from aiayn.fast_paths import keep_heap
from aiayn.training.description import Description
from aiayn.training.loop import train_model
from aiayn.training.metrics import Metrics
from aiayn.training.preparation import prepare as prepare_corpus
from aiayn.training.progress import Progress
from aiayn.training.recipes import TrainingConfig, recipe
from aiayn.training.run import check_folder
from aiayn.training.trained_run import TEST_SETS, TrainedRun
from aiayn.translation.learning import example, initial


# book/09-launch.ipynb, cell train-options
@dataclass(frozen=True)
class Training:
    """What to train, and how."""

    # multi30k, wmt14, laboratory, ptb, or a folder: train.en, train.de, val.en, val.de
    data: str
    config: str  # the name of a recipe
    out: Path  # a new folder, for metrics and checkpoints
    pair: str = "en-de"  # languages, source first
    minutes: float = math.inf  # stop after so many; no limit unless given
    steps: int | None = None  # stop after so many; the recipe's unless given
    # of a step on either side; the recipe's unless given
    batch_tokens: int | None = None
    # pieces of a batch; one for each worker unless given
    micro_batches: int | None = None
    # from one checkpoint to the next; the recipe's unless given
    checkpoint_steps: int | None = None
    # until the last checkpoints, which are averaged, at most one in ten minutes
    sparse: bool = False
    # pieces, both languages together; the recipe's unless given
    vocabulary_size: int | None = None
    # share of numbers set to zero; the recipe's unless given
    dropout: float | None = None
    # spell letters that the vocabulary lacks, by 256 pieces for bytes
    byte_fallback: bool = False
    seed: int = 1  # of everything that is drawn
    init: Path | None = None  # begin with the model of this run; a new one unless given
    device: str | None = None  # cpu, cuda, …; a GPU if there is one unless given
    # leave out sentences that are too long, rather than stop at the first
    drop_too_long: bool = False
    resume: bool = False  # go on with the run in the folder, if there is one
    tensorboard: bool = False  # write TensorBoard's files, too
    # have torch compile the layers: takes minutes, and pays on a GPU
    compile: bool = False

    def settings(self) -> TrainingConfig:
        """The recipe, with what the flags change."""
        if not self.minutes > 0:
            raise InputError(f"minutes={self.minutes}: must be more than 0")
        names = "steps minutes batch_tokens micro_batches checkpoint_steps sparse seed"
        names += " vocabulary_size dropout byte_fallback"
        told = {name: getattr(self, name) for name in names.split()}
        given = {name: value for name, value in told.items() if value is not None}
        return recipe(self.config, **given)


# book/09-launch.ipynb, cell train-command
@contextmanager
def fetched_elsewhere(job: Training) -> Iterator[None]:
    """Within it, whoever has no network is told what to run where there is one."""
    try:
        yield
    except NotFetched as error:
        words = ["aiayn", "prepare", "--data", job.data, "--pair", job.pair]
        words += ["--config", job.config]
        if job.vocabulary_size is not None:
            words += ["--vocabulary-size", str(job.vocabulary_size)]
        words += ["--byte-fallback"] * job.byte_fallback
        words += ["--drop-too-long"] * job.drop_too_long
        command = shlex.join(words)
        where = "on a machine that has a network and the same cache (AIAYN_CACHE)"
        raise InputError(f"{error}; or run `{command}` {where}") from None


# book/09-launch.ipynb, cell train-verb
def train(job: Annotated[Training, tyro.conf.arg(name="")]) -> None:
    """Train a model, or go on with a training or a model."""
    settings, start = job.settings(), None
    keep_heap()
    progress = Progress(os.environ.get("RANK", "0") == "0", example=example)
    if job.init is not None:
        start, said = initial(job.init, settings)
        if not job.resume:
            progress.say(said)
    with fetched_elsewhere(job):
        train_model(
            settings,
            job.data,
            job.pair,
            job.out,
            drop_too_long=job.drop_too_long,
            resume=job.resume,
            tensorboard=job.tensorboard,
            compile=job.compile,
            init=start,
            device=job.device,
            progress=progress,
        )
    run = TrainedRun.read(job.out).description
    validations = Metrics(job.out).validations()
    if run.step in validations:
        for line in farewell(job, run, validations[run.step]):
            progress.say(line)
    elif "TORCHELASTIC_RUN_ID" not in os.environ:
        said = f"stopped after step {run.step}, which is saved; --resume goes on"
        print(f"aiayn: {said}", file=sys.stderr)
        sys.exit(130)


def farewell(job: Training, run: Description, perplexity: float) -> Iterator[str]:
    """What a training has come to, and what one may do next."""
    minutes = f"{run.step:,} steps in {run.minutes:.1f} minutes"
    yield f"{job.out}: {minutes}, validation perplexity {perplexity:.1f}"
    verb = "parse" if run.kind == "parsing" else "translate"
    language = job.pair.partition("-")[0]
    yield f"next: aiayn {verb} {shlex.quote(str(job.out))} < in.{language}"


# book/09-launch.ipynb, cell prepare-command
def prepare(
    data: str,
    config: str,
    pair: str = "en-de",
    out: Path | None = None,
    vocabulary_size: int | None = None,
    byte_fallback: bool = False,
    drop_too_long: bool = False,
) -> None:
    """Download, check, learn the vocabulary and encode, so that `train` can then begin.

    It needs no GPU. All is kept in the cache, the folder that AIAYN_CACHE names.

    Parameters
    ----------
    data : str
        multi30k, wmt14, laboratory, ptb, or a folder:
        train.en, train.de, val.en, val.de.
    config : str
        What will be trained: base, big, small, multi30k, …
    pair : str
        Languages, source first.
    out : Path, optional
        The folder of the run to come, where the vocabulary is put.
    vocabulary_size : int, optional
        Pieces, of both languages together, if not the recipe's.
    byte_fallback : bool
        Spell letters that the vocabulary lacks, by 256 pieces for bytes.
    drop_too_long : bool
        Leave out sentences that are too long, rather than stop at the first.
    """
    job = Training(
        data,
        config,
        out or Path(),
        pair,
        vocabulary_size=vocabulary_size,
        byte_fallback=byte_fallback,
    )
    if out is not None:
        check_folder(out, resume=False)
    corpus = prepare_corpus(job.settings(), data, pair, drop_too_long, progress=True)
    if out is not None:
        corpus.vocabulary.save(out / "vocabulary.model")
    tests = load_test(data, pair, None) if data in TEST_SETS else {}
    counts = {"train": len(corpus.train), "val": len(corpus.valid)}
    counts |= {name: len(pairs) for name, pairs in tests.items()}
    ready = [f"{name} {count:,} pairs" for name, count in counts.items()]
    print("ready:", ", ".join(ready))


# book/09-launch.ipynb, cell flags
def flags(job: Training) -> list[str]:
    """The flags from which `aiayn train` reads a job back."""
    told: list[str] = []
    for field in fields(job):
        value, flag = getattr(job, field.name), "--" + field.name.replace("_", "-")
        if value == field.default:
            continue
        if value is True:
            told += [flag]
        elif str(value).startswith("-"):  # or it would be a flag
            told += [f"{flag}={value}"]
        else:
            told += [flag, str(value)]
    return told


# book/09-launch.ipynb, cell launch-verb
def launch(
    job: Annotated[Training, tyro.conf.arg(name="")],
    workers: int = 0,
    machines: int = 1,
    address: str | None = None,
    restarts: int = 3,
    slurm: bool = False,
    hours: float = 24.0,
) -> None:
    """Train with several workers; score the mean of the last checkpoints in every form.

    Parameters
    ----------
    workers : int
        On each machine; as many as there are GPUs unless given.
    machines : int
        How many take part; call the same command on each of them.
    address : str, optional
        Where several machines meet: the name of one of them, perhaps with a port.
    restarts : int
        How often to go on from the last checkpoint after a worker has failed.
    slurm : bool
        Print a batch file for SLURM instead.
    hours : float
        For which the batch file asks.
    """
    pieces = job.settings().micro_batches
    workers = workers or max(1, torch.cuda.device_count())
    if pieces is not None and min(workers, machines) > 0:
        check_shares(pieces, workers * machines)
    if slurm:
        script = slurm_script(flags(job), job.out, workers, machines, hours, restarts)
        print(script, end="")
        return
    with fetched_elsewhere(job):
        load_test(job.data, job.pair, None)
    # A machine knows only its own restarts.
    job = replace(job, resume=job.resume or machines > 1)
    program = ["-m", "aiayn", "train", *flags(job)]
    command = torchrun_command(program, workers, machines, address, restarts)
    check_folder(job.out, job.resume)  # before eight processes find out
    # The workers are to hear of it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    launch_workers(command)
    if machines == 1:
        bar = sys.stderr.isatty()
        record = score(TrainedRun.read(job.out), progress=bar, device=job.device)
        print(report(record))
        write_record(job.out / "bleu.json", record)
