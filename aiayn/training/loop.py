"""The training loop, from a corpus to a folder with checkpoints.

From "Many workers" (paper, section 5):
https://github.com/OWNER/aiayn/blob/main/book/11-7-many-workers.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-7-many-workers.ipynb, cell imports
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn.parallel import DistributedDataParallel

from aiayn.base_config import changed, settings
from aiayn.costs.hardware import batch_flops, measured_peak, peak_flops
from aiayn.data.batching import Batch, Batches, check_shares
from aiayn.data.corpora import Pairs
from aiayn.data.vocabulary import Vocabulary
from aiayn.errors import InputError
from aiayn.fast_paths import check_system, fast_products, training_dtype
from aiayn.model.base import EncoderDecoder, ModelConfig
from aiayn.model.registry import build, check_rebuilt
from aiayn.training.description import Description
from aiayn.training.metrics import Meter, stale
from aiayn.training.muon import Muon
from aiayn.training.optimizer import make_optimizer
from aiayn.training.preparation import Corpus, kinds_of, prepare
from aiayn.training.progress import Progress
from aiayn.training.recipes import TrainingConfig, VocabularyConfig
from aiayn.training.resume import (
    begun_description,
    check_same_training,
    newest_checkpoint,
)
from aiayn.training.run import Run, restarted, stop_signals
from aiayn.training.step import (
    NotFinite,
    Objective,
    gradient_scaler,
    training_step,
    validation_loss,
)
from aiayn.training.supply import training_batches, upcoming, validation_batches
from aiayn.training.workers import Workers, join_workers

# book/11-7-many-workers.ipynb, cell hardware-peak
LOG_STEPS = 50  # from one line of the metrics to the next


class TrainingResult(NamedTuple):
    """What a training has come to."""

    ended: bool  # or else a signal has stopped it
    step: int  # the last one, which is saved
    minutes: float  # of all its sessions
    perplexity: float | None  # on the validation set, if it was validated there


def hardware_peak(workers: Workers, dtype: torch.dtype) -> float:
    """Peak operations a second of all workers, measured if no data sheet is known."""
    device = workers.device
    peak = peak_flops(device) or measured_peak(device, dtype, size=1024)
    return workers.world_size * peak


# book/11-7-many-workers.ipynb, cell trainer
class Trainer:
    """A model in training: with which recipe, by which workers, kept in which run."""

    def __init__(
        self,
        config: TrainingConfig,
        model: EncoderDecoder,
        optimizer: torch.optim.Optimizer,
        run: Run,
        workers: Workers,
        progress: Progress,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.config, self.model, self.optimizer = config, model, optimizer
        self.run, self.workers, self.progress = run, workers, progress
        self.dtype = dtype
        self.scaler = gradient_scaler(workers.device, dtype, run.scaler)
        self.meter = Meter(run.minutes, hardware_peak(workers, dtype), run.sums)

    def log(self, step: int, found: dict[str, float]) -> None:
        """Add a line to the metrics."""
        line = self.meter.line() | {k: found[k] for k in ("rate", "gradient_norm")}
        self.run.metrics.log(step, **line)
        self.progress.log(step, line)
        # Else the training ends here, and whoever goes on finishes the line.
        if step % LOG_STEPS == 0:
            self.meter.clear()

    def save(self, step: int, due: bool) -> None:
        """Write a checkpoint; one that is not `due` is for a training that stops."""
        state = self.scaler.state_dict(), self.meter.sums
        self.run.save(step, self.meter.minutes, self.model, self.optimizer, due, *state)

    def validate(self, step: int, batches: list[Batch]) -> float:
        """Measure the perplexity on the validation set and note it."""
        minutes = self.meter.minutes
        loss = validation_loss(self.model, batches, self.workers, self.dtype)
        perplexity = math.exp(min(700, loss))
        self.run.metrics.log(step, minutes=minutes, validation_perplexity=perplexity)
        parts = self.model, self.run.vocabulary, batches[len(batches) // 2].source[0]
        self.progress.checkpoint(step, minutes, perplexity, *parts)
        self.meter.pause()
        return perplexity

    # book/11-7-many-workers.ipynb, cell votes
    def votes(
        self, step: int, signals: list[int], saved: float, end: float
    ) -> dict[str, float]:
        """What this worker says: a stop is wanted, time is up, a checkpoint is due.

        `saved` and `end` are minutes: when there was a checkpoint, and when the
        training has to end.
        """
        its, minutes = self.config.checkpoints, self.meter.minutes
        waited = minutes - saved > its.minutes
        due = step % its.steps == 0 if its.steps else waited
        if its.sparse and step <= self.config.steps - its.keep * (its.steps or 0):
            due &= waited
        first = self.workers.rank == 0  # whose clock all go by
        return {
            "stopped": float(bool(signals)),
            "out_of_time": first and minutes > end,
            "due": first and due,
        }

    # book/11-7-many-workers.ipynb, cell catch-up
    def catch_up(self, valid: list[Batch]) -> bool:
        """Validate where a kill or a signal came before; whether the run ended there.

        Rank 0 alone says so: others may read what it has not yet written.
        """
        run, config, workers = self.run, self.config, self.workers
        end = math.inf if config.minutes is None else config.minutes
        last = run.step >= config.steps or run.minutes >= end
        missed = (run.due or last) and run.step not in run.metrics.validations()
        if workers.anyone(run.writes and run.step > 0 and missed):
            self.validate(run.step, valid)
        over = last or stale(run.metrics.validations(), config.patience)
        return workers.anyone(run.writes and run.step > 0 and over)

    def given_up(self, step: int, error: NotFinite) -> NotFinite:
        """Save the step before one that is not finite; what to say of it."""
        self.save(step - 1, due=False)
        advice = f"step {step - 1} is saved; begin anew with a lower rate"
        if step == 1:  # no rate has had a part in it
            advice = "no weight has moved: look into the model or init"
        return NotFinite(f"{error}; {advice}")

    # book/11-7-many-workers.ipynb, cell fit
    def fit(self, batches: Batches, valid: list[Batch]) -> TrainingResult:
        """Take the steps from where the run stands to the last, or as time allows."""
        config, run, meter, workers = self.config, self.run, self.meter, self.workers
        objective: Any = Objective(self.model, config.label_smoothing)
        if torch.distributed.is_initialized():  # also for one worker of torchrun
            objective = DistributedDataParallel(objective, broadcast_buffers=False)
        if self.catch_up(valid):
            perplexity = run.metrics.validations().get(run.step)
            return TrainingResult(True, run.step, run.minutes, perplexity)
        saved, step, found, perplexity = meter.minutes, run.step, {"stopped": 0.0}, None
        end = math.inf if config.minutes is None else config.minutes
        with self.progress.bar(run.step, config.steps), stop_signals() as signals:
            steps = upcoming(batches, run.step + 1, config.steps, workers.device)
            for step, work in steps:
                votes = partial(self.votes, step, signals, saved, end)
                try:
                    how = config, workers, self.scaler, votes, self.dtype
                    found = training_step(objective, self.optimizer, work, step, *how)
                except NotFinite as error:
                    raise self.given_up(step, error) from None
                meter.add(found, work, batch_flops(config.model, work.lengths))
                self.progress.step(step, meter.line(), end - meter.minutes)
                over = found["stopped"] or found["out_of_time"] or step == config.steps
                if over or step % LOG_STEPS == 0:
                    self.log(step, found)
                if over or found["due"]:
                    self.save(step, due=found["due"] > 0)
                    if not found["stopped"]:  # who sends a signal does not wait long
                        perplexity = self.validate(step, valid)
                    saved = meter.minutes
                    said = stale(run.metrics.validations(), config.patience)
                    over = over or workers.anyone(run.writes and said)
                if over:
                    break
        workers.anyone(False)  # none leaves before rank 0 has written all
        perplexity = None if found["stopped"] else perplexity
        return TrainingResult(not found["stopped"], step, saved, perplexity)


# book/11-7-many-workers.ipynb, cell prepare-run
# A trained model goes on with other text at this share of the learning rate.
GENTLE = 0.1


@dataclass(frozen=True)
class Initial:
    """The model that a training begins with, instead of a new one."""

    model: EncoderDecoder
    vocabulary: Vocabulary | None  # None: one is learned
    name: str  # for the record
    steps: int = 0  # that it was trained for

    def adapt(self, config: TrainingConfig) -> TrainingConfig:
        """A recipe with the shape and the vocabulary of this model, as `adapted`."""
        check_rebuilt(self.model)
        kind = kinds_of(self.vocabulary) if self.vocabulary else None
        return adapted(config, self.model.config, self.steps, kind)


def adapted(
    config: TrainingConfig,
    shape: ModelConfig,
    steps: int,
    kind: VocabularyConfig | None,
) -> TrainingConfig:
    """A recipe with another shape, but its own dropout, and the kind of a vocabulary.

    Its rate falls on from so many steps, at a tenth, unless `steps_before` says how it
    goes on.
    """
    shape = replace(shape, dropout=config.model.dropout)
    config = replace(config, model=shape, vocabulary=kind or config.vocabulary)
    its = config.optimizer
    if its.steps_before or not steps:
        return config
    rate = its.rate_factor * GENTLE
    return replace(config, optimizer=replace(its, steps_before=steps, rate_factor=rate))


# book/11-7-many-workers.ipynb, cell beginning
@dataclass(frozen=True)
class Beginning:
    """What a training begins with, or goes on with."""

    config: TrainingConfig  # the recipe, with the shape of `init`
    last: Path | None = None  # the checkpoint that it goes on from
    was: Description | None = None  # what that says of itself
    init: Initial | None = None  # else the model that it begins with
    name: str | None = None  # of the `init` with which it began

    @property
    def vocabulary(self) -> Vocabulary | Path | None:
        """Known already, or None: it is learned."""
        if self.last is not None:
            return self.last / "vocabulary.model"
        return self.init.vocabulary if self.init else None


def beginning(
    config: TrainingConfig,
    out: Path,
    resume: bool,
    init: Callable[[], Initial] | None,
) -> Beginning:
    """What a training into a folder begins with.

    One that goes on needs nothing of its `init` any more: its checkpoint has it all.
    """
    last = newest_checkpoint(out) if resume or restarted(out) else None
    if last is None:
        start = init() if init else None
        config = start.adapt(config) if start else config
        return Beginning(config, init=start, name=start.name if start else None)
    was = begun_description(last)
    if was.training and not config.batches.pieces:
        # Others would drop other numbers.
        config = changed(config, batches={"pieces": was.training.batches.pieces})
    if was.init is not None:
        assert was.training
        steps = was.training.optimizer.steps_before
        config = adapted(config, was.model, steps, was.training.vocabulary)
    elif init:
        fault = "the run began with a new model, not with the one that is named now"
        raise InputError(f"{out}: {fault}; leave that out, or choose another")
    return Beginning(config, last, was, name=was.init)


# book/11-7-many-workers.ipynb, cell prepare-once
def prepare_run(
    run: Run,
    start: Beginning,
    data: str | tuple[Pairs, Pairs],
    pair: str | None,
    progress: bool,
) -> Corpus:
    """`prepare` with the vocabulary that is known, or that rank 0 has written."""
    path, known = run.folder / "vocabulary.model", start.vocabulary
    if known is None and not run.writes:
        known = path
    corpus = prepare(start.config, data, pair, known, progress)
    if run.writes:
        corpus.vocabulary.save(path)
    return corpus


def contents(corpus: Corpus) -> dict[str, Any]:
    """What tells the texts of a training from others, and how much of them it reads."""
    known, left_out = corpus.train, corpus.train.dropped + corpus.train.unequal
    found = {"corpus": known.folder.name, "valid": corpus.valid.folder.name}
    return found | {"pairs": len(known), "left_out": left_out}


# book/11-7-many-workers.ipynb, cell settings
def described(
    start: Beginning, data: str | tuple[Pairs, Pairs], pair: str | None
) -> Description:
    """What a run is made with; an InputError if its checkpoint says otherwise.

    So that is found out before any text is read; texts are compared later.
    """
    versions = {name: metadata.version(name) for name in ("aiayn", "sentencepiece")}
    versions |= {"torch": torch.__version__}  # which names the build, such as +cpu
    known = Description(
        start.config.model,
        start.config,
        data=data if isinstance(data, str) else None,
        pair=pair,
        init=start.name,
        versions=versions,
    )
    if start.last and start.was:
        was = start.was
        same_texts = replace(known, corpus=was.corpus, valid=was.valid)
        check_same_training(start.last, was, same_texts)
    return known


def told(description: Description, start: Beginning, out: Path) -> dict[str, Any]:
    """What all workers of a training have to be told alike."""
    # A text or a model may have another name on each machine.
    alike = replace(description, data=None, init=None, versions=None)
    facts = {n.removeprefix("training."): v for n, v in settings(alike).items()}
    last = start.last.name if start.last else None
    return {**facts, "out": str(out), "goes on from": last}


def check_ahead(config: TrainingConfig) -> None:
    """Refuse what could not be saved after hours of work; warn of a rate left high."""
    with torch.device("meta"):
        check_rebuilt(build(config.model))
    if (cooldown := config.optimizer.cooldown) and config.minutes is not None:
        falls = f"the rate falls in the last {cooldown:,} of {config.steps:,}"
        ends = f"not if {config.minutes:g} minutes end the training before"
        warnings.warn(f"{falls} steps, {ends}; give fewer steps", stacklevel=3)


# book/11-7-many-workers.ipynb, cell train
def train_model(
    config: TrainingConfig,
    data: str | tuple[Pairs, Pairs],
    pair: str | None,
    out: Path | str,
    resume: bool = False,
    tensorboard: bool = False,
    compile: bool = False,
    init: Callable[[], Initial] | None = None,
    device: torch.device | str | None = None,
    progress: Progress | None = None,
) -> TrainingResult:
    """Train a model, and leave a `Run` in the folder `out` (section 5).

    `aiayn.train` says what is what; `init` is called unless a run goes on.
    """
    check_system()
    start = beginning(config, out := Path(out), resume, init)
    check_ahead(config := start.config)
    description = described(start, data, pair)
    with (
        join_workers(device=device) as workers,
        fast_products(workers.device, config.model.d_model),
        Run(out, resume or restarted(out), tensorboard, workers.rank == 0) as run,
    ):
        workers.agree("command", told(description, start, out))
        pieces = config.batches.pieces or workers.world_size
        check_shares(pieces, workers.world_size)
        shown = progress if progress and run.writes else Progress(shown=False)
        corpus = workers.share(lambda: prepare_run(run, start, data, pair, shown.live))
        workers.agree("text", texts := contents(corpus))
        workers.connect()
        torch.manual_seed(config.seed)  # of the first weights
        model = build(config.model).to(workers.device)
        if start.init:
            model.load_state_dict(start.init.model.state_dict())
        dtype, its = training_dtype(workers.device, config.bfloat16), config.optimizer
        muon = its.muon and Muon(model, dtype, its.weight_decay)
        optimizer = muon or make_optimizer(model)
        description = replace(description, **texts)
        run.begin(model, optimizer, corpus.vocabulary, description)
        for layer in model.layers() if compile else ():
            layer.compile(dynamic=True)  # one program for all layers and all lengths
        batches = training_batches(corpus, config, workers)
        tokens = min(config.batches.tokens, 4096)
        valid = validation_batches(corpus.valid, tokens, workers.device)
        trainer = Trainer(config, model, optimizer, run, workers, shown, dtype)
        return trainer.fit(batches, valid)
