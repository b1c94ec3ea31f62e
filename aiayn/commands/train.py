"""The verbs prepare, train and launch.

From "Launch" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/09-launch.ipynb, cell training-imports
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated

import torch
import tyro

from aiayn.base_config import changed, differences, settings
from aiayn.commands.command_line import value_of, with_defaults
from aiayn.commands.evaluation import load_test, report, score, write_record
from aiayn.commands.launch import LOST, name_of, torchrun_command, wait_at
from aiayn.commands.launch import launch as launch_workers
from aiayn.commands.slurm import slurm_script
from aiayn.data.batching import check_shares
from aiayn.errors import InputError, NotFetched
from aiayn.fast_paths import find_device, keep_heap, training_dtype
from aiayn.training.description import kind_of
from aiayn.training.loop import (
    Beginning,
    Initial,
    TrainingResult,
    beginning,
    described,
    train_model,
)
from aiayn.training.metrics import Metrics
from aiayn.training.preparation import Corpus
from aiayn.training.preparation import prepare as prepare_corpus
from aiayn.training.progress import Progress
from aiayn.training.recipes import RECIPES, TrainingConfig
from aiayn.training.recipes import recipe as find_recipe
from aiayn.training.resume import begun_description, newest_checkpoint
from aiayn.training.run import check_folder, check_run
from aiayn.training.trained_run import TEST_SETS, TrainedRun
from aiayn.training.workers import WorkerLost
from aiayn.translation.learning import example, initial

# book/09-launch.ipynb, cell pieces
# Of a batch, at least, as the paper had GPUs: dropout depends on them, and so it does
# not depend on whether 1, 2, 4 or 8 workers share them.
PIECES = 8


# book/09-launch.ipynb, cell train-options
NAMES = f"{', '.join(RECIPES)}; or the config.json of a checkpoint"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be learned."""

    # multi30k, wmt14, laboratory, ptb, or a folder: train.en, train.de, val.en, val.de
    data: str
    recipe: Annotated[str, tyro.conf.arg(help=NAMES)]
    pair: str = "en-de"  # languages, source first
    config: Annotated[TrainingConfig, tyro.conf.arg(name="")] = TrainingConfig()

    @classmethod
    def usual(cls, words: list[str]) -> type:
        """This class, with the recipe that the words of a command name as default."""
        name = value_of("--recipe", words)
        if name is None:
            return cls
        return with_defaults(cls, recipe=name, config=find_recipe(name))

    def flags(self, kind: type["Job"]) -> list[str]:
        """The words from which a verb that takes such a job reads it back."""
        names = [each.name for each in fields(kind) if each.name != "config"]
        values = {name: getattr(self, name) for name in names}
        usual = {each.name: each.default for each in fields(kind)}
        told = {name: v for name, v in values.items() if v != usual[name]}
        changes = differences(find_recipe(self.recipe), self.config)
        words: list[str] = []
        for name, value in (told | {n: new for n, (_, new) in changes.items()}).items():
            part, dot, last = name.replace("_", "-").rpartition(".")
            if isinstance(value, bool):
                words += [f"--{part}{dot}{'' if value else 'no-'}{last}"]
            elif str(value).startswith("-"):  # or it would be a flag
                words += [f"--{part}{dot}{last}={value}"]
            else:
                words += [f"--{part}{dot}{last}", str(value)]
        return words


# book/09-launch.ipynb, cell training
@dataclass(frozen=True, kw_only=True)
class Training(Job):
    """What to train, and how."""

    out: Path  # a new folder, for metrics and checkpoints
    init: Path | None = None  # begin with the model of this run; a new one unless given
    device: str | None = None  # cpu, cuda, …; a GPU if there is one unless given
    resume: bool = False  # go on with the run in the folder, if there is one
    tensorboard: bool = False  # write TensorBoard's files, too
    # have torch compile the layers: pays for wide models on a GPU
    compile: bool = False


