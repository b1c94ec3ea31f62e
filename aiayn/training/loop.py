"""Training (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-training.ipynb
"""

__all__ = [
    "LOG_STEPS",
    "batch_loss",
    "Objective",
    "add_gradients",
    "NotFinite",
    "training_step",
    "gradient_scaler",
    "shrinks",
    "validation_batches",
    "validation_loss",
    "validate",
    "upcoming",
    "peak_of",
    "versions",
    "cast",
    "fit",
    "prepared",
    "batches_of",
    "train",
]


# book/05-training.ipynb, cell imports
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from aiayn.costs.hardware import batch_flops, measured_peak, peak_flops, training_dtype
from aiayn.data.batching import (
    Batch,
    Batches,
    Examples,
    GlobalBatch,
    check_shares,
    group_by_length,
    make_batch,
)
from aiayn.data.vocabulary import PAD_ID
from aiayn.errors import InputError
from aiayn.fast_paths import fast_products
from aiayn.model.base import EncoderDecoder
from aiayn.model.registry import build
from aiayn.training.loss import projected_loss
from aiayn.training.metrics import Meter, stale
from aiayn.training.optimizer import learning_rate, make_optimizer, set_rate
from aiayn.training.preparation import Corpus, prepare
from aiayn.training.recipes import TrainingConfig
from aiayn.training.run import Run, restarted, stop_signals
from aiayn.training.workers import Workers, join_workers

LOG_STEPS = 50  # from one line of the metrics to the next


# book/05-training.ipynb, cell loss
def batch_loss(model: EncoderDecoder, batch: Batch, epsilon: float) -> tuple[Tensor, Tensor]:
    """Sum of the smoothed loss and of -log p over the words of a batch; padding is never projected."""
    batch = batch.to(next(model.parameters()).device)
    hidden = model.decode(batch.target, model.encode(batch.source), batch.source)
    words = batch.labels != PAD_ID
    return projected_loss(hidden[words], model.target_embeddings.weight, batch.labels[words], epsilon)


class Objective(nn.Module):
    """`batch_loss` of a model as a module of its own, which several workers can share."""

    def __init__(self, model: EncoderDecoder, epsilon: float) -> None:
        super().__init__()
        self.model, self.epsilon = model, epsilon

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Smoothed loss and -log p, summed over the words of a batch."""
        return batch_loss(self.model, batch, self.epsilon)


# book/05-training.ipynb, cell add-gradients
def add_gradients(
    objective: Objective | DistributedDataParallel,
    work: GlobalBatch,
    step: int,
    seed: int,
    workers: Workers,
    scaler: torch.amp.GradScaler,
) -> Tensor:
    """Gradients of a global batch, piece by piece; gives the sums of the loss and of -log p."""
    dtype, last = training_dtype(workers.device), len(work.micro_batches) - 1
    sums = torch.zeros(2, device=workers.device)
    for k, batch in enumerate(work.micro_batches):
        torch.manual_seed(((seed * 1_000_003 + step) << 12) + workers.rank + k * workers.world_size)
        waiting: AbstractContextManager[Any] = nullcontext()
        if isinstance(objective, DistributedDataParallel) and k < last:
            waiting = objective.no_sync()  # workers add up their gradients once a step, not once a piece
        with waiting:
            with torch.autocast(workers.device.type, dtype, enabled=dtype != torch.float32):
                loss, nll = objective(batch)
            mean = loss * (workers.world_size / work.words)  # workers' gradients are averaged
            scaler.scale(mean).backward()
        sums += torch.stack([loss.detach(), nll.detach()])
    return sums


# book/05-training.ipynb, cell training-step
class NotFinite(InputError):
    """The loss or the gradient is no number any more."""


def training_step(
    objective: Objective | DistributedDataParallel,
    optimizer: torch.optim.Optimizer,
    work: GlobalBatch,
    step: int,
    config: TrainingConfig,
    workers: Workers = Workers(),
    scaler: torch.amp.GradScaler | None = None,
    votes: Callable[[], dict[str, float]] = dict,
) -> dict[str, float]:
    """One step of Adam on a global batch; gives sums over its words, the rate, the norm of the gradient.

    `scaler` is `gradient_scaler`'s. What `votes` gives comes back summed over all workers: these wait
    for each other, and for a GPU, only once a step.

    Raises
    ------
    NotFinite
        If the loss or the gradient is no number; the weights are then as they were.
    """
    objective.train()
    scaler = gradient_scaler(torch.device("cpu")) if scaler is None else scaler
    sums = add_gradients(objective, work, step, config.seed, workers, scaler)
    if scaler.is_enabled():
        scaler.unscale_(optimizer)
    norm = nn.utils.get_total_norm([p.grad for p in objective.parameters() if p.grad is not None])
    mine = norm if workers.rank == 0 else 0 * norm  # all have the same; none may have lost it
    ballot = votes()
    loss, nll, length, *agreed = workers.total(*sums, mine, *ballot.values())
    if not math.isfinite(loss) or not (math.isfinite(length) or shrinks(scaler)):
        pairs = " ".join(map(str, (work.numbers[:8] + 1).tolist()))
        raise NotFinite(f"step {step}: the loss is {loss}, the gradient {length}, on the pairs {pairs} …")
    rate = learning_rate(step, config.model.d_model, config.warmup, config.rate_factor)
    set_rate(optimizer, rate)
    if math.isfinite(length):
        optimizer.step()
    if scaler.is_enabled():
        scaler.update(None if math.isfinite(length) else scaler.get_scale() / 2)
    optimizer.zero_grad()
    found = {"loss": loss, "nll": nll, "rate": rate, "gradient_norm": length}
    return {**found, **dict(zip(ballot, agreed, strict=True))}


# book/05-training.ipynb, cell gradient-scaler
def gradient_scaler(device: torch.device, state: dict[str, Any] | None = None) -> torch.amp.GradScaler:
    """A factor for the loss that keeps float16's small gradients above zero; else it does nothing."""
    scaler = torch.amp.GradScaler(device.type, enabled=training_dtype(device) == torch.float16)
    if scaler.is_enabled() and state:
        scaler.load_state_dict(state)
    return scaler


