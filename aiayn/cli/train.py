# Made by `make export` from book/5-launch/1-launch.ipynb
"""The verbs train and prepare."""

# book/5-launch/1-launch.ipynb, cell training-imports
import logging
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from aiayn.cli.options import RecipeOptions, TrainOptions
from aiayn.cli.parser import value_of
from aiayn.cli.test_sets import load_test
from aiayn.cli.torchrun import EXIT_WORKER_LOST
from aiayn.data.columns import announce
from aiayn.data.corpora import Pairs
from aiayn.data.formats import read_pairs
from aiayn.device import keep_heap
from aiayn.errors import InputError, NotFetched
from aiayn.training.checkpoint_metadata import kind_of
from aiayn.training.distributed import WorkerLost
from aiayn.training.initialization import InitialModel
from aiayn.training.metrics_log import Metrics
from aiayn.training.preprocess import prepare_corpus
from aiayn.training.progress import Progress
from aiayn.training.recipes import TrainingConfig
from aiayn.training.resume import newest_checkpoint, resumable_description
from aiayn.training.run_folder import check_folder
from aiayn.training.trained_run import TEST_SETS, TrainedRun
from aiayn.training.trainer import TrainingResult, train_model
from aiayn.translation.api import example, hold_out, initial, with_vocabulary

# book/5-launch/1-launch.ipynb, cell texts-of
LOG = logging.getLogger(__name__)


def texts_of(options: RecipeOptions) -> tuple[str | tuple[Pairs, Pairs], str | None]:
    """The corpus by name, or pairs from files, with its languages."""
    of_files = options.valid, options.columns, options.skip_bad_lines
    if options.data and not options.train and not any(of_files):
        return options.data, options.pair or "en-de"
    if options.data or not options.train:
        give = "give either --data, a corpus or a folder, or --train, files"
        if isinstance(options, TrainOptions) and options.resume:
            give = "without --recipe, --resume takes what the run records; else give"
            give += " --data, or --train, files"
        raise InputError(f"{give} of your own, perhaps with --valid")
    trained_on = read_files(options, options.train)
    if options.valid:
        return (trained_on, read_files(options, options.valid)), trained_on.languages
    parts = hold_out(trained_on, options.config.seed)
    learned, held = (f"{len(part):,}" for part in parts)
    counts = f"{held} pairs are held out, {learned} are trained on"
    LOG.info("aiayn: %s; --valid changes that", counts)
    return parts, trained_on.languages


def read_files(options: RecipeOptions, files: tuple[str, ...]) -> Pairs:
    """Pairs from files, as the flags say; says which side is the source."""
    columns, skip = options.columns, options.skip_bad_lines
    pairs = read_pairs(*files, columns=columns, pair=options.pair, skip_bad_lines=skip)
    LOG.info("aiayn: %s", announce(pairs))
    return pairs


# book/5-launch/1-launch.ipynb, cell train-command
@contextmanager
def suggesting_prepare(options: TrainOptions) -> Iterator[None]:
    """Within it, whoever has no network is told what to run where there is one."""
    try:
        yield
    except NotFetched as error:
        command = shlex.join(["aiayn", "prepare", *options.flags(RecipeOptions)])
        where = "on a machine that has a network and the same cache (AIAYN_CACHE)"
        raise InputError(f"{error}; or run `{command}` {where}") from None


# book/5-launch/1-launch.ipynb, cell begin-with
def initial_model(
    options: TrainOptions, progress: Progress
) -> Callable[[], InitialModel] | None:
    """What gives the model that a run begins with; it says what is kept of it."""
    last = newest_checkpoint(options.out) if options.resume else None
    was = resumable_description(last) if last else None
    if was and was.init and options.init and str(options.init) != was.init:
        fault = f"{options.out} began with {was.init}; leave it out"
        raise InputError(f"--init {options.init}: {fault}")
    if options.init is None:
        return None

    def begin() -> InitialModel:
        start, message = initial(options.init or "", options.config)
        progress.say(message)
        lowercase = start.adapt(options.config).vocabulary.lowercase
        if lowercase != options.config.vocabulary.lowercase:
            letters = "small letters only" if lowercase else "capitals, too"
            progress.say(f"the vocabulary of {options.init} is kept: {letters}")
        return start

    return begin


