"""Training (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-training.ipynb
"""

__all__ = [
    "LOG_STEPS",
    "TrainingConfig",
    "RECIPES",
    "recipe",
    "batch_loss",
    "validation_loss",
    "training_step",
    "summary",
    "Run",
    "prepare",
    "fit",
    "train",
]


# book/05-training.ipynb, cell imports
import json
import math
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from aiayn.batching import Batch, Example, encode_pairs, endless_batches, group_by_length, make_batch
from aiayn.checkpoint import list_checkpoints, save_checkpoint
from aiayn.data import InputError, load_pairs
from aiayn.model import Transformer, TransformerConfig, config
from aiayn.optimizer import learning_rate, make_optimizer, set_rate
from aiayn.regularization import label_smoothed_loss
from aiayn.vocabulary import PAD_ID, Vocabulary, train_vocabulary

LOG_STEPS = 50


# book/05-training.ipynb, cell training-config
@dataclass(frozen=True)
class TrainingConfig:
    """All that fixes a run but its data. The defaults are the paper's base run (section 5).

    `batch_tokens` bounds either side of a batch, padding counted. `warmup` and `rate_factor` belong to
    `aiayn.optimizer.learning_rate`. `label_smoothing` is the share of a label that is spread over the
    vocabulary. Sentences of more than `max_length` tokens are refused. A checkpoint is written every
    `checkpoint_minutes`, or every `checkpoint_steps` if they are given; the last `average` of them are
    averaged for translating (section 6.1). `seed` is that of the initial weights, of the order of batches,
    and of dropout.
    """

    model: TransformerConfig = TransformerConfig()
    steps: int = 100_000
    batch_tokens: int = 25_000
    warmup: int = 4000
    rate_factor: float = 1.0
    label_smoothing: float = 0.1
    max_length: int = 256
    checkpoint_minutes: float = 10.0
    checkpoint_steps: int | None = None
    average: int = 5
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "batch_tokens", "warmup", "max_length", "average", "checkpoint_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name}={value}: must be at least 1")


# book/05-training.ipynb, cell recipes
RECIPES = {
    "base": TrainingConfig(),
    "big": TrainingConfig(config("big"), steps=300_000, average=20),
    "small": TrainingConfig(
        config("small"), batch_tokens=2000, warmup=800, rate_factor=1.28, checkpoint_minutes=1.0
    ),
    "laboratory": TrainingConfig(
        config("laboratory"),
        steps=4400,
        batch_tokens=1000,
        warmup=400,
        checkpoint_steps=100,
    ),
}


def recipe(name: str, **changes: Any) -> TrainingConfig:
    """How the model of that name is trained, with `changes`.

    Raises
    ------
    InputError
        If there is no such configuration.
    """
    try:
        shape = config(name)
    except ValueError as error:
        raise InputError(str(error)) from None
    return replace(RECIPES.get(name, TrainingConfig(shape)), **changes)


