# Made by `make export` from book/5-launch/1-launch.ipynb
"""The verb launch: trains with several workers, and scores the model."""

# book/5-launch/1-launch.ipynb, cell launch-verb-imports
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import torch
import tyro

from aiayn.base_config import changed
from aiayn.cli.evaluation import format_scores, score, write_record
from aiayn.cli.options import TrainOptions
from aiayn.cli.slurm import slurm_script
from aiayn.cli.test_sets import load_test
from aiayn.cli.torchrun import rendezvous_id, run_torchrun, torchrun_command
from aiayn.cli.train import (
    initial_model,
    interruption_of,
    suggesting_prepare,
    texts_of,
)
from aiayn.data.batching import check_shares
from aiayn.device import find_device, training_dtype
from aiayn.errors import InputError
from aiayn.training.initialization import describe_run, starting_point
from aiayn.training.preprocess import prepare_corpus
from aiayn.training.progress import Progress
from aiayn.training.run_folder import check_folder, check_run
from aiayn.training.trained_run import TrainedRun


# book/5-launch/1-launch.ipynb, cell launch-job
@dataclass(frozen=True, kw_only=True)
class LaunchOptions(TrainOptions):
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


def check_used(options: LaunchOptions) -> None:
    """Refuse a flag that would do nothing."""
    if options.hours is not None and not options.slurm:
        raise InputError("--hours: is for the batch file of --slurm; give that, too")
    if options.address and (options.slurm or options.machines == 1):
        where = "SLURM tells it" if options.slurm else "one machine needs none"
        raise InputError(f"--address {options.address}: {where}; leave it out")


# book/5-launch/1-launch.ipynb, cell micro-batches
# Of a step, at least, as the paper had GPUs: dropout depends on them, and so it does
# not depend on whether 1, 2, 4 or 8 workers share them.
MICRO_BATCHES = 8


def with_micro_batches(options: LaunchOptions, workers: int) -> LaunchOptions:
    """The same with a number of micro-batches, which so many workers can share."""
    number = options.config.batches.micro_batches
    number = number or -(-MICRO_BATCHES // workers) * workers
    check_shares(number, workers)
    config = changed(options.config, batches={"micro_batches": number})
    return replace(options, config=config)


# book/5-launch/1-launch.ipynb, cell launch-verb
def launch(options: Annotated[LaunchOptions, tyro.conf.arg(name="")]) -> None:
    """Train with several workers; score the mean of the last checkpoints."""
    check_used(options)
    workers = options.workers or max(1, torch.cuda.device_count())
    machines = options.machines
    options = with_micro_batches(options, max(1, workers * machines))
    if options.slurm:
        words, hours = options.flags(TrainOptions), options.hours or 24.0
        script = slurm_script(
            words, options.out, workers, machines, hours, options.restarts
        )
        print(script, end="")
        return
    # Workers that are started again go on; whether a run may begin is checked below.
    words = replace(options, resume=True).flags(TrainOptions)
    command = torchrun_command(
        ["-m", "aiayn", "train", *words],
        workers,
        machines,
        options.address,
        options.restarts,
        rendezvous_id(options.out),
    )
    check_and_prepare(options, machines)
    if machines > 1:
        place = command[command.index("--rdzv-endpoint") + 1]
        print(f"waiting for {machines} machines at {place}, ten minutes", flush=True)
    train_distributed(command, options.out)
    if machines == 1 and options.data:  # files come without a test set
        score_trained(options)


# book/5-launch/1-launch.ipynb, cell make-ready
def check_and_prepare(options: TrainOptions, machines: int) -> None:
    """Find out what is wrong, and prepare, before eight processes do."""
    if machines == 1:
        check_folder(options.out, options.resume)
    else:  # another machine may be looking, too
        check_run(options.out, options.resume)
    find_device(options.device)
    init = initial_model(options, Progress(shown=False))
    start = starting_point(options.config, options.out, options.resume, init)
    with suggesting_prepare(options):
        data, pair = texts_of(options)
        describe_run(start, data, pair)
        prepare_corpus(start.config, data, pair, start.vocabulary, progress=True)
        if options.data:
            load_test(options.data, options.pair or "en-de", None)


def train_distributed(command: list[str], out: Path) -> None:
    """Train to the end; one that a signal stops ends the program, with code 130."""
    # The workers are to hear of it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run_torchrun(command)
    except KeyboardInterrupt:
        with suppress(InputError):  # there may be no checkpoint yet
            print(f"aiayn: {interruption_of(out)}", file=sys.stderr)
        raise
    if interruption_of(out):  # as its rank 0 has said
        sys.exit(130)


def score_trained(options: TrainOptions) -> None:
    """Score the model that was trained, print that and write it down."""
    chosen, shows_bar = find_device(options.device), sys.stderr.isatty()
    dtype = training_dtype(chosen)
    with torch.autocast(chosen.type, dtype, enabled=dtype != torch.float32):
        record = score(
            TrainedRun.read(options.out), progress=shows_bar, device=options.device
        )
    print(format_scores(record))
    write_record(options.out / "bleu.json", record)