# book/5-launch/1-launch.ipynb, cell train-verb
def train(options: Annotated[TrainOptions, tyro.conf.arg(name="")]) -> None:
    """Train a model, or go on with a run or a model."""
    first = os.environ.get("RANK", "0") == "0"
    keep_heap()
    progress = Progress(first, example=example)
    try:
        with suggesting_prepare(options):
            data, pair = texts_of(options)
            config, vocabulary = options.config, None
            if options.vocabulary:
                config, vocabulary = with_vocabulary(
                    config, options.vocabulary, options.init
                )
                progress.say(f"{options.vocabulary}: {len(vocabulary):,} pieces")
            result = train_model(
                config,
                data,
                pair,
                options.out,
                resume=options.resume,
                tensorboard=options.tensorboard,
                compile=options.compile,
                init=initial_model(options, progress),
                device=options.device,
                progress=progress,
                vocabulary=vocabulary,
                # A resumed run that records one keeps it.
                command=shlex.join(["aiayn", *sys.argv[1:]])
                if value_of("--recipe", sys.argv)
                else None,
            )
    except WorkerLost as error:
        print(f"aiayn: {error}", file=sys.stderr)
        sys.exit(EXIT_WORKER_LOST)
    if first:  # whose progress counts
        for line in closing_lines(options.out, pair, result) if result.ended else ():
            progress.say(line)
        if not result.ended:
            message = stopped(result.step, options.config)
            print(f"aiayn: {message}", file=sys.stderr, flush=True)
    # Under torchrun it would count as a failure, and everything would start again.
    if not result.ended and "TORCHELASTIC_RUN_ID" not in os.environ:
        sys.exit(130)


# book/5-launch/1-launch.ipynb, cell farewell
def closing_lines(out: Path, pair: str | None, result: TrainingResult) -> Iterator[str]:
    """What a run has come to, and what one may do next."""
    minutes = f"{result.step:,} steps in {result.minutes:.1f} minutes"
    yield f"{out}: {minutes}, validation perplexity {result.perplexity:.1f}"
    verb = "parse" if kind_of(pair) == "parsing" else "translate"
    language = (pair or "txt").partition("-")[0]
    yield f"next: aiayn {verb} {shlex.quote(str(out))} < in.{language}"


def stopped(step: int, config: TrainingConfig) -> str:
    """What to say of a run that a signal has stopped."""
    place = f"step {step:,} of {config.steps:,}"
    return f"stopped after {place}, which is saved; --resume goes on"


def interruption_of(out: Path) -> str | None:
    """The same of the run in a folder; None if it came to its end.

    A stop's own checkpoint is not validated.
    """
    run = TrainedRun.read(out).description
    if (
        run.step is None
        or run.training is None
        or run.step in Metrics(out).validations()
    ):
        return None
    return stopped(run.step, run.training)


# book/5-launch/1-launch.ipynb, cell prepare-command
@dataclass(frozen=True, kw_only=True)
class PrepareOptions(RecipeOptions):
    """What is to be prepared."""

    out: Path | None = None  # the folder of the run to come, for the vocabulary


def prepare(options: Annotated[PrepareOptions, tyro.conf.arg(name="")]) -> None:
    """Download, check, learn the vocabulary and encode, so that `train` can then begin.

    It needs no GPU. What it encodes is kept in the cache, the folder that AIAYN_CACHE
    names; the downloads that Hugging Face and sacreBLEU make are in their own. It takes
    the recipe and its flags as `train` does; those count that concern the text.
    """
    if options.out is not None:
        check_folder(options.out, resume=False)
    corpus = prepare_corpus(options.config, *texts_of(options), progress=True)
    if options.out is not None:
        corpus.vocabulary.save(options.out / "vocabulary.model")
    tests: dict[str, Pairs] = {}
    if options.data in TEST_SETS:
        tests = load_test(options.data, options.pair or "en-de", None)
    parts: dict[str, Sized] = {"train": corpus.train, "val": corpus.valid, **tests}
    counts = (f"{name} {len(pairs):,} pairs" for name, pairs in parts.items())
    print("ready:", ", ".join(counts))
