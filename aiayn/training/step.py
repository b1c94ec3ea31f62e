# Made by `make export` from book/1-paper/5-0-training.ipynb
"""One training step with mixed precision, and the validation loss."""

# book/1-paper/5-0-training.ipynb, cell step-imports
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
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.training.distributed import Workers
from aiayn.training.loss import projected_loss
from aiayn.training.optimizer import set_rate
from aiayn.training.recipes import TrainingConfig


# book/1-paper/5-0-training.ipynb, cell loss
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


# book/1-paper/5-0-training.ipynb, cell add-gradients
def accumulate_gradients(
    objective: Objective | DistributedDataParallel,
    global_batch: GlobalBatch,
    step: int,
    config: TrainingConfig,
    workers: Workers,
    scaler: torch.amp.GradScaler,
    dtype: torch.dtype,
) -> Tensor:
    """Gradients summed over micro-batches; gives summed loss and -log p."""
    mixed, last = dtype != torch.float32, len(global_batch.micro_batches) - 1
    sums = torch.zeros(2, device=workers.device)
    for k, batch in enumerate(global_batch.micro_batches):
        # Each has its own dropout, whoever computes it, whatever came before.
        number = workers.rank + k * workers.world_size
        torch.manual_seed(((config.seed * 1_000_003 + step) << 12) + number)
        synchronization = (
            objective.no_sync
            if isinstance(objective, DistributedDataParallel) and k < last
            else nullcontext
        )
        with synchronization():  # gradients are exchanged once a step
            with torch.autocast(workers.device.type, dtype, enabled=mixed):
                loss, nll = objective(batch)
            # Gradients of workers are averaged, so each loss is scaled up before.
            mean = loss * (workers.world_size / global_batch.target_tokens)
            scaler.scale(mean).backward()
        sums += torch.stack([loss.detach(), nll.detach()])
    return sums


# book/1-paper/5-0-training.ipynb, cell gradient-scaler
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


# book/1-paper/5-0-training.ipynb, cell training-step
def training_step(
    objective: Objective | DistributedDataParallel,
    optimizer: torch.optim.Optimizer,
    global_batch: GlobalBatch,
    step: int,
    config: TrainingConfig,
    workers: Workers = Workers(),
    scaler: torch.amp.GradScaler = UNSCALED,
    stop_flags: Callable[[], dict[str, float]] = dict,
    dtype: torch.dtype = torch.float32,
) -> dict[str, float]:
    """One step of Adam on a global batch; gives summed losses, rate, gradient norm.

    `scaler` is `gradient_scaler`'s, `dtype` that of products. Flags of `stop_flags`
    come back summed over all workers; only here do they wait for each other or for
    a GPU. If the loss or the gradient is not finite, the weights stay as they were, and
    `NotFinite` is raised.
    """
    objective.train()
    sums = accumulate_gradients(
        objective, global_batch, step, config, workers, scaler, dtype
    )
    scaler.unscale_(optimizer)
    gradients = [p.grad for p in objective.parameters() if p.grad is not None]
    norm = nn.utils.get_total_norm(gradients)
    # All have the same norm; 0 times one that is not finite is not finite either.
    own_norm = norm if workers.rank == 0 else 0 * norm
    flags = stop_flags()
    loss, nll, gradient_norm, *summed_flags = workers.all_reduce(
        *sums, own_norm, *flags.values()
    )
    finite = math.isfinite(gradient_norm)
    # A large factor can be halved.
    if not math.isfinite(loss) or not (finite or scaler.get_scale() > 1):
        found = f"the loss is {loss}, the gradient {gradient_norm}"
        pairs = " ".join(map(str, (global_batch.indices[:8] + 1).tolist()))
        raise NotFinite(f"step {step}: {found}, on the pairs {pairs} …")
    set_rate(optimizer, rate := config.rate(step))
    if finite:
        optimizer.step()
    scaler.update(None if finite else scaler.get_scale() / 2)
    optimizer.zero_grad()
    results = {"loss": loss, "nll": nll, "rate": rate, "gradient_norm": gradient_norm}
    return {**results, **dict(zip(flags, summed_flags, strict=True))}


# book/1-paper/5-0-training.ipynb, cell validation-loss
@torch.no_grad()
def validation_loss(
    model: EncoderDecoder,
    batches: list[Batch],
    workers: Workers = Workers(),
    dtype: torch.dtype = torch.float32,
) -> float:
    """Mean of -log p over all words, in nats, without dropout or smoothing.

    Workers share the batches; `dtype` is what the training multiplies in.
    """
    model.eval()
    own_batches = batches[workers.rank :: workers.world_size]
    mixed = dtype != torch.float32
    with torch.autocast(workers.device.type, dtype, enabled=mixed):
        losses = [batch_loss(model, batch, 0.0)[1] for batch in own_batches]
    counts = sum((batch.labels != PAD_ID).sum() for batch in own_batches)
    # Not every device has float64, but the host has: one copy, and exact sums there.
    own_nll = math.fsum(torch.stack(losses).tolist()) if losses else 0.0
    nll, target_tokens = workers.all_reduce(own_nll, counts)
    model.train()
    return nll / target_tokens
