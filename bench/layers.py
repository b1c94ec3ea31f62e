"""Time recurrence against self-attention where n < d, and write book/runs/layers.json.

python bench/layers.py [--rounds 5]                     # some minutes a round
python bench/layers.py --threads 2                      # layers-2-threads.json
python bench/layers.py --device cuda                    # layers-cuda.json
python bench/layers.py --rounds 1 --widths 128 --trial  # printed, not written

The first goes on where it was stopped; the second is for an idle machine only.

The two of a pair take turns, a few calls each, so that whatever else the machine does
disturbs both alike. On one thread the clock is the processor's own, which stands still
while others have it. What is kept of each round is the middle one of the turns' ratios:
how many times as long recurrence takes.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import records
import torch
from torch import Tensor, nn

from aiayn.device import keep_heap
from aiayn.model import FusedAttention, MultiHeadAttention
from aiayn.model.kv_cache import KVCache

# Sequences at once, for each width d.
BATCHES = {128: (1, 16, 64), 256: (1, 16), 512: (1,)}
MULTIPLES = 1 / 16, 1 / 4, 3 / 4  # n / d
# Turns of each in a round, and the seconds that a turn should last.
TURNS, ENOUGH = 3, 0.004
KEYS = "pair", "mode", "d", "n", "batch"


class SelfAttention(nn.Module):
    """One head without projections."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = FusedAttention()

    def forward(self, x: Tensor) -> Tensor:
        """Let every position look at all."""
        head = x[:, None]
        return self.attention(head, head, head)[:, 0]


def table_1(d: int) -> tuple[nn.Module, nn.Module]:
    """The two layers as Table 1 counts them."""
    return nn.RNN(d, d, batch_first=True), SelfAttention()


def whole(gated: Callable[..., nn.Module], d: int) -> tuple[nn.Module, nn.Module]:
    """A layer with gates, and one of attention with its projections."""
    return gated(d, d, batch_first=True), MultiHeadAttention(d, d // 64)


PAIRS: dict[str, Callable[[int], tuple[nn.Module, nn.Module]]] = {
    "bare: RNN / attention": table_1,
    "whole: LSTM / multi-head": partial(whole, nn.LSTM),
    "whole: GRU / multi-head": partial(whole, nn.GRU),
}


def read(layer: nn.Module, x: Tensor) -> Tensor:
    """All positions at once."""
    y = layer(x)
    return y[0] if isinstance(y, tuple) else y


def train(layer: nn.Module, x: Tensor) -> None:
    """Forward and backward, to the weights and to what lies below."""
    layer.zero_grad()
    x.grad = None
    read(layer, x).sum().backward()


@torch.no_grad()
def write(layer: Any, x: Tensor) -> None:
    """Position by position, each with what the layer keeps of those before it."""
    state, cache = None, KVCache()
    for word in x.split(1, dim=1):
        if isinstance(layer, nn.RNNBase):
            _, state = layer(word, state)
        elif isinstance(layer, MultiHeadAttention):
            layer(word, cache=cache)
        else:
            layer.attention(word[:, None], *cache.append(word[:, None], word[:, None]))


MODES = {"reading": torch.no_grad()(read), "training": train, "writing": write}


def clock(device: str, threads: int) -> Callable[[], float]:
    """Time on a GPU when it has done what it was told; on one thread, the time that the
    processor gave us.
    """

    def when_done() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    if device != "cpu":
        return when_done
    return time.process_time if threads == 1 else time.perf_counter


def ratio(
    slow: Callable[[], Any], fast: Callable[[], Any], now: Callable[[], float]
) -> float:
    """How many times as long `slow` takes: the median over turns."""

    def lasts(call: Callable[[], Any], number: int) -> float:
        began = now()
        for _ in range(number):
            call()
        return (now() - began) / number

    fast(), slow()
    numbers = [
        max(1, min(200, int(ENOUGH / max(lasts(call, 1), 1e-6))))
        for call in (slow, fast)
    ]
    return statistics.median(
        lasts(slow, numbers[0]) / lasts(fast, numbers[1]) for _ in range(TURNS)
    )


def one_round(
    number: int, device: str, widths: list[int]
) -> dict[tuple[Any, ...], float]:
    """The ratio in each cell of the table, from the seed `number`."""
    torch.manual_seed(number)
    now, found = clock(device, torch.get_num_threads()), {}
    for d, pair in product(widths, PAIRS):
        layers = PAIRS[pair](d)
        for multiple, batch, (mode, work) in product(
            MULTIPLES, BATCHES[d], MODES.items()
        ):
            x = torch.randn(
                batch,
                int(multiple * d),
                d,
                device=device,
                requires_grad=mode == "training",
            )
            slow, fast = (partial(work, layer.to(device), x) for layer in layers)
            found[pair, mode, d, x.shape[1], batch] = round(ratio(slow, fast, now), 3)
    return found


def main() -> None:
    """Run the rounds that are missing, and write the record after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument(
        "--widths", type=int, nargs="+", default=list(BATCHES), choices=list(BATCHES)
    )
    parser.add_argument("--trial", action="store_true", help="print, and write nothing")
    arguments = parser.parse_args()
    keep_heap()
    torch.set_num_threads(arguments.threads)
    machine = torch.cuda.get_device_name() if arguments.device == "cuda" else None
    name = (
        "layers"
        + "-cuda" * bool(machine)
        + f"-{arguments.threads}-threads" * (arguments.threads > 1)
    )
    path = records.RUNS / f"{name}.json"
    cells = (
        json.loads(path.read_text())["cells"]
        if path.exists() and not arguments.trial
        else []
    )
    table = {tuple(cell[key] for key in KEYS): cell["ratios"] for cell in cells}
    for number in range(min(map(len, table.values()), default=0), arguments.rounds):
        for key, found in one_round(number, arguments.device, arguments.widths).items():
            table.setdefault(key, []).append(found)
        cells = [
            dict(zip(KEYS, key, strict=True)) | {"ratios": ratios}
            for key, ratios in table.items()
        ]
        if arguments.trial:
            print(*cells, sep="\n")
        else:
            records.write(
                name, {"threads": arguments.threads, "cells": cells}, machine=machine
            )


if __name__ == "__main__":
    main()