# book/09-launch.ipynb, cell train-command
@contextmanager
def fetched_elsewhere(job: Training) -> Iterator[None]:
    """Within it, whoever has no network is told what to run where there is one."""
    try:
        yield
    except NotFetched as error:
        command = shlex.join(["aiayn", "prepare", *job.flags(Job)])
        where = "on a machine that has a network and the same cache (AIAYN_CACHE)"
        raise InputError(f"{error}; or run `{command}` {where}") from None


# book/09-launch.ipynb, cell begin-with
def check_kept(job: Training, kept: TrainingConfig) -> None:
    """Refuse flags for a shape or a vocabulary that is kept, and not chosen."""
    has = settings(kept)
    for name, (_, wanted) in differences(find_recipe(job.recipe), job.config).items():
        chosen = name.startswith(("model.", "vocabulary.")) and name != "model.dropout"
        if chosen and has.get(name) != wanted:
            fault = f"the model of --init has {has.get(name)}, which is kept"
            raise InputError(f"--{name} {wanted}: {fault}; leave it out")


def begin_with(job: Training, progress: Progress) -> Callable[[], Initial] | None:
    """What gives the model that a training begins with; it says what is kept of it."""
    last = newest_checkpoint(job.out) if job.resume else None
    was = begun_description(last) if last else None
    if was and was.init and was.training:
        check_kept(job, was.training)
        if job.init and str(job.init) != was.init:
            fault = f"{job.out} began with {was.init}; leave it out"
            raise InputError(f"--init {job.init}: {fault}")
    if job.init is None:
        return None

    def begin() -> Initial:
        start, said = initial(job.init or "", job.config)
        found = start.adapt(job.config)
        check_kept(job, found)
        progress.say(said)
        if (small := found.vocabulary.lowercase) != job.config.vocabulary.lowercase:
            letters = "small letters only" if small else "capitals, too"
            progress.say(f"the vocabulary of {job.init} is kept: {letters}")
        return start

    return begin


# book/09-launch.ipynb, cell train-verb
def train(job: Annotated[Training, tyro.conf.arg(name="")]) -> None:
    """Train a model, or go on with a training or a model."""
    first = os.environ.get("RANK", "0") == "0"
    keep_heap()
    progress = Progress(first, example=example)
    try:
        with fetched_elsewhere(job):
            result = train_model(
                job.config,
                job.data,
                job.pair,
                job.out,
                resume=job.resume,
                tensorboard=job.tensorboard,
                compile=job.compile,
                init=begin_with(job, progress),
                device=job.device,
                progress=progress,
            )
    except WorkerLost as error:
        print(f"aiayn: {error}", file=sys.stderr)
        sys.exit(LOST)
    if first:  # whose progress counts
        for line in farewell(job, result) if result.ended else ():
            progress.say(line)
        if not result.ended:
            said = stopped(result.step, job.config)
            print(f"aiayn: {said}", file=sys.stderr, flush=True)
    # Under torchrun it would count as a failure, and everything would start again.
    if not result.ended and "TORCHELASTIC_RUN_ID" not in os.environ:
        sys.exit(130)


# book/09-launch.ipynb, cell farewell
def farewell(job: Training, result: TrainingResult) -> Iterator[str]:
    """What a training has come to, and what one may do next."""
    minutes = f"{result.step:,} steps in {result.minutes:.1f} minutes"
    yield f"{job.out}: {minutes}, validation perplexity {result.perplexity:.1f}"
    verb = "parse" if kind_of(job.pair) == "parsing" else "translate"
    language = job.pair.partition("-")[0]
    yield f"next: aiayn {verb} {shlex.quote(str(job.out))} < in.{language}"


def stopped(step: int, config: TrainingConfig) -> str:
    """What to say of a run that a signal has stopped."""
    where = f"step {step:,} of {config.steps:,}"
    return f"stopped after {where}, which is saved; --resume goes on"


def stopped_in(out: Path) -> str | None:
    """The same of the run in a folder; None if it came to its end.

    Only then was its last checkpoint validated.
    """
    run = TrainedRun.read(out).description
    if (
        run.step is None
        or run.training is None
        or run.step in Metrics(out).validations()
    ):
        return None
    return stopped(run.step, run.training)


