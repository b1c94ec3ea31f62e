"""One training step with mixed precision, and the validation loss.

From "Training" (paper, section 5):
https://github.com/OWNER/aiayn/blob/main/book/05-training.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/05-training.ipynb, cell step-imports
import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from aiayn.data.batching import Batch, GlobalBatch
from aiayn.data.vocabulary import PAD_ID
from aiayn.errors import InputError
from aiayn.model.base import EncoderDecoder
from aiayn.training.loss import projected_loss
from aiayn.training.optimizer import set_rate
from aiayn.training.recipes import TrainingConfig
from aiayn.training.workers import Workers


# book/05-training.ipynb, cell loss
def batch_loss(
    model: EncoderDecoder, batch: Batch, epsilon: float
) -> tuple[Tensor, Tensor]:
    """Sums of the smoothed loss and -log p over a batch; padding is not projected."""
    hidden = model.decode(batch.target, model.encode(batch.source), batch.source)
    words = batch.labels != PAD_ID
    return projected_loss(
        hidden[words], model.target_embeddings.weight, batch.labels[words], epsilon
    )


class Objective(nn.Module):
    """`batch_loss` of a model as a module, which several workers can share."""

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
    config: TrainingConfig,
    workers: Workers,
    scaler: torch.amp.GradScaler,
    dtype: torch.dtype,
) -> Tensor:
    """Gradients of a global batch, piece by piece; gives summed loss and -log p."""
    mixed, last = dtype != torch.float32, len(work.micro_batches) - 1
    sums = torch.zeros(2, device=workers.device)
    for k, batch in enumerate(work.micro_batches):
        # Each piece has its own dropout, whoever computes it, whatever came before.
        piece = workers.rank + k * workers.world_size
        torch.manual_seed(((config.seed * 1_000_003 + step) << 12) + piece)
        alone = (
            objective.no_sync
            if isinstance(objective, DistributedDataParallel) and k < last
            else nullcontext
        )
        with alone():  # workers add up their gradients once a step, not once a piece
            with torch.autocast(workers.device.type, dtype, enabled=mixed):
                loss, nll = objective(batch)
            # Gradients of workers are averaged, so each loss is scaled up before.
            mean = loss * (workers.world_size / work.words)
            scaler.scale(mean).backward()
        sums += torch.stack([loss.detach(), nll.detach()])
    return sums


# book/05-training.ipynb, cell gradient-scaler
def gradient_scaler(
    device: torch.device, dtype: torch.dtype, state: dict[str, Any] | None = None
) -> torch.amp.GradScaler:
    """A factor for the loss that keeps float16's small gradients above zero; else 1."""
    scaler = torch.amp.GradScaler(device.type, enabled=dtype == torch.float16)
    if state:
        scaler.load_state_dict(state)
    return scaler


UNSCALED = torch.amp.GradScaler("cpu", enabled=False)  # its factor is 1


class NotFinite(InputError):
    """The loss or the gradient is not finite."""


# book/05-training.ipynb, cell training-step
def training_step(
    objective: Objective | DistributedDataParallel,
    optimizer: torch.optim.Optimizer,
    work: GlobalBatch,
    step: int,
    config: TrainingConfig,
    workers: Workers = Workers(),
    scaler: torch.amp.GradScaler = UNSCALED,
    votes: Callable[[], dict[str, float]] = dict,
    dtype: torch.dtype = torch.float32,
) -> dict[str, float]:
    """One step of Adam on a global batch; gives summed losses, rate, gradient norm.

    `scaler` is `gradient_scaler`'s, `dtype` that of products. What `votes` gives comes
    back summed over all workers, which wait for each other, and for a GPU, only then.

    Raises
    ------
    NotFinite
        If the loss or the gradient is not finite; the weights are then as they were.
    """
    objective.train()
    sums = add_gradients(objective, work, step, config, workers, scaler, dtype)
    scaler.unscale_(optimizer)
    gradients = [p.grad for p in objective.parameters() if p.grad is not None]
    norm = nn.utils.get_total_norm(gradients)
    # All have the same norm; 0 times one that is not finite is not finite either.
    mine = norm if workers.rank == 0 else 0 * norm
    ballot = votes()
    loss, nll, length, *agreed = workers.total(*sums, mine, *ballot.values())
    finite = math.isfinite(length)
    # A large factor can be halved.
    if not math.isfinite(loss) or not (finite or scaler.get_scale() > 1):
        pairs = " ".join(map(str, (work.numbers[:8] + 1).tolist()))
        raise NotFinite(
            f"step {step}: the loss is {loss}, the gradient {length},"
            f" on the pairs {pairs} …"
        )
    set_rate(optimizer, rate := config.rate(step))
    if finite:
        optimizer.step()
    scaler.update(None if finite else scaler.get_scale() / 2)
    optimizer.zero_grad()
    found = {"loss": loss, "nll": nll, "rate": rate, "gradient_norm": length}
    return {**found, **dict(zip(ballot, agreed, strict=True))}


# book/05-training.ipynb, cell validation-loss
@torch.no_grad()
def validation_loss(
    model: EncoderDecoder,
    batches: list[Batch],
    workers: Workers = Workers(),
    dtype: torch.dtype = torch.float32,
) -> float:
    """Mean of -log p over all words, in nats, without dropout and smoothing.

    Workers share the batches; `dtype` is what the training multiplies in.
    """
    model.eval()
    mine, mixed = batches[workers.rank :: workers.world_size], dtype != torch.float32
    with torch.autocast(workers.device.type, dtype, enabled=mixed):
        losses = [batch_loss(model, batch, 0.0)[1] for batch in mine]
    counts = sum((batch.labels != PAD_ID).sum() for batch in mine)
    # Not every device has float64, but the host has: one copy, and exact sums there.
    own = math.fsum(torch.stack(losses).tolist()) if losses else 0.0
    nll, words = workers.total(own, counts)
    model.train()
    return nll / words
