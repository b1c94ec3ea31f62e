"""Many workers (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-7-many-workers.ipynb
"""

__all__ = [
    "LOG_STEPS",
    "GENTLE",
    "hardware_peak",
    "Trainer",
    "Initial",
    "prepare_run",
    "settings_of",
    "train_model",
]


# book/11-7-many-workers.ipynb, cell imports
import math
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from aiayn.costs.hardware import batch_flops, measured_peak, peak_flops, training_dtype
from aiayn.data.batching import Batch, Batches, check_shares
from aiayn.data.corpora import Pairs
from aiayn.data.vocabulary import Vocabulary
from aiayn.fast_paths import fast_products
from aiayn.model.base import EncoderDecoder
from aiayn.model.registry import build, check_rebuilt
from aiayn.training.metrics import Meter, stale
from aiayn.training.muon import Muon
from aiayn.training.optimizer import make_optimizer
from aiayn.training.preparation import Corpus, prepare
from aiayn.training.progress import Progress
from aiayn.training.recipes import TrainingConfig
from aiayn.training.regularization import RegularizedObjective
from aiayn.training.run import Run, restarted, stop_signals
from aiayn.training.step import (
    NotFinite,
    gradient_scaler,
    training_step,
    validation_loss,
)
from aiayn.training.supply import training_batches, upcoming, validation_batches
from aiayn.training.workers import Workers, join_workers

LOG_STEPS = 50  # from one line of the metrics to the next
# A trained model goes on with other text at this share of the learning rate.
GENTLE = 0.1


