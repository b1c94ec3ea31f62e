# Made by `make export` from book/1-paper/5-2-hardware-and-schedule.ipynb
"""FLOPs, time, energy and utilisation of a training run."""

# book/1-paper/5-2-hardware-and-schedule.ipynb, cell imports
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int, Integer

from aiayn.errors import InputError, did_you_mean
from aiayn.model.configuration import config
from aiayn.model.encoder_decoder import ModelConfig

Count = int | Int[np.ndarray, " pairs"]


# book/1-paper/5-2-hardware-and-schedule.ipynb, cell training-flops
def training_flops(config: ModelConfig, n: Count, m: Count) -> Count:
    """FLOPs of one pair's matrix products, forward and backward: each becomes three."""
    return 3 * config.forward_flops(n, m)


def batch_flops(config: ModelConfig, lengths: Integer[np.ndarray, "pairs 2"]) -> int:
    """FLOPs of a training step on pairs of these lengths, padding not counted.

    `lengths` has source and target of each pair. Divided by the seconds it took and by
    `peak_flops`, this is the model-FLOP utilisation.
    """
    n, m = lengths.astype(np.int64).T  # lengths kept as 16 bits would overflow
    return int(np.sum(training_flops(config, n, m)))


def step_flops(config: ModelConfig, tokens: int = 25_000, length: int = 27) -> float:
    """FLOPs of a step on `tokens` a side, in pairs of `length` a side (section 5.1)."""
    return tokens / length * batch_flops(config, np.array([[length, length]]))


# book/1-paper/5-2-hardware-and-schedule.ipynb, cell accelerators
@dataclass(frozen=True)
class Accelerator:
    """A GPU, by its data sheet."""

    name: str
    peak: float  # FLOP/s of dense products, in the precision that training uses
    watts: int  # the power that it may draw


ACCELERATORS = [
    Accelerator("P100", 10.6e12, 300),  # 32 bits: it has no tensor cores
    Accelerator("P100 PCIe", 9.3e12, 250),
    Accelerator("V100", 125e12, 300),
    Accelerator("V100 PCIe", 112e12, 250),
    Accelerator("T4", 65e12, 70),
    Accelerator("A10", 125e12, 150),
    Accelerator("A100", 312e12, 400),
    Accelerator("A100 PCIe", 312e12, 300),
    Accelerator("RTX 3090", 71e12, 350),
    Accelerator("RTX 4090", 165e12, 450),
    Accelerator("L4", 121e12, 72),
    Accelerator("L40S", 362e12, 350),
    Accelerator("H100", 989e12, 700),
    Accelerator("H100 PCIe", 756e12, 350),
    Accelerator("H100 NVL", 835e12, 400),
    Accelerator("H200", 989e12, 700),
    Accelerator("H200 NVL", 835e12, 600),
    Accelerator("B200", 2250e12, 1000),
]


# book/1-paper/5-2-hardware-and-schedule.ipynb, cell find-accelerator
OTHER_PRODUCT = {"MIG", "LAPTOP", "MOBILE", "MAX", "TI", "SUPER", "D"}


def find_accelerator(name: str) -> Accelerator | None:
    """The entry of `ACCELERATORS` for the name that a GPU gives itself, or None."""
    words = set(re.split(r"[^A-Z0-9]+", name.upper()))
    if words & OTHER_PRODUCT:
        return None
    listed = [gpu for gpu in ACCELERATORS if set(gpu.name.upper().split()) <= words]
    return max(listed, key=lambda gpu: len(gpu.name), default=None)


def peak_flops(device: torch.device) -> float | None:
    """Dense peak of a GPU in FLOP/s, from its data sheet; None if it is not listed."""
    if device.type != "cuda":
        return None
    accelerator = find_accelerator(torch.cuda.get_device_name(device))
    return accelerator.peak if accelerator else None


# book/1-paper/5-2-hardware-and-schedule.ipynb, cell measured-peak
def measured_peak(
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    size: int = 2048,
) -> float:
    """FLOP/s of a large matrix product here: a limit for anything made of them."""
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    best = float("inf")
    for _ in range(6):  # the first is a warm-up, and never the best
        began = time.perf_counter()
        c = a @ b
        c[0, 0].item()  # a GPU answers only when the product is done
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


# book/1-paper/5-2-hardware-and-schedule.ipynb, cell training-estimate
@dataclass(frozen=True)
class TrainingEstimate:
    """What a run will take."""

    seconds: float
    """of one step"""
    hours: float
    """of all steps; checkpoints and validation are extra"""
    kilowatt_hours: float
    """of the GPUs alone"""


