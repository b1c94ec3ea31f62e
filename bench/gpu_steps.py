"""Time training steps beside other programs: part (b) of bench/gpu.py.

The pairs are random tokens with lengths like those of WMT. Every program takes steps on
the same batches, in turn, in the type that training uses on the device, with the same
optimizer; a ratio is that of the medians.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
import training
from torch import nn

from aiayn.complexity.flops import (
    PAPER_RUNS,
    batch_flops,
    measured_peak,
    peak_flops,
)
from aiayn.data import make_batch
from aiayn.data.batching import GlobalBatch
from aiayn.device import training_dtype
from aiayn.model import Transformer, TransformerConfig
from aiayn.training import TrainingConfig
from aiayn.training.distributed import Workers
from aiayn.training.optimizer import make_optimizer
from aiayn.training.step import Objective, gradient_scaler, training_step

MEAN_LENGTH, SPREAD = 27, 0.6
Pairs = list[tuple[list[int], list[int]]]
LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "cudaLaunchKernelExC")
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")


@dataclass
class Sizes:
    """How much is measured."""

    shapes: dict[str, TransformerConfig]
    tokens: int = 25_000  # of a step, on either side, at most
    steps: int = 12  # of a round
    rounds: int = 3
    product: int = 8192  # rows and columns of the product that says what can be reached


def random_pairs(
    tokens: int, vocabulary_size: int, rng: np.random.Generator
) -> list[tuple[list[int], list[int]]]:
    """A batch of pairs of similar length, at most `tokens` on either side, padding
    counted.

    Sentence lengths are log-normal; a batch of long sentences holds fewer of them, so
    that batches meet each length as often as tokens do.
    """
    middle = math.log(MEAN_LENGTH) + SPREAD**2 / 2
    longest = int(np.clip(rng.lognormal(middle, SPREAD), 4, 200))
    lengths = rng.integers(
        math.ceil(0.9 * longest), longest + 1, (max(1, tokens // longest), 2)
    )
    return [
        (
            rng.integers(4, vocabulary_size, n).tolist(),
            rng.integers(4, vocabulary_size, m).tolist(),
        )
        for n, m in lengths
    ]


def lengths_of(pairs: Pairs) -> np.ndarray:
    """Tokens of source and target of each pair."""
    return np.array([[len(source), len(target)] for source, target in pairs])


def global_batch(pairs: Pairs, micro_batches: int, device: torch.device) -> GlobalBatch:
    """Pairs as a worker that is alone gets them, in so many micro-batches."""
    batches = [
        make_batch(pairs[i::micro_batches], multiple=8).to(device)
        for i in range(micro_batches)
    ]
    lengths = lengths_of(pairs)
    positions = sum(each.source.numel() + each.target.numel() for each in batches)
    words, both = int(lengths[:, 1].sum()), int(lengths.sum())
    return GlobalBatch(batches, words, both, positions, np.arange(len(pairs)), lengths)


def our_step(
    shape: TransformerConfig, device: torch.device, compiled: bool
) -> Callable[[GlobalBatch], object]:
    """The package's own training step."""
    config, model = TrainingConfig(shape), Transformer(shape).to(device)
    for layer in model.layers() if compiled else ():
        layer.compile(dynamic=True)
    objective, optimizer = Objective(model, 0.1), make_optimizer(model)
    workers, dtype = Workers(device=device), training_dtype(device)
    scaler = gradient_scaler(device, dtype)
    return lambda work: training_step(
        objective, optimizer, work, 1, config, workers, scaler, dtype=dtype
    )