# book/05-training.ipynb, cell loss
def batch_loss(model: Transformer, batch: Batch, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum of the smoothed loss and of -log p over the words of a batch; padding is never projected."""
    batch = batch.to(next(model.parameters()).device)
    hidden = model.decode(batch.target, model.encode(batch.source), batch.source)
    words = batch.labels != PAD_ID
    return label_smoothed_loss(model.logits(hidden[words]), batch.labels[words], epsilon)


@torch.no_grad()
def validation_loss(model: Transformer, batches: list[Batch]) -> float:
    """Mean of -log p over all words, in nats, without dropout and without smoothing."""
    model.eval()
    total = sum(float(batch_loss(model, batch, 0.0)[1]) for batch in batches)
    model.train()
    return total / sum(int((batch.labels != PAD_ID).sum()) for batch in batches)


# book/05-training.ipynb, cell training-step
def training_step(
    model: Transformer, optimizer: torch.optim.Optimizer, batch: Batch, step: int, config: TrainingConfig
) -> dict[str, float]:
    """Forward, backward, one step of Adam; the sums over the batch's words that this showed."""
    torch.manual_seed(config.seed * 1_000_003 + step)  # dropout depends on the step, not on what came before
    model.train()
    kind = next(model.parameters()).device.type
    with torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
        loss, nll = batch_loss(model, batch, config.label_smoothing)
    words = int((batch.labels != PAD_ID).sum())
    if not math.isfinite(loss.item()):
        raise InputError(f"step {step}: the loss is {loss.item()}; lower rate_factor or raise warmup")
    (loss / words).backward()
    set_rate(optimizer, learning_rate(step, config.model.d_model, config.warmup, config.rate_factor))
    optimizer.step()
    optimizer.zero_grad()
    return {"loss": loss.item(), "nll": nll.item(), "words": words, "tokens": batch.tokens}


# book/05-training.ipynb, cell summary
def summary(sums: list[dict[str, float]], seconds: float) -> dict[str, float]:
    """Several steps in one line: loss and true perplexity per word, tokens per second (both sides)."""
    total = {key: sum(step[key] for step in sums) for key in sums[0]}
    return {
        "loss": total["loss"] / total["words"],
        "perplexity": math.exp(total["nll"] / total["words"]),
        "tokens_per_second": total["tokens"] / seconds,
    }


# book/05-training.ipynb, cell run
class Run:
    """A folder that a training leaves behind: `metrics.jsonl` and `checkpoints/`.

    An `InputError` says that the folder holds a run already, or cannot be written to.
    """

    def __init__(self, folder: Path, **training: Any) -> None:
        self.folder, self.training = folder, training
        self.metrics = folder / "metrics.jsonl"
        if self.metrics.exists():
            raise InputError(f"{folder}: holds a run already; choose another --out, or remove it")
        try:  # before hours of work, not after them
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise InputError(f"{folder}: cannot be written to ({error}); choose another --out") from None

    def log(self, **record: int | float) -> None:
        """Add a line to the metrics."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps({key: round(value, 5) for key, value in record.items()}) + "\n")

    def save(self, step: int, model: Transformer, vocabulary: Vocabulary) -> None:
        """Write a checkpoint; the last that are averaged are kept, and one more."""
        folder = self.folder / "checkpoints" / f"step-{step:07d}"
        save_checkpoint(folder, model, vocabulary, {"step": step, **self.training})
        for old in list_checkpoints(self.folder)[: -(self.training["average"] + 1)]:
            shutil.rmtree(old)


# book/05-training.ipynb, cell prepare
def prepare(
    config: TrainingConfig, data: str, pair: str, drop_too_long: bool
) -> tuple[Vocabulary, list[Example], list[Batch]]:
    """Vocabulary, training examples and validation batches of a corpus."""
    pairs, valid = load_pairs(data, pair, "train"), load_pairs(data, pair, "val")
    vocabulary = train_vocabulary(pairs.source + pairs.target, config.model.vocabulary_size)
    examples = encode_pairs(vocabulary, pairs, config.max_length, drop_too_long)
    held_out = encode_pairs(vocabulary, valid, config.max_length, drop_too_long)
    groups = group_by_length(held_out, config.batch_tokens)
    return vocabulary, examples, [make_batch([held_out[i] for i in group]) for group in groups]


# book/05-training.ipynb, cell fit
def fit(
    config: TrainingConfig,
    model: Transformer,
    vocabulary: Vocabulary,
    batches: Iterator[Batch],
    valid: list[Batch],
    run: Run,
    minutes: float,
) -> None:
    """Take `config.steps` steps, or as many as fit into `minutes`; log, validate and save on the way."""
    optimizer, recent = make_optimizer(model), list[dict[str, float]]()
    began, logged, saved = time.monotonic(), 0.0, 0.0
    with tqdm(total=config.steps, unit="step") as bar:
        for step in range(1, config.steps + 1):
            recent.append(training_step(model, optimizer, next(batches), step, config))
            now = (time.monotonic() - began) / 60
            over = step == config.steps or now > minutes
            if over or step % LOG_STEPS == 0:
                line = summary(recent, 60 * (now - logged))
                run.log(step=step, minutes=now, **line)
                bar.set_postfix(perplexity=f"{line['perplexity']:.1f}", minutes=f"{now:.1f}")
                bar.update(step - bar.n)
                recent, logged = [], now
            due = now - saved > config.checkpoint_minutes
            if config.checkpoint_steps:
                due = step % config.checkpoint_steps == 0
            if over or due:
                run.save(step, model, vocabulary)
                run.log(step=step, minutes=now, validation_perplexity=math.exp(validation_loss(model, valid)))
                saved = (time.monotonic() - began) / 60
                logged += saved - now  # training stood still meanwhile
            if over:
                break


# book/05-training.ipynb, cell train
def train(
    config: TrainingConfig,
    data: str,
    pair: str,
    out: Path,
    minutes: float = math.inf,
    drop_too_long: bool = False,
) -> None:
    """Train on the splits `train` and `val` of a corpus, and leave a `Run` in the folder `out` (section 5).

    It ends after `config.steps`, or after so many `minutes`; `drop_too_long` leaves out pairs longer than
    `config.max_length`, which are refused otherwise.
    """
    settings = {key: value for key, value in asdict(config).items() if key != "model"}
    vocabulary, examples, valid = prepare(config, data, pair, drop_too_long)
    run = Run(out, data=data, pair=pair, **settings)  # not before the data is known to be good
    torch.manual_seed(config.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Transformer(config.model).to(device)
    batches = endless_batches(examples, config.batch_tokens, config.seed)
    fit(config, model, vocabulary, batches, valid, run, minutes)
