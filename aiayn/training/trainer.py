# Made by `make export` from book/3-workshop/05-distributed-training.ipynb
"""The training loop, from a corpus to a folder with checkpoints."""

# book/3-workshop/05-distributed-training.ipynb, cell imports
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn.parallel import DistributedDataParallel

from aiayn.complexity.flops import batch_flops, measured_peak, peak_flops
from aiayn.data.batching import Batch, Batches, GlobalBatch, check_shares
from aiayn.data.corpora import Pairs
from aiayn.data.vocabulary import Vocabulary
from aiayn.device import check_system, fast_products, training_dtype
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.training.distributed import Workers, join_workers
from aiayn.training.initialization import (
    InitialModel,
    build_model,
    build_optimizer,
    check_config,
    corpus_facts,
    describe_run,
    prepare_run_corpus,
    shared_facts,
    short_run,
    starting_point,
)
from aiayn.training.loader import prefetch, training_batches, validation_batches
from aiayn.training.metrics_log import VALIDATED, Meter, should_stop_early
from aiayn.training.progress import Callback, Progress
from aiayn.training.recipes import TrainingConfig
from aiayn.training.run_folder import Run, stop_signals
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
    """What a run has come to."""

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
        callback: Callback | None = None,
        every: int = LOG_STEPS,
    ) -> None:
        self.config, self.model, self.optimizer = config, model, optimizer
        self.run, self.workers, self.progress = run, workers, progress
        self.dtype, self.callback, self.every = dtype, callback, every
        self.time_limit = math.inf if config.minutes is None else config.minutes
        self.validated = dict[str, float]()  # the last validation
        self.scaler = gradient_scaler(workers.device, dtype, run.scaler)
        self.meter = Meter(run.minutes, hardware_peak(workers, dtype), run.sums)

    def line(self, results: dict[str, float]) -> dict[str, float]:
        """Means since the last line of the metrics, with what is this step's own."""
        return self.meter.line() | {k: results[k] for k in ("rate", "gradient_norm")}

    def log(self, step: int, results: dict[str, float]) -> None:
        """Add a line to the metrics."""
        self.run.metrics.log(step, **self.line(results))
        if step == LOG_STEPS:
            steps = step * self.time_limit / self.meter.minutes
            self.progress.say(short_run(self.config, steps))
        # Else the training ends here, and whoever goes on finishes the line.
        if step % LOG_STEPS == 0:
            self.meter.clear()

    # book/3-workshop/05-distributed-training.ipynb, cell save-and-validate
    def save(self, step: int, due: bool) -> None:
        """Write a checkpoint; one that is not `due` is for a run that stops."""
        minutes, sums = self.meter.minutes, self.meter.sums
        scaler = self.scaler.state_dict()
        self.run.save(step, minutes, self.model, self.optimizer, due, scaler, sums)

    def validate(self, step: int, batches: list[Batch]) -> None:
        """Measure the perplexity on the validation set and note it."""
        minutes = self.meter.minutes
        loss = validation_loss(self.model, batches, self.workers, self.dtype)
        perplexity = math.exp(min(700, loss))
        self.validated = {VALIDATED: perplexity}
        self.run.metrics.log(step, minutes=minutes, **self.validated)
        model, vocabulary = self.model, self.run.vocabulary
        source = batches[len(batches) // 2].source[0]
        self.progress.checkpoint(step, minutes, perplexity, model, vocabulary, source)
        self.meter.pause()

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

    # book/3-workshop/05-distributed-training.ipynb, cell callback
    def callback_ends(self, step: int, results: dict[str, float]) -> bool:
        """Call back if it is time; whether the training is to end, for all workers."""
        if self.callback is None or step % self.every:
            return False
        ends = False
        if self.workers.rank == 0:
            metrics = self.line(results) | self.validated
            ends = bool(self.callback(step, metrics, self.model.eval()))
            self.model.train()
            self.meter.pause()
            self.progress.say(f"step {step:,}: the callback ends the training" * ends)
        return self.workers.any_worker(ends)

    # book/3-workshop/05-distributed-training.ipynb, cell fit
    def fit(self, batches: Batches, valid: list[Batch]) -> TrainingResult:
        """Take the steps from where the run stands to the last, or as time allows."""
        config, run, workers = self.config, self.run, self.workers
        objective: Any = Objective(self.model, config.label_smoothing)
        if torch.distributed.is_initialized():  # also for one worker of torchrun
            objective = DistributedDataParallel(objective, broadcast_buffers=False)
        if self.validate_if_missed(valid):
            ended = f"this run is at its end, step {run.step:,}; with more steps,"
            self.progress.say(f"{ended} minutes or patience it goes on")
            perplexity = run.metrics.validations().get(run.step)
            return TrainingResult(True, run.step, run.minutes, perplexity)
        self.progress.say(short_run(config, config.steps))
        saved, step, results = self.meter.minutes, run.step, {"stopped": 0.0}
        with self.progress.bar(run.step, config.steps), stop_signals() as signals:
            loaded = prefetch(batches, run.step + 1, config.steps, workers.device)
            for step, global_batch in loaded:
                stop_flags = partial(self.stop_flags, step, signals, saved)
                results = self.take_step(objective, global_batch, step, stop_flags)
                over = results["stopped"] or results["out_of_time"]
                over = self.callback_ends(step, results) or over or step == config.steps
                if over or step % LOG_STEPS == 0:
                    self.log(step, results)
                if over or results["due"]:
                    self.save(step, due=results["due"] > 0)
                    if not results["stopped"]:  # who sends a signal does not wait long
                        self.validate(step, valid)
                    saved = self.meter.minutes
                    validations = run.metrics.validations()
                    early = should_stop_early(validations, config.patience)
                    over = over or workers.any_worker(run.writes and early)
                if over:
                    break
        workers.any_worker(False)  # none leaves before rank 0 has written all
        perplexity = None if results["stopped"] else self.validated.get(VALIDATED)
        return TrainingResult(not results["stopped"], step, saved, perplexity)


# book/3-workshop/05-distributed-training.ipynb, cell train
def train_model(
    config: TrainingConfig,
    data: str | tuple[Pairs, Pairs],
    pair: str | None,
    out: Path | str,
    resume: bool = False,
    tensorboard: bool = False,
    compile: bool = False,
    init: Callable[[], InitialModel] | None = None,  # called unless a run goes on
    device: torch.device | str | None = None,
    progress: Progress | None = None,
    callback: Callback | None = None,
    every: int = LOG_STEPS,
    vocabulary: Vocabulary | None = None,
    command: str | None = None,  # is noted
) -> TrainingResult:
    """Train as `aiayn.train` does; leave a `Run` in the folder `out` (section 5)."""
    check_system()
    start = starting_point(config, out := Path(out), resume, init)
    check_config(config := start.config, every)
    description = describe_run(start, data, pair, command)
    with (
        join_workers(device=device) as workers,
        fast_products(workers.device, config.model.d_model),
        Run(out, resume, tensorboard, workers.rank == 0) as run,
    ):
        workers.agree("command", shared_facts(description, start, out))
        micro_batches = config.batches.micro_batches or workers.world_size
        check_shares(micro_batches, workers.world_size)
        shown = progress if progress and run.writes else Progress(shown=False)
        given = run, start, data, pair, shown.live, vocabulary
        corpus = workers.rank_zero_first(partial(prepare_run_corpus, *given))
        workers.agree("text", texts := corpus_facts(corpus))
        workers.connect()
        model = build_model(start, workers.device)
        dtype = training_dtype(workers.device, config.bfloat16)
        optimizer = build_optimizer(model, config.optimizer, dtype)
        run.begin(model, optimizer, corpus.vocabulary, replace(description, **texts))
        for layer in model.layers() if compile else ():
            layer.compile(dynamic=True)  # compiled once for all lengths
        valid = validation_batches(corpus.valid, config.batches.tokens, workers.device)
        parts = config, model, optimizer, run, workers, shown, dtype, callback, every
        return Trainer(*parts).fit(training_batches(corpus, config, workers), valid)