def shrinks(scaler: torch.amp.GradScaler) -> bool:
    """Whether a gradient that overflowed may be the factor's fault, which is then halved."""
    return scaler.is_enabled() and scaler.get_scale() > 1


# book/05-training.ipynb, cell validation-loss
def validation_batches(examples: Examples, lengths: Any, tokens: int) -> list[Batch]:
    """All examples in batches of so many tokens a side, short ones first."""
    return [make_batch([examples[i] for i in group.tolist()]) for group in group_by_length(lengths, tokens)]


@torch.no_grad()
def validation_loss(model: EncoderDecoder, batches: list[Batch], workers: Workers = Workers()) -> float:
    """Mean of -log p over all words, in nats, without dropout and smoothing; workers share the batches."""
    model.eval()
    mine = batches[workers.rank :: workers.world_size]
    losses = sum((batch_loss(model, batch, 0.0)[1].double() for batch in mine), torch.zeros(()).double())
    nll, words = workers.total(losses, sum(int((batch.labels != PAD_ID).sum()) for batch in mine))
    model.train()
    return nll / words


def validate(
    model: EncoderDecoder, valid: list[Batch], run: Run, workers: Workers, step: int, minutes: float
) -> None:
    """Measure the validation perplexity and write it down."""
    loss = validation_loss(model, valid, workers)
    run.metrics.log(step, minutes=minutes, validation_perplexity=math.exp(min(700, loss)))


# book/05-training.ipynb, cell upcoming
def upcoming(
    batches: Batches, first: int, last: int, device: torch.device
) -> Iterator[tuple[int, GlobalBatch]]:
    """The batches of some steps on the device, each made and copied while the one before it is used."""

    def ready(step: int) -> GlobalBatch:
        work = batches[step]
        return replace(work, micro_batches=[batch.to(device) for batch in work.micro_batches])

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ready, first)
        for step in range(first, last + 1):
            work, waiting = waiting.result(), pool.submit(ready, min(step + 1, last))
            yield step, work


def peak_of(workers: Workers) -> float:
    """Operations per second of all workers' hardware at its best; measured where no data sheet is known."""
    device = workers.device
    return workers.world_size * (
        peak_flops(device) or measured_peak(device, training_dtype(device), size=1024)
    )


def versions() -> dict[str, str]:
    """What a run was made with, for the record."""
    return {name: metadata.version(name) for name in ("aiayn", "torch", "sentencepiece")}


# book/05-training.ipynb, cell cast
def cast(
    config: TrainingConfig,
    workers: Workers,
    step: int,
    signals: list[int],
    meter: Meter,
    saved: float,
    end: float,
) -> dict[str, float]:
    """What this worker says at a step: somebody wants it to stop, time is up, a checkpoint is due.

    `saved` and `end` are minutes: when there was a checkpoint, and when the training has to end.
    """
    waited = meter.minutes - saved > config.checkpoint_minutes
    due = step % config.checkpoint_steps == 0 if config.checkpoint_steps else waited
    if config.sparse and step <= config.steps - config.keep * (config.checkpoint_steps or 0):
        due &= waited
    votes = workers.votes(bool(signals), meter.minutes > end, due)
    return dict(zip(("stopped", "out_of_time", "due"), votes, strict=True))


