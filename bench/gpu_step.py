"""Time a training step of base and big on this CUDA GPU; book/runs/gpu-step.json.

The pairs are random pieces with lengths like those of WMT; a step sees about 25,000
tokens a side.

python bench/gpu_step.py [--models base big] [--steps 50] [--parts 1] [--compile]
"""

import argparse
import json
import math
import time
from typing import Any

import numpy as np
import records
import torch

from aiayn.costs.hardware import (
    PAPER_RUNS,
    batch_flops,
    measured_peak,
    peak_flops,
    training_dtype,
)
from aiayn.data import make_batch
from aiayn.data.batching import GlobalBatch
from aiayn.model import Transformer, config
from aiayn.training import TrainingConfig
from aiayn.training.optimizer import make_optimizer
from aiayn.training.step import Objective, gradient_scaler, training_step
from aiayn.training.workers import Workers

TOKENS, MEAN_LENGTH, SPREAD = 25_000, 27, 0.6


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


def measure(
    model_name: str,
    device: torch.device,
    steps: int,
    parts: int,
    compiled: bool,
    tokens: int = TOKENS,
) -> dict[str, Any]:
    """Mean time of the package's own training step, each batch in so many parts.

    All batches are taken once before: a GPU loads its kernels and asks for its memory
    when it first meets a shape.
    """
    shape, rng = config(model_name), np.random.default_rng(1)
    settings, dtype = TrainingConfig(shape), training_dtype(device)
    torch.manual_seed(1)
    model = Transformer(shape).to(device)
    for layer in model.layers() if compiled else ():
        layer.compile(dynamic=True)
    objective, optimizer = (
        Objective(model, settings.label_smoothing),
        make_optimizer(model),
    )
    workers, scaler = Workers(device=device), gradient_scaler(device)

    batches = [random_pairs(tokens, shape.vocabulary_size, rng) for _ in range(steps)]
    lengths = [
        np.array([[len(source), len(target)] for source, target in batch])
        for batch in batches
    ]
    ready = [
        global_batch(*each, parts, device)
        for each in zip(batches, lengths, strict=True)
    ]
    for number, work in enumerate([*ready, *ready], start=1):
        if number == steps + 1:
            synchronize(device)
            began = time.perf_counter()
        training_step(objective, optimizer, work, number, settings, workers, scaler)
    synchronize(device)
    seconds = (time.perf_counter() - began) / steps

    flops = sum(batch_flops(shape, sizes) for sizes in lengths) / steps
    peak, product = (
        peak_flops(device),
        measured_peak(device, dtype, 8192 if device.type == "cuda" else 512),
    )
    planned = next((run.steps for run in PAPER_RUNS if run.model == model_name), steps)
    memory = (
        torch.cuda.max_memory_allocated(device) / 1e9 if device.type == "cuda" else 0.0
    )
    return {
        "model": model_name,
        "precision": str(dtype).removeprefix("torch."),
        "parts": parts,
        "compiled": compiled,
        "seconds_per_step": round(seconds, 5),
        "tokens_per_second": round(
            sum(sizes.sum() for sizes in lengths) / steps / seconds
        ),
        "flops_per_step": flops,
        "utilisation": round(flops / seconds / peak, 4) if peak else None,
        "share_of_a_large_product": round(flops / seconds / product, 4),
        "peak_memory_gb": round(memory, 2),
        "steps": planned,
        "hours": round(planned * seconds / 3600, 2),
    }


def global_batch(
    pairs: list[Any], lengths: np.ndarray, parts: int, device: torch.device
) -> GlobalBatch:
    """Pairs as a worker that is alone gets them, in so many micro-batches."""
    pieces = [make_batch(pairs[i::parts], multiple=8).to(device) for i in range(parts)]
    positions = sum(piece.source.numel() + piece.target.numel() for piece in pieces)
    words, both = int(lengths[:, 1].sum()), int(lengths.sum())
    numbers = np.arange(len(pairs))
    return GlobalBatch(pieces, words, both, positions, numbers, lengths)


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has done what it was told; a processor always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--models", nargs="+", default=["base", "big"], choices=["base", "big"]
    )
    parser.add_argument(
        "--steps", type=int, default=50, help="timed steps, after as many"
    )
    parser.add_argument(
        "--parts",
        type=int,
        default=1,
        help="micro-batches a step, where memory is short",
    )
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(
            1,
            "gpu_step: no CUDA GPU here, so there is nothing to record;"
            " run it where there is one\n",
        )
    if min(arguments.steps, arguments.parts) < 1:
        parser.error("--steps and --parts must be at least 1")
    device, runs = torch.device("cuda"), []
    for name in arguments.models:
        torch.cuda.reset_peak_memory_stats(device)
        try:
            runs.append(
                measure(
                    name, device, arguments.steps, arguments.parts, arguments.compile
                )
            )
        except torch.OutOfMemoryError:
            parser.exit(
                1, f"gpu_step: {name} does not fit; try --parts {2 * arguments.parts}\n"
            )
        print(json.dumps(runs[-1]), flush=True)
    findings = {"tokens_a_side": TOKENS, "mean_length": MEAN_LENGTH, "runs": runs}
    records.write(
        "gpu-step", findings, where=f"one {torch.cuda.get_device_name(device)}"
    )


if __name__ == "__main__":
    main()
