"""The training loop, from a corpus to a folder with checkpoints.

From "Distributed training" (paper, section 5):
https://github.com/OWNER/aiayn/blob/main/book/3-workshop/05-distributed-training.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/3-workshop/05-distributed-training.ipynb, cell imports
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
from aiayn.complexity.flops import batch_flops, measured_peak, peak_flops
from aiayn.data.batching import Batch, Batches, GlobalBatch, check_shares
from aiayn.data.corpora import Pairs
from aiayn.data.vocabulary import Vocabulary
from aiayn.device import check_system, fast_products, training_dtype
from aiayn.errors import InputError
from aiayn.model.encoder_decoder import EncoderDecoder, ModelConfig
from aiayn.model.registry import build, check_roundtrip
from aiayn.training.checkpoint_metadata import Description
from aiayn.training.distributed import Workers, join_workers
from aiayn.training.loader import prefetch, training_batches, validation_batches
from aiayn.training.metrics_log import Meter, should_stop_early
from aiayn.training.muon import Muon
from aiayn.training.optimizer import make_optimizer
from aiayn.training.preprocess import Corpus, prepare_corpus, vocabulary_config
from aiayn.training.progress import Progress
from aiayn.training.recipes import TrainingConfig, VocabularyConfig
from aiayn.training.resume import (
    check_same_training,
    newest_checkpoint,
    resumable_description,
)
from aiayn.training.run_folder import Run, restarted, stop_signals
from aiayn.training.step import (
    NotFinite,
    Objective,
    gradient_scaler,
    training_step,
    validation_loss,
)

# book/3-workshop/05-distributed-training.ipynb, cell hardware-peak
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


# book/3-workshop/05-distributed-training.ipynb, cell trainer
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

    @property
    def time_limit(self) -> float:
        """Minutes of training after which it ends."""
        return math.inf if self.config.minutes is None else self.config.minutes

    def log(self, step: int, results: dict[str, float]) -> None:
        """Add a line to the metrics."""
        line = self.meter.line() | {k: results[k] for k in ("rate", "gradient_norm")}
        self.run.metrics.log(step, **line)
        self.progress.log(step, line)
        # Else the training ends here, and whoever goes on finishes the line.
        if step % LOG_STEPS == 0:
            self.meter.clear()

    def save(self, step: int, due: bool) -> None:
        """Write a checkpoint; one that is not `due` is for a training that stops."""
        scaler, sums, minutes = (
            self.scaler.state_dict(),
            self.meter.sums,
            self.meter.minutes,
        )
        self.run.save(step, minutes, self.model, self.optimizer, due, scaler, sums)

    def validate(self, step: int, batches: list[Batch]) -> float:
        """Measure the perplexity on the validation set and note it."""
        minutes = self.meter.minutes
        loss = validation_loss(self.model, batches, self.workers, self.dtype)
        perplexity = math.exp(min(700, loss))
        self.run.metrics.log(step, minutes=minutes, validation_perplexity=perplexity)
        vocabulary, source = self.run.vocabulary, batches[len(batches) // 2].source[0]
        self.progress.checkpoint(
            step, minutes, perplexity, self.model, vocabulary, source
        )
        self.meter.pause()
        return perplexity

    # book/3-workshop/05-distributed-training.ipynb, cell votes
    def stop_flags(
        self, step: int, signals: list[int], saved: float
    ) -> dict[str, float]:
        """What this worker says: a stop is wanted, time is up, a checkpoint is due.

        `saved` is when there was a checkpoint, in minutes.
        """
        checkpoints, minutes = self.config.checkpoints, self.meter.minutes
        waited = minutes - saved > checkpoints.minutes
        due = step % checkpoints.steps == 0 if checkpoints.steps else waited
        last_kept = self.config.steps - checkpoints.keep * (checkpoints.steps or 0)
        if checkpoints.sparse and step <= last_kept:
            due &= waited
        first = self.workers.rank == 0  # whose clock all go by
        return {
            "stopped": float(bool(signals)),
            "out_of_time": first and minutes > self.time_limit,
            "due": first and due,
        }

    # book/3-workshop/05-distributed-training.ipynb, cell catch-up
    def validate_if_missed(self, valid: list[Batch]) -> bool:
        """Validate where a kill or a signal came before; whether the run ended there.

        Rank 0 alone says so: others may read what it has not yet written.
        """
        run, config, workers = self.run, self.config, self.workers
        last = run.step >= config.steps or run.minutes >= self.time_limit
        missed = (run.due or last) and run.step not in run.metrics.validations()
        if workers.any_worker(run.writes and run.step > 0 and missed):
            self.validate(run.step, valid)
        over = last or should_stop_early(run.metrics.validations(), config.patience)
        return workers.any_worker(run.writes and run.step > 0 and over)

    def save_last_finite(self, step: int, error: NotFinite) -> NotFinite:
        """Save the step before one that is not finite; what to say of it."""
        self.save(step - 1, due=False)
        advice = f"step {step - 1} is saved; begin anew with a lower rate"
        if step == 1:  # no rate has had a part in it
            advice = "no weight has moved: look into the model or init"
        return NotFinite(f"{error}; {advice}")

    # book/3-workshop/05-distributed-training.ipynb, cell take-step
    def take_step(
        self,
        objective: Objective | DistributedDataParallel,
        global_batch: GlobalBatch,
        step: int,
        stop_flags: Callable[[], dict[str, float]],
    ) -> dict[str, float]:
        """A training step, counted and shown; one that is not finite saves the last."""
        try:
            results = training_step(
                objective,
                self.optimizer,
                global_batch,
                step,
                self.config,
                self.workers,
                self.scaler,
                stop_flags,
                self.dtype,
            )
        except NotFinite as error:
            raise self.save_last_finite(step, error) from None
        flops = batch_flops(self.config.model, global_batch.lengths)
        self.meter.add(results, global_batch, flops)
        minutes_left = self.time_limit - self.meter.minutes
        self.progress.step(step, self.meter.line(), minutes_left)
        return results

    # book/3-workshop/05-distributed-training.ipynb, cell fit
    def fit(self, batches: Batches, valid: list[Batch]) -> TrainingResult:
        """Take the steps from where the run stands to the last, or as time allows."""
        config, run, workers = self.config, self.run, self.workers
        objective: Any = Objective(self.model, config.label_smoothing)
        if torch.distributed.is_initialized():  # also for one worker of torchrun
            objective = DistributedDataParallel(objective, broadcast_buffers=False)
        if self.validate_if_missed(valid):
            perplexity = run.metrics.validations().get(run.step)
            return TrainingResult(True, run.step, run.minutes, perplexity)
        saved, step, perplexity = self.meter.minutes, run.step, None
        results = {"stopped": 0.0}
        with self.progress.bar(run.step, config.steps), stop_signals() as signals:
            loaded = prefetch(batches, run.step + 1, config.steps, workers.device)
            for step, global_batch in loaded:
                stop_flags = partial(self.stop_flags, step, signals, saved)
                results = self.take_step(objective, global_batch, step, stop_flags)
                over = results["stopped"] or results["out_of_time"]
                over = over or step == config.steps
                if over or step % LOG_STEPS == 0:
                    self.log(step, results)
                if over or results["due"]:
                    self.save(step, due=results["due"] > 0)
                    if not results["stopped"]:  # who sends a signal does not wait long
                        perplexity = self.validate(step, valid)
                    saved = self.meter.minutes
                    validations = run.metrics.validations()
                    early = should_stop_early(validations, config.patience)
                    over = over or workers.any_worker(run.writes and early)
                if over:
                    break
        workers.any_worker(False)  # none leaves before rank 0 has written all
        perplexity = None if results["stopped"] else perplexity
        return TrainingResult(not results["stopped"], step, saved, perplexity)


# book/3-workshop/05-distributed-training.ipynb, cell prepare-run
# A trained model goes on with other text at this share of the learning rate.
FINE_TUNING_RATE = 0.1


@dataclass(frozen=True)
class InitialModel:
    """The model that a training begins with, instead of a new one."""

    model: EncoderDecoder
    vocabulary: Vocabulary | None  # None: one is learned
    name: str  # for the record
    steps: int = 0  # that it was trained for

    def adapt(self, config: TrainingConfig) -> TrainingConfig:
        """The recipe with this model's shape and vocabulary, as `adapt_config`."""
        check_roundtrip(self.model)
        kind = vocabulary_config(self.vocabulary) if self.vocabulary else None
        return adapt_config(config, self.model.config, self.steps, kind)