# book/05-training.ipynb, cell fit
def fit(
    config: TrainingConfig,
    model: EncoderDecoder,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    valid: list[Batch],
    run: Run,
    workers: Workers,
    minutes: float = math.inf,
) -> None:
    """Take the steps from where `run` stands up to `config.steps`, or as many as fit into `minutes`."""
    objective: Any = Objective(model, config.label_smoothing)
    objective = DistributedDataParallel(objective) if workers.world_size > 1 else objective
    scaler = gradient_scaler(workers.device, run.scaler)
    meter = Meter(run.minutes, peak_of(workers), run.sums)
    if workers.agree(run.step > 0 and run.due and run.step not in run.metrics.validations())[0]:
        validate(model, valid, run, workers, run.step, meter.minutes)  # it was killed between the two
        meter.pause()
    saved = began = meter.minutes
    bar = tqdm(total=config.steps, initial=run.step, unit="step", disable=workers.rank > 0)
    with bar, stop_signals() as signals:
        for step, work in upcoming(batches, run.step + 1, config.steps, workers.device):
            try:
                votes = partial(cast, config, workers, step, signals, meter, saved, began + minutes)
                found = training_step(objective, optimizer, work, step, config, workers, scaler, votes)
            except NotFinite as error:
                run.save(step - 1, meter.minutes, model, optimizer, False, scaler.state_dict(), meter.sums)
                raise NotFinite(f"{error}; step {step - 1} is saved; begin anew with a lower rate") from None
            meter.add(found, work, batch_flops(config.model, batches.lengths[work.numbers]))
            bar.update()
            stopped, out_of_time, due = (found[key] > 0 for key in ("stopped", "out_of_time", "due"))
            over = stopped or out_of_time or step == config.steps
            sums = dict(meter.sums) if step % LOG_STEPS else {}  # a run that goes on finishes its line
            if over or step % LOG_STEPS == 0:
                line = meter.line()
                run.metrics.log(step, **line, rate=found["rate"], gradient_norm=found["gradient_norm"])
                bar.set_postfix(perplexity=f"{line['perplexity']:.1f}")
            if over or due:
                run.save(step, meter.minutes, model, optimizer, due, scaler.state_dict(), sums)
                if not stopped:  # whoever sends a signal does not wait long
                    validate(model, valid, run, workers, step, meter.minutes)
                saved = meter.minutes
                meter.pause()
            if over or (due and workers.agree(stale(run.metrics.validations(), config.patience))[0]):
                break


# book/05-training.ipynb, cell prepared
def prepared(
    config: TrainingConfig, data: str, pair: str, drop_too_long: bool, run: Run, workers: Workers
) -> Corpus:
    """`prepare` for a run: with the vocabulary that it has, or that rank 0 has just put there."""
    path, known = run.folder / "vocabulary.model", None
    if run.last is not None:
        known = run.last / "vocabulary.model"
    elif not run.writes:
        known = path
    corpus = prepare(config, data, pair, drop_too_long, known, progress=run.writes)
    if run.writes:
        corpus.vocabulary.save(path)
    return corpus


def batches_of(config: TrainingConfig, corpus: Corpus, workers: Workers) -> tuple[Batches, list[Batch]]:
    """The batches to train on, of which each worker has its share, and those to validate on."""
    multiple = 8 if workers.device.type == "cuda" else 1  # tensor cores want widths of eight
    shared = (config.micro_batches or workers.world_size, workers.rank, workers.world_size, multiple)
    lengths = corpus.train.lengths
    batches = Batches(corpus.train, lengths, config.batch_tokens, config.seed, *shared)
    tokens = min(config.batch_tokens, 4096)
    return batches, validation_batches(corpus.valid, corpus.valid.lengths, tokens)


# book/05-training.ipynb, cell train
def train(
    config: TrainingConfig,
    data: str,
    pair: str,
    out: Path | str,
    minutes: float = math.inf,
    drop_too_long: bool = False,
    resume: bool = False,
    tensorboard: bool = False,
    compile: bool = False,
) -> None:
    """Train on the splits `train` and `val` of a corpus, and leave a `Run` in the folder `out` (section 5).

    Under torchrun, all workers call this with the same arguments, and `out` is a folder that all can see.

    Parameters
    ----------
    config, data, pair
        A `recipe`; corpus or folder, and languages, as for `aiayn.data.corpora.load_pairs`.
    out, minutes
        A new folder; when to stop, if `config.steps` have not been taken by then.
    drop_too_long, resume : bool
        Leave out pairs longer than `config.max_length`, else refused; go on with the run in `out`.
    tensorboard, compile : bool
        Write TensorBoard's files, too; have torch compile the layers: takes minutes, and pays on a GPU.
    """
    settings = {key: value for key, value in asdict(config).items() if key != "model"}
    settings |= {"data": data, "pair": pair, "drop_too_long": drop_too_long, "versions": versions()}
    with (
        join_workers() as workers,
        fast_products(workers.device, config.model.d_model),
        Run(Path(out), resume or restarted(Path(out)), tensorboard, workers.rank == 0) as run,
    ):
        check_shares(config.micro_batches or workers.world_size, workers.world_size)  # before hours of work
        corpus = workers.in_turn(lambda: prepared(config, data, pair, drop_too_long, run, workers))
        workers.connect()
        torch.manual_seed(config.seed)
        model = build(config.model).to(workers.device)
        optimizer = make_optimizer(model)
        run.begin(model, optimizer, corpus.vocabulary, settings | {"corpus": corpus.train.folder.name})
        for layer in model.layers() if compile else ():
            layer.compile(dynamic=True)  # one program for all layers and all lengths
        patient = run.step == 0 or not stale(run.metrics.validations(), config.patience)
        if workers.agree(patient)[0]:  # or else it had ended already
            fit(config, model, optimizer, *batches_of(config, corpus, workers), run, workers, minutes)