# book/11-7-many-workers.ipynb, cell hardware-peak
def hardware_peak(workers: Workers, config: TrainingConfig) -> float:
    """Peak operations a second of all workers, measured if no data sheet is known."""
    device = workers.device
    dtype = training_dtype(device, config.bfloat16)
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
    ) -> None:
        self.config, self.model, self.optimizer = config, model, optimizer
        self.run, self.workers, self.progress = run, workers, progress
        self.scaler = gradient_scaler(workers.device, run.scaler)
        self.meter = Meter(run.minutes, hardware_peak(workers, config), run.sums)

    def log(self, step: int, found: dict[str, float]) -> None:
        """Add a line to the metrics."""
        rate, norm = found["rate"], found["gradient_norm"]
        line = self.meter.line() | {"rate": rate, "gradient_norm": norm}
        self.run.metrics.log(step, **line)
        self.progress.log(step, line)
        # Else the training ends here, and whoever goes on finishes the line.
        if step % LOG_STEPS == 0:
            self.meter.clear()

    def save(self, step: int, due: bool) -> None:
        """Write a checkpoint; one that is not `due` is for a training that stops."""
        scaler, sums = self.scaler.state_dict(), self.meter.sums
        self.run.save(
            step, self.meter.minutes, self.model, self.optimizer, due, scaler, sums
        )

    def validate(self, step: int, batches: list[Batch]) -> None:
        """Measure the perplexity on the validation set and note it."""
        minutes = self.meter.minutes
        loss = validation_loss(self.model, batches, self.workers)
        perplexity = math.exp(min(700, loss))
        self.run.metrics.log(step, minutes=minutes, validation_perplexity=perplexity)
        source = batches[len(batches) // 2].source[0]
        self.progress.checkpoint(
            step, minutes, perplexity, self.model, self.run.vocabulary, source
        )
        self.meter.pause()

    # book/11-7-many-workers.ipynb, cell votes
    def votes(
        self, step: int, signals: list[int], saved: float, end: float
    ) -> dict[str, float]:
        """What this worker says: a stop is wanted, time is up, a checkpoint is due.

        `saved` and `end` are minutes: when there was a checkpoint, and when the
        training has to end.
        """
        config, minutes = self.config, self.meter.minutes
        waited = minutes - saved > config.checkpoint_minutes
        due = step % config.checkpoint_steps == 0 if config.checkpoint_steps else waited
        last = config.keep * (config.checkpoint_steps or 0)
        if config.sparse and step <= config.steps - last:
            due &= waited
        first = self.workers.rank == 0  # whose clock all go by
        return {
            "stopped": float(bool(signals)),
            "out_of_time": first and minutes > end,
            "due": first and due,
        }

    # book/11-7-many-workers.ipynb, cell fit
    def fit(self, batches: Batches, valid: list[Batch]) -> None:
        """Take the steps from where the run stands to the last, or as time allows."""
        config, run, meter, workers = self.config, self.run, self.meter, self.workers
        optimizer, scaler = self.optimizer, self.scaler
        asked = RegularizedObjective(self.model, config)
        objective: Any = asked
        if torch.distributed.is_initialized():  # also for one worker of torchrun
            objective = DistributedDataParallel(objective)
        missed = run.step > 0 and run.due and run.step not in run.metrics.validations()
        if workers.anyone(missed):
            self.validate(run.step, valid)  # it was killed between the two
        saved, end = meter.minutes, meter.minutes + config.minutes
        with self.progress.bar(run.step, config.steps), stop_signals() as signals:
            steps = upcoming(batches, run.step + 1, config.steps, workers.device)
            for step, work in steps:
                asked.step = step
                votes = partial(self.votes, step, signals, saved, end)
                try:
                    found = training_step(
                        objective, optimizer, work, step, config, workers, scaler, votes
                    )
                except NotFinite as error:
                    self.save(step - 1, due=False)
                    advice = f"step {step - 1} is saved; begin anew with a lower rate"
                    if step == 1:  # no rate has had a part in it
                        advice = "no weight has moved: look into the model or --init"
                    raise NotFinite(f"{error}; {advice}") from None
                passes = 2 if config.r_drop_at(step) else 1
                flops = passes * batch_flops(config.model, work.lengths)
                meter.add(found, work, flops)
                self.progress.step(step, meter.line(), end - meter.minutes)
                over = found["stopped"] or found["out_of_time"] or step == config.steps
                if over or step % LOG_STEPS == 0:
                    self.log(step, found)
                if over or found["due"]:
                    self.save(step, due=found["due"] > 0)
                    if not found["stopped"]:  # who sends a signal does not wait long
                        self.validate(step, valid)
                    saved = meter.minutes
                    over = over or workers.anyone(
                        stale(run.metrics.validations(), config.patience)
                    )
                if over:
                    break


# book/11-7-many-workers.ipynb, cell prepare-run
@dataclass(frozen=True)
class Initial:
    """The model that a training begins with, instead of a new one."""

    model: EncoderDecoder
    vocabulary: Vocabulary | None  # None: one is learned
    name: str  # for the record
    steps: int = 0  # that it was trained for

    def adapt(self, config: TrainingConfig) -> TrainingConfig:
        """A recipe with the shape of this model, but its own dropout.

        Its rate falls on from these steps, at a tenth, unless `steps_before` says how
        it goes on.
        """
        check_rebuilt(self.model)
        shape = replace(self.model.config, dropout=config.model.dropout)
        config = replace(config, model=shape)
        if config.steps_before or not self.steps:
            return config
        rate = config.rate_factor * GENTLE
        return replace(config, steps_before=self.steps, rate_factor=rate)


def prepare_run(
    run: Run,
    config: TrainingConfig,
    data: str | tuple[Pairs, Pairs],
    pair: str | None,
    drop_too_long: bool,
    init: Initial | None,
    progress: bool,
) -> Corpus:
    """`prepare` with the vocabulary of the run, or of `init`, or written by rank 0."""
    path = run.folder / "vocabulary.model"
    known: Vocabulary | Path | None = init.vocabulary if init else None
    if run.last is not None:
        known = run.last / "vocabulary.model"
    elif known is None and not run.writes:
        known = path
    corpus = prepare(config, data, pair, drop_too_long, known, progress)
    if run.writes:
        corpus.vocabulary.save(path)
    return corpus


# book/11-7-many-workers.ipynb, cell settings
def settings_of(
    config: TrainingConfig, data: str | tuple[Pairs, Pairs], pair: str | None
) -> dict[str, Any]:
    """What a run is made with, for its record and for whoever goes on with it."""
    known = {
        key: value
        for key, value in asdict(config).items()
        if key not in ("model", "minutes")
    }
    known |= {"data": data} if isinstance(data, str) else {}
    known |= {"pair": pair} if pair else {}
    packages = "aiayn", "torch", "sentencepiece"
    versions = {name: metadata.version(name) for name in packages}
    return known | {"versions": versions}


# book/11-7-many-workers.ipynb, cell train
def train_model(
    config: TrainingConfig,
    data: str | tuple[Pairs, Pairs],
    pair: str | None,
    out: Path | str,
    drop_too_long: bool = False,
    resume: bool = False,
    tensorboard: bool = False,
    compile: bool = False,
    init: Initial | None = None,
    device: torch.device | str | None = None,
    progress: Progress | None = None,
) -> None:
    """Train a model, and leave a `Run` in the folder `out` (section 5).

    `aiayn.train` says what is what.
    """
    config = init.adapt(config) if init else config
    settings = settings_of(config, data, pair) | {"drop_too_long": drop_too_long}
    settings |= {"init": init.name} if init else {}
    with (
        join_workers(device=device) as workers,
        fast_products(workers.device, config.model.d_model),
        Run(
            Path(out), resume or restarted(Path(out)), tensorboard, workers.rank == 0
        ) as run,
    ):
        check_shares(config.micro_batches or workers.world_size, workers.world_size)
        shown = progress if progress and run.writes else Progress(shown=False)
        known = config, data, pair, drop_too_long, init, shown.live
        corpus = workers.in_turn(lambda: prepare_run(run, *known))
        workers.connect()
        torch.manual_seed(config.seed)  # of the first weights
        model = build(config.model).to(workers.device)
        if init:
            model.load_state_dict(init.model.state_dict())
        how = training_dtype(workers.device, config.bfloat16), config.weight_decay
        optimizer = Muon(model, *how) if config.muon else make_optimizer(model)
        settings |= {"corpus": corpus.train.folder.name}
        run.begin(model, optimizer, corpus.vocabulary, settings)
        for layer in model.layers() if compile else ():
            layer.compile(dynamic=True)  # one program for all layers and all lengths
        patient = run.step == 0 or not stale(run.metrics.validations(), config.patience)
        if workers.anyone(patient):  # or else it had ended already
            batches = training_batches(corpus, config, workers)
            tokens = min(config.batch_tokens, 4096)
            valid = validation_batches(corpus.valid, tokens, workers.device)
            Trainer(config, model, optimizer, run, workers, shown).fit(batches, valid)