def adapt_config(
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
    optimizer = config.optimizer
    if optimizer.steps_before or not steps:
        return config
    rate = optimizer.rate_factor * FINE_TUNING_RATE
    return replace(
        config, optimizer=replace(optimizer, steps_before=steps, rate_factor=rate)
    )


# book/3-workshop/05-distributed-training.ipynb, cell beginning
@dataclass(frozen=True)
class StartingPoint:
    """What a training begins with, or goes on with."""

    config: TrainingConfig  # the recipe, with the shape of `init`
    last: Path | None = None  # the checkpoint that it goes on from
    was: Description | None = None  # what that says of itself
    init: InitialModel | None = None  # else the model that it begins with
    name: str | None = None  # of the `init` with which it began

    @property
    def vocabulary(self) -> Vocabulary | Path | None:
        """Known already, or None: it is learned."""
        if self.last is not None:
            return self.last / "vocabulary.model"
        return self.init.vocabulary if self.init else None


def starting_point(
    config: TrainingConfig,
    out: Path,
    resume: bool,
    init: Callable[[], InitialModel] | None,
) -> StartingPoint:
    """What a training into a folder begins with.

    One that goes on needs nothing of its `init` any more: its checkpoint has it all.
    """
    last = newest_checkpoint(out) if resume or restarted(out) else None
    if last is None:
        start = init() if init else None
        config = start.adapt(config) if start else config
        return StartingPoint(config, init=start, name=start.name if start else None)
    was = resumable_description(last)
    if was.training and not config.batches.micro_batches:
        # With another number, dropout would be another.
        config = changed(
            config, batches={"micro_batches": was.training.batches.micro_batches}
        )
    if was.init is not None:
        assert was.training
        steps = was.training.optimizer.steps_before
        config = adapt_config(config, was.model, steps, was.training.vocabulary)
    elif init:
        fault = "the run began with a new model, not with the one that is named now"
        raise InputError(f"{out}: {fault}; leave that out, or choose another")
    return StartingPoint(config, last, was, name=was.init)


# book/3-workshop/05-distributed-training.ipynb, cell prepare-once
def prepare_run_corpus(
    run: Run,
    start: StartingPoint,
    data: str | tuple[Pairs, Pairs],
    pair: str | None,
    progress: bool,
) -> Corpus:
    """`prepare_corpus` with the known vocabulary, or the one that rank 0 wrote."""
    path, vocabulary = run.folder / "vocabulary.model", start.vocabulary
    if vocabulary is None and not run.writes:
        vocabulary = path
    corpus = prepare_corpus(start.config, data, pair, vocabulary, progress)
    if run.writes:
        corpus.vocabulary.save(path)
    return corpus


def corpus_facts(corpus: Corpus) -> dict[str, Any]:
    """What tells the texts of a training from others, and how much of them it reads."""
    vocabulary, left_out = corpus.train, corpus.train.dropped + corpus.train.unequal
    found = {"corpus": vocabulary.folder.name, "valid": corpus.valid.folder.name}
    return found | {"pairs": len(vocabulary), "left_out": left_out}


# book/3-workshop/05-distributed-training.ipynb, cell settings
def describe_run(
    start: StartingPoint, data: str | tuple[Pairs, Pairs], pair: str | None
) -> Description:
    """What a run is made with; an InputError if its checkpoint says otherwise.

    So that is found out before any text is read; texts are compared later.
    """
    versions = {name: metadata.version(name) for name in ("aiayn", "sentencepiece")}
    versions |= {"torch": torch.__version__}  # which names the build, such as +cpu
    description = Description(
        start.config.model,
        start.config,
        data=data if isinstance(data, str) else None,
        pair=pair,
        init=start.name,
        versions=versions,
    )
    if start.last and start.was:
        was = start.was
        same_texts = replace(description, corpus=was.corpus, valid=was.valid)
        check_same_training(start.last, was, same_texts)
    return description


def shared_facts(
    description: Description, start: StartingPoint, out: Path
) -> dict[str, Any]:
    """What all workers of a training have to be told alike."""
    # A text or a model may have another name on each machine.
    alike = replace(description, data=None, init=None, versions=None)
    facts = {n.removeprefix("training."): v for n, v in settings(alike).items()}
    last = start.last.name if start.last else None
    return {**facts, "out": str(out), "goes on from": last}


def check_config(config: TrainingConfig) -> None:
    """Refuse what could not be saved after hours of work; warn of a rate left high."""
    with torch.device("meta"):
        check_roundtrip(build(config.model))
    if (cooldown := config.optimizer.cooldown) and config.minutes is not None:
        falls = f"the rate falls in the last {cooldown:,} of {config.steps:,}"
        ends = f"not if {config.minutes:g} minutes end the training before"
        warnings.warn(f"{falls} steps, {ends}; give fewer steps", stacklevel=3)


# book/3-workshop/05-distributed-training.ipynb, cell train
def train_model(
    config: TrainingConfig,
    data: str | tuple[Pairs, Pairs],
    pair: str | None,
    out: Path | str,
    resume: bool = False,
    tensorboard: bool = False,
    compile: bool = False,
    init: Callable[[], InitialModel] | None = None,
    device: torch.device | str | None = None,
    progress: Progress | None = None,
) -> TrainingResult:
    """Train a model, and leave a `Run` in the folder `out` (section 5).

    `aiayn.train` says what is what; `init` is called unless a run goes on.
    """
    check_system()
    start = starting_point(config, out := Path(out), resume, init)
    check_config(config := start.config)
    description = describe_run(start, data, pair)
    with (
        join_workers(device=device) as workers,
        fast_products(workers.device, config.model.d_model),
        Run(out, resume or restarted(out), tensorboard, workers.rank == 0) as run,
    ):
        workers.agree("command", shared_facts(description, start, out))
        micro_batches = config.batches.micro_batches or workers.world_size
        check_shares(micro_batches, workers.world_size)
        shown = progress if progress and run.writes else Progress(shown=False)
        corpus = workers.rank_zero_first(
            lambda: prepare_run_corpus(run, start, data, pair, shown.live)
        )
        workers.agree("text", texts := corpus_facts(corpus))
        workers.connect()
        torch.manual_seed(config.seed)  # of the first weights
        model = build(config.model).to(workers.device)
        if start.init:
            model.load_state_dict(start.init.model.state_dict())
        dtype, optimizer_config = (
            training_dtype(workers.device, config.bfloat16),
            config.optimizer,
        )
        muon = optimizer_config.muon and Muon(
            model, dtype, optimizer_config.weight_decay
        )
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
