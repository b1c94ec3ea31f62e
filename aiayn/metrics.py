"""Training (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-training.ipynb
"""

__all__ = [
    "tensorboard_writer",
    "Metrics",
    "best_step",
    "stale",
    "means",
    "Meter",
]


# book/05-training.ipynb, cell metrics-imports
import json
import math
import time
from pathlib import Path
from typing import Any

from aiayn.batching import GlobalBatch
from aiayn.data import InputError, write_atomically


# book/05-training.ipynb, cell tensorboard
def tensorboard_writer(folder: Path) -> Any:
    """What writes TensorBoard's files.

    Raises
    ------
    InputError
        If TensorBoard is not installed.
    """
    try:
        from torch.utils.tensorboard.writer import SummaryWriter
    except ImportError:
        raise InputError("TensorBoard is not installed: pip install 'aiayn[train]'") from None
    return SummaryWriter(folder)


# book/05-training.ipynb, cell metrics
class Metrics:
    """The file `metrics.jsonl` in a folder, to which a training adds lines.

    With `tensorboard`, TensorBoard's files are written beside it; `writes` is False for all workers but one.
    """

    def __init__(self, folder: Path, tensorboard: bool = False, writes: bool = True) -> None:
        self.path, self.writes, self.writer = folder / "metrics.jsonl", writes, None
        if tensorboard and writes:
            self.writer = tensorboard_writer(folder / "tensorboard")

    def log(self, step: int, **values: float) -> None:
        """Add a line."""
        if not self.writes:
            return
        rounded = {key: float(f"{value:.6g}") for key, value in values.items()}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **rounded}) + "\n")
        if self.writer is not None:
            for key, value in rounded.items():
                self.writer.add_scalar(key, value, step)

    def lines(self) -> list[dict[str, Any]]:
        """All whole lines; the last may have been cut off."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("}\n")]

    def cut(self, step: int) -> None:
        """Forget what came after a step, from which the training now goes on."""
        if not self.writes:
            return
        kept = [line for line in self.lines() if line["step"] <= step]
        write_atomically(self.path, "".join(json.dumps(line) + "\n" for line in kept).encode())
        if self.writer is not None:
            self.writer.close()  # it opens again by itself, and then says what is void
            self.writer.purge_step = step + 1

    def validations(self) -> dict[int, float]:
        """Validation perplexity by step."""
        key = "validation_perplexity"
        return {line["step"]: line[key] for line in self.lines() if key in line}


# book/05-training.ipynb, cell best
def best_step(validations: dict[int, float]) -> int | None:
    """Where the validation perplexity was least."""
    return min(validations, key=validations.__getitem__) if validations else None


def stale(validations: dict[int, float], patience: int | None) -> bool:
    """Whether the last so many validations were no better than one before them."""
    last = list(validations)[-patience:] if patience is not None else []
    return bool(last) and last[0] > (best_step(validations) or 0)


# book/05-training.ipynb, cell means
def means(total: dict[str, float], peak: float) -> dict[str, float]:
    """A line from sums: per word, per second, per position; `peak` is in operations per second."""
    return {
        "loss": total["loss"] / total["words"],
        "smoothed_perplexity": math.exp(min(700, total["loss"] / total["words"])),
        "perplexity": math.exp(min(700, total["nll"] / total["words"])),
        "tokens_per_second": total["tokens"] / total["seconds"],
        "padding": 1 - total["tokens"] / total["positions"],
        "utilisation": total["flops"] / total["seconds"] / peak,
    }


# book/05-training.ipynb, cell meter
class Meter:
    """Sums over the steps since the last line, and the line that they make.

    Parameters
    ----------
    minutes : float
        What earlier sessions of the same run took.
    peak : float
        Operations per second that the hardware of all workers can do at its best.
    """

    def __init__(self, minutes: float, peak: float) -> None:
        self.began = time.monotonic() - 60 * minutes
        self.peak, self.sums = peak, dict[str, float]()
        self.last = time.monotonic()

    @property
    def minutes(self) -> float:
        """Minutes of training so far, with those of earlier sessions."""
        return (time.monotonic() - self.began) / 60

    def add(self, found: dict[str, float], work: GlobalBatch, flops: float) -> None:
        """Count a step: what it found, on which batch, with how many operations."""
        now = time.monotonic()
        values = {"loss": found["loss"], "nll": found["nll"], "flops": flops, "seconds": now - self.last}
        values |= {"words": work.words, "tokens": work.tokens, "positions": work.positions}
        for key, value in values.items():
            self.sums[key] = self.sums.get(key, 0.0) + value
        self.last = now

    def pause(self) -> None:
        """Leave out the time since the last step: it went into saving or validation."""
        self.last = time.monotonic()

    def line(self) -> dict[str, float]:
        """Means since the last line: per word, per second, per position."""
        total, self.sums = self.sums, {}
        return {"minutes": self.minutes, **means(total, self.peak)}
