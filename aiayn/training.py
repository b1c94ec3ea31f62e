"""Training (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-training.ipynb
"""

__all__ = [
    "LOG_STEPS",
    "batch_loss",
    "Objective",
    "NotFinite",
    "training_step",
    "Corpus",
    "learn_vocabulary",
    "prepare",
    "validation_loss",
    "validate",
    "upcoming",
    "peak_of",
    "versions",
    "fit",
    "train",
]


# book/05-training.ipynb, cell imports
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from aiayn.architectures import build
from aiayn.batching import (
    Batch,
    Batches,
    GlobalBatch,
    check_shares,
    encode_pairs,
    group_by_length,
    lengths_of,
    make_batch,
)
from aiayn.data import InputError, Pairs, load_pairs
from aiayn.distribution import Workers, join_workers
from aiayn.encoder_decoder import EncoderDecoder
from aiayn.encoding import Encoded, encode_corpus
from aiayn.fast_paths import fast_products
from aiayn.hardware import batch_flops, measured_peak, peak_flops
from aiayn.metrics import Meter, stale
from aiayn.optimizer import learning_rate, make_optimizer, set_rate
from aiayn.recipes import TrainingConfig
from aiayn.regularization import projected_loss
from aiayn.run import Run, restarted, stop_signals
from aiayn.trees import tree_tokens
from aiayn.vocabulary import PAD_ID, Vocabulary, load_vocabulary, train_vocabulary

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
) -> dict[str, float]:
    """One step of Adam on a global batch; gives sums over its words, the rate, the norm of the gradient.

    Raises
    ------
    NotFinite
        If the loss or the gradient is no number; the weights are then as they were.
    """
    objective.train()
    sums = torch.zeros(2, device=workers.device)
    for k, batch in enumerate(work.micro_batches):
        torch.manual_seed(((config.seed * 1_000_003 + step) << 12) + workers.rank + k * workers.world_size)
        waiting: AbstractContextManager[Any] = nullcontext()
        if isinstance(objective, DistributedDataParallel) and k < len(work.micro_batches) - 1:
            waiting = objective.no_sync()  # workers add up their gradients once a step, not once a piece
        with waiting:
            with torch.autocast(workers.device.type, torch.bfloat16, enabled=workers.device.type == "cuda"):
                loss, nll = objective(batch)
            (loss * (workers.world_size / work.words)).backward()  # workers' gradients are averaged
        sums += torch.stack([loss.detach(), nll.detach()])
    loss, nll = workers.total(*sums)
    norm = float(nn.utils.get_total_norm([p.grad for p in objective.parameters() if p.grad is not None]))
    if not math.isfinite(loss) or not math.isfinite(norm):
        pairs = " ".join(map(str, (work.numbers[:8] + 1).tolist()))
        raise NotFinite(f"step {step}: the loss is {loss}, the gradient {norm}, on the pairs {pairs} …")
    rate = learning_rate(step, config.model.d_model, config.warmup, config.rate_factor)
    set_rate(optimizer, rate)
    optimizer.step()
    optimizer.zero_grad()
    return {"loss": loss, "nll": nll, "rate": rate, "gradient_norm": norm}


# book/05-training.ipynb, cell corpus
@dataclass(frozen=True)
class Corpus:
    """What a model is trained on: tokens, and the vocabulary that they are numbers of."""

    vocabulary: Vocabulary  # of both languages together
    train: Encoded  # the split `train`
    valid: list[Batch]  # the split `val`, in batches


def learn_vocabulary(
    pairs: Pairs, trees: bool, size: int, path: Path, keep: bool, workers: Workers
) -> Vocabulary:
    """The vocabulary at `path`; unless it is to be kept, rank 0 learns it while the others wait."""
    if workers.rank == 0 and not (keep and path.exists()):
        if trees:  # on the target side there are no words
            vocabulary = train_vocabulary(pairs.source, size, tree_tokens(pairs.target, pairs.target_name))
        else:
            vocabulary = train_vocabulary(chain(pairs.source, pairs.target), size)
        vocabulary.save(path)
    workers.total(0)
    return load_vocabulary(path)


def prepare(
    config: TrainingConfig, data: str, pair: str, run: Run, drop_too_long: bool, workers: Workers
) -> Corpus:
    """Read a corpus, learn its vocabulary, and encode it."""
    check_shares(config.micro_batches or workers.world_size, workers.world_size)  # before hours of work
    path, keep = run.folder / "vocabulary.model", run.last is not None
    pairs, held_out = load_pairs(data, pair, "train"), load_pairs(data, pair, "val")
    trees = pair.endswith("-trees")
    vocabulary = learn_vocabulary(pairs, trees, config.model.vocabulary_size, path, keep, workers)
    if len(vocabulary) != config.model.vocabulary_size:
        raise InputError(
            f"{path}: {len(vocabulary)} pieces, not {config.model.vocabulary_size}; "
            "choose another --out, or remove it"
        )
    longest = min(config.max_length, config.model.longest or config.max_length)
    train = encode_corpus(vocabulary, pairs, longest, drop_too_long, progress=workers.rank == 0)
    valid = encode_pairs(vocabulary, held_out, longest, drop_too_long)
    groups = group_by_length(lengths_of(valid), min(config.batch_tokens, 4096))
    return Corpus(vocabulary, train, [make_batch([valid[i] for i in group.tolist()]) for group in groups])