# book/09-launch.ipynb, cell prepared
def prepared(job: Job, start: Beginning) -> Corpus:
    """All that a training reads, from now on in the cache."""
    return prepare_corpus(
        start.config, job.data, job.pair, start.vocabulary, progress=True
    )


# book/09-launch.ipynb, cell prepare-command
@dataclass(frozen=True, kw_only=True)
class Preparation(Job):
    """What is to be prepared."""

    out: Path | None = None  # the folder of the run to come, for the vocabulary


def prepare(job: Annotated[Preparation, tyro.conf.arg(name="")]) -> None:
    """Download, check, learn the vocabulary and encode, so that `train` can then begin.

    It needs no GPU. What it encodes is kept in the cache, the folder that AIAYN_CACHE
    names; the downloads that Hugging Face and sacreBLEU make are in their own. It takes
    the recipe and its flags as `train` does; those count that concern the text.
    """
    if job.out is not None:
        check_folder(job.out, resume=False)
    corpus = prepared(job, Beginning(job.config))
    if job.out is not None:
        corpus.vocabulary.save(job.out / "vocabulary.model")
    tests = load_test(job.data, job.pair, None) if job.data in TEST_SETS else {}
    parts: dict[str, Sized] = {"train": corpus.train, "val": corpus.valid, **tests}
    counts = (f"{name} {len(pairs):,} pairs" for name, pairs in parts.items())
    print("ready:", ", ".join(counts))


# book/09-launch.ipynb, cell launch-job
@dataclass(frozen=True, kw_only=True)
class Launch(Training):
    """What to train, and by how many workers."""

    # on each machine; as many as this one has GPUs unless given
    workers: int | None = None
    machines: int = 1  # how many take part; call the same command on each of them
    # where several machines meet: the name of one of them, perhaps with a port
    address: str | None = None
    # how often to go on from the last checkpoint after a worker has failed
    restarts: int = 3
    slurm: bool = False  # print a batch file for SLURM instead
    hours: float | None = None  # what that file asks for; 24 unless given


def check_used(job: Launch) -> None:
    """Refuse a flag that would do nothing."""
    if job.hours is not None and not job.slurm:
        raise InputError("--hours: is for the batch file of --slurm; give that, too")
    if job.address and (job.slurm or job.machines == 1):
        where = "SLURM tells it" if job.slurm else "one machine needs none"
        raise InputError(f"--address {job.address}: {where}; leave it out")


# book/09-launch.ipynb, cell launch-verb
def launch(job: Annotated[Launch, tyro.conf.arg(name="")]) -> None:
    """Train with several workers; score the mean of the last checkpoints."""
    check_used(job)
    workers, machines = job.workers or max(1, torch.cuda.device_count()), job.machines
    together = max(1, workers * machines)
    pieces = job.config.batches.pieces or -(-PIECES // together) * together
    check_shares(pieces, together)
    job = replace(job, config=changed(job.config, batches={"pieces": pieces}))
    if job.slurm:
        words = job.flags(Training)
        print(
            slurm_script(
                words, job.out, workers, machines, job.hours or 24.0, job.restarts
            ),
            end="",
        )
        return
    # A machine knows only its own restarts.
    words = replace(job, resume=job.resume or machines > 1).flags(Training)
    command = torchrun_command(
        ["-m", "aiayn", "train", *words],
        workers,
        machines,
        job.address,
        job.restarts,
        name_of(job.out),
    )
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
    find_device(job.device)
    init = begin_with(job, Progress(shown=False))
    start = beginning(job.config, job.out, job.resume, init)
    described(start, job.data, job.pair)
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
            print(f"aiayn: {stopped_in(out)}", file=sys.stderr)
        raise
    if stopped_in(out):  # as its rank 0 has said
        sys.exit(130)


def score_run(job: Training) -> None:
    """Score the model that was trained, print that and write it down."""
    where, bar = find_device(job.device), sys.stderr.isatty()
    dtype = training_dtype(where)
    with torch.autocast(where.type, dtype, enabled=dtype != torch.float32):
        record = score(TrainedRun.read(job.out), progress=bar, device=job.device)
    print(report(record))
    write_record(job.out / "bleu.json", record)
