"""Launch (paper, section 6.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
"""

__all__ = [
    "Training",
    "train",
    "flags",
    "launch",
    "sweep",
    "plan",
    "sample",
    "output_arrives",
    "main",
]


# book/09-launch.ipynb, cell imports
import math
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro

from aiayn import laboratory
from aiayn.batching import check_shares
from aiayn.comparison import report as comparison_report
from aiayn.data import InputError
from aiayn.fast_paths import keep_heap
from aiayn.hardware import plan_table
from aiayn.launch import (
    how_trained,
    load_test,
    plain_words,
    report,
    score,
    slurm_script,
    torchrun_command,
    write_record,
)
from aiayn.launch import launch as launch_workers
from aiayn.metrics import Metrics
from aiayn.model_commands import convert, evaluate, parse, translate
from aiayn.recipes import TrainingConfig, recipe
from aiayn.run import Run
from aiayn.sweep import sweep as run_sweep
from aiayn.training import train as train_model


# book/09-launch.ipynb, cell train-options
@dataclass(frozen=True)
class Training:
    """What to train, and how."""

    data: str  # multi30k, wmt14, laboratory, ptb, or a folder: train.en, train.de, val.en, val.de
    config: str  # base, big, small, multi30k, laboratory, parser, conv, rnn, …: see RECIPES
    out: Path  # a new folder, for metrics and checkpoints
    pair: str = "en-de"  # languages, source first
    minutes: float = math.inf  # stop after so many
    steps: int | None = None  # stop after so many
    batch_tokens: int | None = None  # of a step on either side, of all workers together
    micro_batches: int | None = None  # pieces of a batch; one for each worker unless given
    checkpoint_steps: int | None = None  # from one checkpoint to the next
    vocabulary_size: int | None = None  # pieces, of both languages together
    dropout: float | None = None  # share of numbers that are set to zero
    seed: int = 1  # of everything that is drawn
    drop_too_long: bool = False  # leave out sentences that are too long, rather than stop at the first
    resume: bool = False  # go on with the run in the folder, if there is one
    tensorboard: bool = False  # write TensorBoard's files, too
    compile: bool = False  # have torch compile the layers: takes minutes, and pays on a GPU

    def settings(self) -> TrainingConfig:
        """The recipe, with what the flags change."""
        if not self.minutes > 0:
            raise InputError(f"minutes={self.minutes}: must be more than 0")
        run = ("steps", "batch_tokens", "micro_batches", "checkpoint_steps", "seed")
        changes, shape = (
            {name: value for name in names if (value := getattr(self, name)) is not None}
            for names in (run, ("vocabulary_size", "dropout"))
        )
        with plain_words():
            settings = recipe(self.config, **changes)
            return replace(settings, model=replace(settings.model, **shape))


# book/09-launch.ipynb, cell train-command
def train(job: Annotated[Training, tyro.conf.arg(name="")]) -> None:
    """Train a model."""
    settings = job.settings()
    keep_heap()
    options = (job.minutes, job.drop_too_long, job.resume, job.tensorboard, job.compile)
    train_model(settings, job.data, job.pair, job.out, *options)
    step = how_trained(job.out)["step"]
    if "TORCHELASTIC_RUN_ID" not in os.environ and step not in Metrics(job.out).validations():
        print(f"aiayn: stopped after step {step}, which is saved; --resume goes on", file=sys.stderr)
        sys.exit(130)