# book/05-training.ipynb, cell validation-loss
@torch.no_grad()
def validation_loss(model: EncoderDecoder, batches: list[Batch], workers: Workers = Workers()) -> float:
    """Mean of -log p over all words, in nats, without dropout and smoothing; workers share the batches."""
    model.eval()
    mine = batches[workers.rank :: workers.world_size]
    losses = sum(float(batch_loss(model, batch, 0.0)[1]) for batch in mine)
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
def upcoming(batches: Batches, first: int, last: int) -> Iterator[tuple[int, GlobalBatch]]:
    """The batches of some steps, each made while the one before it is used."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(batches.__getitem__, first)
        for step in range(first, last + 1):
            ready, waiting = waiting.result(), pool.submit(batches.__getitem__, min(step + 1, last))
            yield step, ready


def peak_of(workers: Workers) -> float:
    """Operations per second of all workers' hardware at its best; measured where no data sheet is known."""
    return workers.world_size * (peak_flops(workers.device) or measured_peak(workers.device.type, size=1024))


def versions() -> dict[str, str]:
    """What a run was made with, for the record."""
    return {name: metadata.version(name) for name in ("aiayn", "torch", "sentencepiece")}


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
    meter = Meter(run.minutes, peak_of(workers))
    if workers.agree(run.step > 0 and run.step not in run.metrics.validations())[0]:
        validate(model, valid, run, workers, run.step, meter.minutes)  # it was killed between the two
        meter.pause()
    saved = began = meter.minutes
    bar = tqdm(total=config.steps, initial=run.step, unit="step", disable=workers.rank > 0)
    with bar, stop_signals() as signals:
        for step, work in upcoming(batches, run.step + 1, config.steps):
            try:
                found = training_step(objective, optimizer, work, step, config, workers)
            except NotFinite as error:
                run.save(step - 1, meter.minutes, model, optimizer)
                raise NotFinite(f"{error}; step {step - 1} is saved; begin anew with a lower rate") from None
            meter.add(found, work, batch_flops(config.model, batches.lengths[work.numbers]))
            bar.update()
            waited = meter.minutes - saved > config.checkpoint_minutes
            due = step % config.checkpoint_steps == 0 if config.checkpoint_steps else waited
            out_of_time = meter.minutes - began > minutes
            stopped, over, due = workers.agree(bool(signals), out_of_time, due)
            over |= stopped or step == config.steps
            if over or step % LOG_STEPS == 0:
                line = meter.line()
                run.metrics.log(step, **line, rate=found["rate"], gradient_norm=found["gradient_norm"])
                bar.set_postfix(perplexity=f"{line['perplexity']:.1f}")
            if over or due:
                run.save(step, meter.minutes, model, optimizer)
                if not stopped:  # whoever sends a signal does not wait long
                    validate(model, valid, run, workers, step, meter.minutes)
                saved = meter.minutes
                meter.pause()
            if over or (due and workers.agree(stale(run.metrics.validations(), config.patience))[0]):
                break


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

    Under torchrun, all workers call this with the same arguments, and `out` is a folder that all can see. An
    InputError says if the corpus, the folder or a number is at fault.

    Parameters
    ----------
    config, data, pair
        A `recipe`; corpus or folder, and languages, as for `aiayn.data.load_pairs`.
    out, minutes
        A new folder; when to stop, if `config.steps` have not been taken by then.
    drop_too_long, resume : bool
        Leave out pairs longer than `config.max_length`, else refused; go on with the run in `out`.
    tensorboard, compile : bool
        Write TensorBoard's files, too; have torch compile the layers: takes minutes, and pays on a GPU.
    """
    settings = {key: value for key, value in asdict(config).items() if key != "model"}
    settings |= {"data": data, "pair": pair, "drop_too_long": drop_too_long, "versions": versions()}
    with join_workers() as workers, fast_products(workers.device, config.model.d_model):
        run = Run(Path(out), resume or restarted(Path(out)), tensorboard, writes=workers.rank == 0)
        corpus = prepare(config, data, pair, run, drop_too_long, workers)
        torch.manual_seed(config.seed)
        model = build(config.model).to(workers.device)
        optimizer = make_optimizer(model)
        run.begin(model, optimizer, corpus.vocabulary, settings | {"corpus": corpus.train.folder.name})
        for layer in model.layers() if compile else ():
            layer.compile(dynamic=True)  # one program for all layers and all lengths
        pieces = config.micro_batches or workers.world_size
        multiple = 8 if workers.device.type == "cuda" else 1  # tensor cores want widths of eight
        shared = (pieces, workers.rank, workers.world_size, multiple)
        batches = Batches(corpus.train, corpus.train.lengths, config.batch_tokens, config.seed, *shared)
        patient = run.step == 0 or not stale(run.metrics.validations(), config.patience)
        if workers.agree(patient)[0]:  # or else it had ended already
            fit(config, model, optimizer, batches, corpus.valid, run, workers, minutes)
