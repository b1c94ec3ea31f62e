"""The verbs prepare, train and launch.

From "Launch" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/09-launch.ipynb, cell training-imports
import math
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from aiayn.commands.evaluation import load_test, report, score, write_record
from aiayn.commands.launch import LOST, name_of, torchrun_command, wait_at
from aiayn.commands.launch import launch as launch_workers
from aiayn.commands.slurm import slurm_script
from aiayn.costs.hardware import training_dtype
from aiayn.data.batching import check_shares
from aiayn.errors import InputError, NotFetched
from aiayn.fast_paths import find_device, keep_heap
from aiayn.training.description import read_description
from aiayn.training.loop import (
    Beginning,
    Initial,
    beginning,
    checked_settings,
    train_model,
)
from aiayn.training.metrics import Metrics
from aiayn.training.preparation import Corpus
from aiayn.training.preparation import prepare as prepare_corpus
from aiayn.training.progress import Progress
from aiayn.training.recipes import TrainingConfig, recipe
from aiayn.training.resume import newest_checkpoint
from aiayn.training.run import check_folder, check_run
from aiayn.training.trained_run import TEST_SETS, TrainedRun
from aiayn.training.workers import WorkerLost
from aiayn.translation.learning import example, initial

# Of a batch, at least, as the paper had GPUs: dropout depends on them, and so it does
# not depend on whether 1, 2, 4 or 8 workers share them.
PIECES = 8


# book/09-launch.ipynb, cell train-options
@dataclass(frozen=True)
class Training:
    """What to train, and how."""

    # multi30k, wmt14, laboratory, ptb, or a folder: train.en, train.de, val.en, val.de
    data: str
    config: str  # the name of a recipe
    out: Path  # a new folder, for metrics and checkpoints
    pair: str = "en-de"  # languages, source first
    minutes: float = (
        math.inf
    )  # stop after so many, earlier sessions included; no limit unless given
    steps: int | None = None  # stop after so many; the recipe's unless given
    # tokens of a step on either side; the recipe's unless given
    batch_tokens: int | None = None
    # pieces of a batch; one for each worker unless given; with launch 8,
    # or the next multiple of the workers
    micro_batches: int | None = None
    # from one checkpoint to the next; the recipe's unless given
    checkpoint_steps: int | None = None
    # until the last checkpoints that are kept, at most one in the recipe's
    # checkpoint_minutes, which are 10 for most
    sparse: bool = False
    # pieces, both languages together; the recipe's unless given
    vocabulary_size: int | None = None
    # share of numbers set to zero; the recipe's unless given
    dropout: float | None = None
    # spell letters that the vocabulary lacks, by 256 pieces for bytes
    byte_fallback: bool = False
    # leave out pairs with a side more than so many times as long, in tokens
    max_ratio: float | None = None
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
        names += " vocabulary_size dropout byte_fallback max_ratio"
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
        if job.max_ratio is not None:
            words += ["--max-ratio", str(job.max_ratio)]
        command = shlex.join(words)
        where = "on a machine that has a network and the same cache (AIAYN_CACHE)"
        raise InputError(f"{error}; or run `{command}` {where}") from None


# book/09-launch.ipynb, cell begin-with
def check_kept(job: Training, size: int, byte_fallback: bool) -> None:
    """Refuse flags for a vocabulary that is not learned, but kept."""
    if job.vocabulary_size not in (None, size):
        has = f"the model of --init has {size:,} pieces, which are kept"
        raise InputError(
            f"--vocabulary-size {job.vocabulary_size}: {has}; leave it out"
        )
    if job.byte_fallback and not byte_fallback:
        has = "the vocabulary of --init is kept, and has no bytes"
        raise InputError(f"--byte-fallback: {has}; leave it out")


def begin_with(
    job: Training, settings: TrainingConfig, progress: Progress
) -> Callable[[], Initial] | None:
    """What gives the model that a training begins with; it says what is kept of it."""
    last = newest_checkpoint(job.out) if job.resume else None
    if last and (was := read_description(last)).training.get("init"):
        bytes_too = bool(was.training.get("byte_fallback"))
        check_kept(job, was.model.vocabulary_size, bytes_too)
    if job.init is None:
        return None

    def begin() -> Initial:
        start, said = initial(job.init or "", settings)
        found = start.adapt(settings)
        check_kept(job, found.model.vocabulary_size, found.byte_fallback)
        progress.say(said)
        if found.lowercase != settings.lowercase:
            letters = "small letters only" if found.lowercase else "capitals, too"
            progress.say(f"the vocabulary of {job.init} is kept: {letters}")
        return start

    return begin


# book/09-launch.ipynb, cell train-verb
def train(job: Annotated[Training, tyro.conf.arg(name="")]) -> None:
    """Train a model, or go on with a training or a model."""
    settings, first = job.settings(), os.environ.get("RANK", "0") == "0"
    keep_heap()
    progress = Progress(first, example=example)
    options: dict[str, Any] = {
        "drop_too_long": job.drop_too_long,
        "resume": job.resume,
        "tensorboard": job.tensorboard,
        "compile": job.compile,
        "device": job.device,
    }
    what = settings, job.data, job.pair, job.out
    try:
        with fetched_elsewhere(job):
            init = begin_with(job, settings, progress)
            ended = train_model(*what, init=init, progress=progress, **options)
    except WorkerLost as error:
        print(f"aiayn: {error}", file=sys.stderr)
        sys.exit(LOST)
    if first:  # others may read what is not yet written
        for line in farewell(job) if ended else ():
            progress.say(line)
        if not ended:
            print(f"aiayn: {stopped(job.out)}", file=sys.stderr, flush=True)
    # Under torchrun it would count as a failure, and everything would start again.
    if not ended and "TORCHELASTIC_RUN_ID" not in os.environ:
        sys.exit(130)


# book/09-launch.ipynb, cell farewell
def farewell(job: Training) -> Iterator[str]:
    """What a training has come to, and what one may do next."""
    run = TrainedRun.read(job.out).description
    perplexity = Metrics(job.out).validations().get(run.step or 0, math.nan)
    minutes = f"{run.step:,} steps in {run.minutes:.1f} minutes"
    yield f"{job.out}: {minutes}, validation perplexity {perplexity:.1f}"
    verb = "parse" if run.kind == "parsing" else "translate"
    language = job.pair.partition("-")[0]
    yield f"next: aiayn {verb} {shlex.quote(str(job.out))} < in.{language}"


def stopped(out: Path) -> str | None:
    """What to say of a run that a signal has stopped; None if it came to its end.

    Only then was its last checkpoint validated.
    """
    run = TrainedRun.read(out).description
    if run.step in Metrics(out).validations():
        return None
    where = f"step {run.step:,} of {run.training.get('steps', math.inf):,}"
    return f"stopped after {where}, which is saved; --resume goes on"


# book/09-launch.ipynb, cell prepared
def prepared(job: Training, start: Beginning) -> Corpus:
    """All that a training reads, from now on in the cache."""
    how = job.data, job.pair, job.drop_too_long, start.vocabulary
    return prepare_corpus(start.config, *how, progress=True)


# book/09-launch.ipynb, cell prepare-command
def prepare(
    data: str,
    config: str,
    pair: str = "en-de",
    out: Path | None = None,
    vocabulary_size: int | None = None,
    byte_fallback: bool = False,
    drop_too_long: bool = False,
    max_ratio: float | None = None,
) -> None:
    """Download, check, learn the vocabulary and encode, so that `train` can then begin.

    It needs no GPU. What it encodes is kept in the cache, the folder that AIAYN_CACHE
    names; the downloads that Hugging Face and sacreBLEU make are in their own.

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
    max_ratio : float, optional
        Leave out pairs with more than so many times the tokens on one side.
    """
    how: dict[str, Any] = {"vocabulary_size": vocabulary_size, "max_ratio": max_ratio}
    how |= {"byte_fallback": byte_fallback, "drop_too_long": drop_too_long}
    job = Training(data, config, out or Path(), pair, **how)
    if out is not None:
        check_folder(out, resume=False)
    corpus = prepared(job, Beginning(job.settings()))
    if out is not None:
        corpus.vocabulary.save(out / "vocabulary.model")
    tests = load_test(data, pair, None) if data in TEST_SETS else {}
    parts: dict[str, Sized] = {"train": corpus.train, "val": corpus.valid, **tests}
    counts = (f"{name} {len(pairs):,} pairs" for name, pairs in parts.items())
    print("ready:", ", ".join(counts))


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
        What the SLURM batch file asks for.
    """
    workers = workers or max(1, torch.cuda.device_count())
    together = max(1, workers * machines)
    pieces = job.settings().micro_batches or -(-PIECES // together) * together
    check_shares(pieces, together)
    job = replace(job, micro_batches=pieces)
    if slurm:
        script = slurm_script(flags(job), job.out, workers, machines, hours, restarts)
        print(script, end="")
        return
    # A machine knows only its own restarts.
    told = replace(job, resume=job.resume or machines > 1)
    program, how = ["-m", "aiayn", "train", *flags(told)], (address, restarts)
    command = torchrun_command(program, workers, machines, *how, name_of(job.out))
    make_ready(job, machines)
    if machines > 1:
        wait_at(command[command.index("--rdzv-endpoint") + 1], machines)
    train_by_workers(command, job.out)
    if machines == 1:
        score_run(job)


# book/09-launch.ipynb, cell make-ready
def make_ready(job: Training, machines: int) -> None:
    """Find out what is wrong, and prepare, before eight processes do."""
    if machines == 1:
        check_folder(job.out, job.resume)
    else:  # another machine may be looking, too
        check_run(job.out, job.resume)
    settings = job.settings()
    find_device(job.device)
    init = begin_with(job, settings, Progress(shown=False))
    start = beginning(settings, job.out, job.resume, init)
    checked_settings(start, job.data, job.pair, job.drop_too_long)
    with fetched_elsewhere(job):
        prepared(job, start)
        load_test(job.data, job.pair, None)


def train_by_workers(command: list[str], out: Path) -> None:
    """Train to the end; one that a signal stops ends the program, with code 130."""
    # The workers are to hear of it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        launch_workers(command)
    except KeyboardInterrupt:
        with suppress(InputError):  # there may be no checkpoint yet
            print(f"aiayn: {stopped(out)}", file=sys.stderr)
        raise
    if stopped(out):  # as its rank 0 has said
        sys.exit(130)


def score_run(job: Training) -> None:
    """Score the model that was trained, print that and write it down."""
    where, bar = find_device(job.device), sys.stderr.isatty()
    dtype = training_dtype(where)
    with torch.autocast(where.type, dtype, enabled=dtype != torch.float32):
        record = score(TrainedRun.read(job.out), progress=bar, device=job.device)
    print(report(record))
    write_record(job.out / "bleu.json", record)