# book/09-launch.ipynb, cell flags
def flags(job: Training) -> list[str]:
    """The flags from which `aiayn train` reads a job back."""
    told = []
    for field in fields(job):
        value, flag = getattr(job, field.name), "--" + field.name.replace("_", "-")
        if value != field.default:
            told += [flag] if value is True else [flag, str(value)]
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
    """Train with several workers, then score the mean of the last checkpoints in every form.

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
        print(slurm_script(flags(job), job.out, workers, machines, hours, restarts), end="")
        return
    load_test(job.data, job.pair, None)
    job = replace(job, resume=job.resume or machines > 1)  # a machine knows only its own restarts
    command = torchrun_command(["-m", "aiayn", "train", *flags(job)], workers, machines, address, restarts)
    Run(job.out, job.resume)  # before eight processes find out
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the workers hear of it
    launch_workers(command)
    if machines == 1:
        record = score(job.out, progress=sys.stderr.isatty())
        print(report(record))
        write_record(job.out / "bleu.json", record, ["aiayn", *sys.argv[1:]])


# book/09-launch.ipynb, cell sweep-command
def sweep(
    data: str,
    out: Path,
    rows: str = "all",
    pair: str = "en-de",
    seeds: int = 3,
    scale: float = 0.25,
    steps: int | None = None,
    vocabulary_size: int | None = None,
    workers: int | None = None,
) -> None:
    """Train rows of Table 3 with several seeds, score them, and write a record; what is there is kept.

    Parameters
    ----------
    data : str
        laboratory, multi30k, wmt14, or a folder.
    out : Path
        The record, a JSON file.
    rows : str
        all, groups or names, with commas between them, such as A,base or "C N=2".
    pair : str
        Languages, source first.
    seeds : int
        How many times each row is trained.
    scale : float
        Of the paper's widths.
    steps : int, optional
        Of base, if not the recipe's; big takes three times as many.
    vocabulary_size : int, optional
        If not the recipe's.
    workers : int, optional
        How many trainings at a time; one for each processor unless given.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the trainings hear of it, and save
    with plain_words():
        options = (pair, seeds, scale, steps, vocabulary_size, workers, sys.stderr.isatty())
        record = run_sweep(rows, data, out, *options)
    print(comparison_report(record))
    if any("error" in run for run in record["runs"]):
        sys.exit(1)


# book/09-launch.ipynb, cell plan-verb
def plan(gpus: int, gpu: str, utilisation: float, watts: float | None = None) -> None:
    """Print the hours and the energy that the trainings of Table 2 will take.

    Parameters
    ----------
    gpus : int
        How many.
    gpu : str
        Their name, such as H100.
    utilisation : float
        Which share of their peak they reach, such as 0.4.
    watts : float, optional
        The power of one, if not that of its data sheet.
    """
    print(plan_table(gpus, gpu, utilisation, watts))


# book/09-launch.ipynb, cell sample-command
def sample(
    n: int = 10,
    seed: int = 1,
    split: Literal["train", "valid", "test", "long", "novel", "pronouns"] = "train",
    span: int | None = None,
    with_tree: bool = False,
    with_alignment: bool = False,
) -> None:
    """Print sentence pairs of the laboratory, with tabs between the columns.

    Parameters
    ----------
    n : int
        How many pairs.
    seed : int
        Other seeds give other pairs.
    split : str
        Part of the corpus.
    span : int, optional
        Only sentences with so many words between a verb and its particle or complement.
    with_tree : bool
        Also the English tree in brackets.
    with_alignment : bool
        Also the alignment, as pairs of word numbers.
    """
    with plain_words():
        pairs = laboratory.sample(n, seed, split, span)
    for pair in pairs:
        tree = [pair.tree] if with_tree else []
        alignment = [" ".join(f"{i}-{j}" for i, j in pair.alignment)] if with_alignment else []
        print(pair.source, pair.target, *tree, *alignment, sep="\t")


# book/09-launch.ipynb, cell output-arrives
@contextmanager
def output_arrives() -> Iterator[None]:
    """Within it, output that cannot be written is an error, but not if its reader has seen enough."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # a shell may have closed it
                sys.stdout.flush()
    except OSError as error:
        if error.filename is None:  # it may be standard output that fails, and Python would try again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(141)  # what a shell reports of a filter that SIGPIPE ended
        raise


# book/09-launch.ipynb, cell main
def main() -> None:
    """The command `aiayn`; whatever is wrong with its input is one line, and exit code 2."""
    verbs = (train, launch, translate, evaluate, convert, parse, sweep, plan, sample)
    commands: dict[str, Any] = {verb.__name__: verb for verb in verbs}
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as standard input is, whatever the locale
    try:
        with output_arrives():
            tyro.extras.subcommand_cli_from_dict(commands, prog="aiayn")
    except (InputError, OSError) as error:
        print(f"aiayn: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__" and "__file__" in globals():  # a notebook is __main__ too, but is no file
    main()