def peer_step(
    model: nn.Module, logits_of: Callable[..., torch.Tensor], device: torch.device
) -> Callable[[GlobalBatch], object]:
    """A step of another program's model, with autocast and our optimizer."""
    model = model.to(device).train()
    optimizer, dtype = make_optimizer(model), training_dtype(device)

    def step(work: GlobalBatch) -> None:
        (batch,) = work.micro_batches
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            loss = training.smoothed(logits_of(batch), batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def programs(
    shape: TransformerConfig, device: torch.device
) -> dict[str, Callable[[], Callable[[GlobalBatch], object]]]:
    """What is measured, by name; each is built when it is called."""

    def torch_nn() -> Callable[[GlobalBatch], object]:
        model = training.TorchTransformer(shape)
        return peer_step(model, model, device)

    def marian() -> Callable[[GlobalBatch], object]:
        model = training.marian_model(shape)
        return peer_step(
            model, lambda batch: training.marian_logits(model, batch), device
        )

    found = {"aiayn": lambda: our_step(shape, device, False), "torch.nn": torch_nn}
    if find_spec("transformers"):
        found["marian"] = marian
    if device.type == "cuda":
        found["aiayn, compiled"] = lambda: our_step(shape, device, True)
    return found


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has done what it was told; a processor always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_of(
    step: Callable[[GlobalBatch], object],
    batches: Iterable[GlobalBatch],
    device: torch.device,
) -> float:
    """How long a step on each of the batches takes together."""
    synchronize(device)
    began = time.perf_counter()
    for batch in batches:
        step(batch)
    synchronize(device)
    return time.perf_counter() - began


def calls(
    step: Callable[[GlobalBatch], object], batch: GlobalBatch, device: torch.device
) -> dict[str, int]:
    """How often one step starts a kernel, and how often it waits for the GPU."""
    if device.type != "cuda":
        return {}
    activities = [
        torch.profiler.ProfilerActivity.CPU,
        torch.profiler.ProfilerActivity.CUDA,
    ]
    with torch.profiler.profile(activities=activities) as profile:
        step(batch)
    counts = {event.key: event.count for event in profile.key_averages()}
    return {
        "launches": sum(counts.get(name, 0) for name in LAUNCHES),
        "waits": sum(counts.get(name, 0) for name in WAITS),
    }


def race(
    name: str, sizes: Sizes, device: torch.device, deadline: float
) -> dict[str, Any]:
    """Step time, utilisation and memory of each program for one shape.

    The first round takes every batch once before it counts: a GPU loads its kernels and
    asks for its memory when it first meets a shape. A program that would begin after
    the `deadline` (of `time.monotonic`) is left out, and named.
    """
    shape, rng = sizes.shapes[name], np.random.default_rng(1)
    pairs = [
        random_pairs(sizes.tokens, shape.vocabulary_size, rng)
        for _ in range(sizes.steps)
    ]
    batches = [global_batch(each, 1, device) for each in pairs]
    lengths = [lengths_of(each) for each in pairs]
    flops = sum(batch_flops(shape, each) for each in lengths) / sizes.steps
    tokens = sum(int(each.sum()) for each in lengths) / sizes.steps
    dtype = training_dtype(device)
    peak, product = peak_flops(device), measured_peak(device, dtype, sizes.product)
    rows: dict[str, dict[str, Any]] = {}
    steps, skipped = {}, []
    for program, make in programs(shape, device).items():
        if time.monotonic() > deadline:
            skipped.append(program)
            continue
        torch.manual_seed(1)
        held = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        steps[program] = make()
        first = seconds_of(steps[program], batches, device)
        memory = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
        rows[program] = {"first_round_seconds": round(first, 2)}
        rows[program]["peak_memory_gb"] = round((memory - held) / 1e9, 2)
        rows[program] |= calls(steps[program], batches[0], device)
    took: dict[str, list[float]] = {program: [] for program in steps}
    for _ in range(sizes.rounds):
        for program, step in steps.items():
            took[program].append(seconds_of(step, batches, device) / sizes.steps)
    for program, row in rows.items():
        seconds = statistics.median(took[program])
        row |= {
            "seconds_per_step": round(seconds, 5),
            "tokens_per_second": round(tokens / seconds),
            "utilisation": round(flops / seconds / peak, 4) if peak else None,
            "share_of_a_large_product": round(flops / seconds / product, 4),
        }
    planned = next((run.steps for run in PAPER_RUNS if run.model == name), sizes.steps)
    return {
        "model": name,
        "precision": str(dtype).removeprefix("torch."),
        "tokens_a_step": round(tokens),
        "flops_a_step": flops,
        "large_product_flops": round(product / 1e9) * 1e9,
        "steps": planned,
        "hours": round(planned * rows["aiayn"]["seconds_per_step"] / 3600, 2),
        "rows": rows,
        "skipped": skipped,
    }