# book/1-paper/5-2-hardware-and-schedule.ipynb, cell estimate-training
def estimate_training(
    config: ModelConfig,
    steps: int,
    gpus: int,
    gpu: str,
    utilisation: float,
    watts: float | None = None,
    tokens: int = 25_000,
) -> TrainingEstimate:
    """Time and energy of a run at that share of the GPUs' peak (section 5.2).

    `gpu` is a name as in `ACCELERATORS`, `watts` the power of one, if not that of its
    data sheet, and `tokens` those of a whole step on either side, however many GPUs
    share it.

    Raises
    ------
    InputError
        If the GPU is not listed, or a number makes no sense.
    """
    accelerator = find_accelerator(gpu)
    if accelerator is None:
        hint = did_you_mean(gpu, [each.name for each in ACCELERATORS])
        raise InputError(f"GPU {gpu!r}: not listed; {hint}")
    if not 1e-6 <= utilisation <= 1:
        raise InputError(
            f"utilisation={utilisation}: give a share of the peak"
            " between 0 and 1, such as 0.4"
        )
    power = accelerator.watts if watts is None else watts
    numbers = {"gpus": gpus, "steps": steps, "tokens": tokens, "watts": power}
    for name, value in numbers.items():
        if not 0 < value <= 1e9:
            raise InputError(
                f"{name}={value!r:.60}: must be more than 0, and at most 1,000,000,000"
            )
    seconds = step_flops(config, tokens) / (gpus * accelerator.peak * utilisation)
    hours = steps * seconds / 3600
    return TrainingEstimate(seconds, hours, hours * gpus * power / 1000)


# book/1-paper/5-2-hardware-and-schedule.ipynb, cell planned-run
@dataclass(frozen=True)
class PlannedRun:
    """A run to plan; for one of Table 2, also what the paper says it took."""

    model: str  # base, big, or another recipe
    pair: str  # languages, source first; empty if any will do
    shape: ModelConfig
    steps: int
    tokens: int = 25_000  # of a step, on either side
    seconds: float = 0.0  # of a step, and
    hours: float = 0.0  # of the whole, if the paper has it


PAPER_RUNS = [
    PlannedRun(
        name, pair, config(name, vocabulary_size=size), steps, 25_000, seconds, hours
    )
    for pair, size in (("en-de", 37_000), ("en-fr", 32_000))
    for name, steps, seconds, hours in (
        ("base", 100_000, 0.4, 12.0),
        ("big", 300_000, 1.0, 84.0),
    )
]
UTILISATIONS = 0.2, 0.3, 0.4  # of the peak, where nothing has been measured yet


# book/1-paper/5-2-hardware-and-schedule.ipynb, cell estimate-table
def estimate_table(
    gpus: int,
    gpu: str,
    utilisation: float | None = None,
    watts: float | None = None,
    runs: Sequence[PlannedRun] = tuple(PAPER_RUNS),
) -> str:
    """`estimate_training` as text: a row for each run and share of the peak.

    Without a `utilisation` they are those of `UTILISATIONS`. The runs are those of
    Table 2, beside what the paper's eight GPUs took, unless others are given.

    Raises
    ------
    InputError
        As `estimate_training` does.
    """
    width, beside = max(len(run.model) for run in runs), any(run.hours for run in runs)
    header = f"{'model':{width}} pair      steps    FLOPs  peak   s/step     hours"
    title, header = f"{gpus} x {gpu}", f"{header}       kWh"
    if beside:
        title = f"{title:{len(header)}}    the paper, 8 x P100"
        header += "  s/step  x steps stated"
    lines = [title, header]
    for run in runs:
        flops = run.steps * step_flops(run.shape, run.tokens)
        about = f"{run.model:{width}} {run.pair:5} {run.steps:9,}  {flops:.1e}"
        theirs = ""
        if run.hours:
            theirs = f"  {run.seconds:6.1f} {run.steps * run.seconds / 3600:6.1f} h"
            theirs += f" {run.hours:5.0f} h"
        for share in UTILISATIONS if utilisation is None else (utilisation,):
            p = estimate_training(
                run.shape, run.steps, gpus, gpu, share, watts, run.tokens
            )
            ours = f"{share:5.0%} {p.seconds:8.5f} {p.hours:9.3f}"
            lines.append(f"{about} {ours} {p.kilowatt_hours:9.2f}{theirs}")
            about, theirs = " " * len(about), ""
    return "\n".join(lines)
