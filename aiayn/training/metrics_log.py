# Made by `make export` from book/3-workshop/04-checkpoints-and-resuming.ipynb
"""The log of losses and speeds, and early stopping."""

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell metrics-imports
import json
import math
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from aiayn.data.batching import GlobalBatch
from aiayn.data.io import cause, write_atomically
from aiayn.errors import InputError

VALIDATED = "validation_perplexity"  # what a line calls it


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell tensorboard
def tensorboard_writer(folder: Path) -> Any:
    """What writes TensorBoard's files.

    Raises
    ------
    InputError
        If TensorBoard is not installed, or the folder cannot be written to.
    """
    try:
        from torch.utils.tensorboard.writer import SummaryWriter

        return SummaryWriter(folder)
    except ImportError:
        advice = "pip install tensorboard"
        raise InputError(f"TensorBoard is not installed: {advice}") from None
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to ({cause(error)})") from None


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell read-lines
def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of `metrics.jsonl`, none if it is not there.

    An unfinished last one does not count. An InputError says which line is damaged.
    """
    *whole, _ = (path.read_bytes() if path.exists() else b"").split(b"\n")
    lines = list[dict[str, Any]]()
    for number, text in enumerate(whole, start=1):
        try:
            lines.append(json.loads(text))
        except ValueError:
            advice = "damaged; remove the line"
            raise InputError(f"{path}, line {number}: {advice}") from None
    return lines


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell metrics
class Metrics:
    """The file `metrics.jsonl` in a folder, to which a run adds lines.

    With `tensorboard`, its files are written beside it. `writes` is False for all
    workers but one.
    """

    def __init__(
        self, folder: Path, tensorboard: bool = False, writes: bool = True
    ) -> None:
        self.path, self.writes = folder / "metrics.jsonl", writes
        self.writer: Any = None
        if tensorboard and writes:
            self.writer = tensorboard_writer(folder / "tensorboard")

    def log(self, step: int, **values: float) -> None:
        """Add a line."""
        if not self.writes:
            return
        rounded = {key: float(f"{value:.6g}") for key, value in values.items()}
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": step, **rounded}) + "\n")
            for key, value in rounded.items() if self.writer else ():
                self.writer.add_scalar(key, value, step)
        except OSError as error:
            fault = f"cannot be written ({cause(error)})"
            advice = "make room, then resume"
            raise InputError(f"{self.path}: {fault}; {advice}") from None

    def close(self) -> None:
        """Write TensorBoard's files to the end: its thread runs behind."""
        if self.writer is not None:
            self.writer.close()

    # book/3-workshop/04-checkpoints-and-resuming.ipynb, cell metrics-lines
    def lines(self) -> list[dict[str, Any]]:
        """All whole lines."""
        return read_lines(self.path)

    def truncate(self, step: int, repeated: Iterable[str] = ()) -> None:
        """Forget the lines after a step, and those of it with a key in `repeated`."""
        if not self.writes:
            return
        lines = [line for line in self.lines() if line["step"] <= step]
        kept = [
            json.dumps(line) + "\n"
            for line in lines
            if line["step"] < step or line.keys().isdisjoint(repeated)
        ]
        write_atomically(self.path, "".join(kept).encode())
        if self.writer is not None:
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog

            began = SessionLog(status=SessionLog.START)  # voids the steps from here on
            self.writer.file_writer.add_event(Event(step=step + 1, session_log=began))

    def validations(self) -> dict[int, float]:
        """Validation perplexity by step."""
        lines = [line for line in self.lines() if VALIDATED in line]
        return {line["step"]: line[VALIDATED] for line in lines}


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell best
def best_step(validations: dict[int, float]) -> int | None:
    """Where the validation perplexity was least."""
    return min(validations, key=validations.__getitem__) if validations else None


def should_stop_early(validations: dict[int, float], patience: int | None) -> bool:
    """Whether the last so many validations were no better than one before them."""
    last = list(validations)[-patience:] if patience is not None else []
    return bool(last) and last[0] > (best_step(validations) or 0)


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell means
def means(total: dict[str, float], peak: float) -> dict[str, float]:
    """A line from sums: per word, second, position; `peak` in operations a second."""
    return {
        "loss": total["loss"] / total["target_tokens"],
        "smoothed_perplexity": math.exp(
            min(700, total["loss"] / total["target_tokens"])
        ),
        "perplexity": math.exp(min(700, total["nll"] / total["target_tokens"])),
        "tokens_per_second": total["tokens"] / total["seconds"],
        "padding": 1 - total["tokens"] / total["positions"],
        "utilisation": total["flops"] / total["seconds"] / peak,
    }


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell meter
class Meter:
    """Sums over the steps since the last line, and the line that they make.

    Parameters
    ----------
    minutes : float
        What earlier sessions of the same run took.
    peak : float
        Operations per second that the hardware of all workers can do at its best.
    sums : dict, optional
        Those that an earlier session left, from its last line to its last checkpoint.
    """

    def __init__(
        self, minutes: float, peak: float, sums: dict[str, float] | None = None
    ) -> None:
        self.began = time.monotonic() - 60 * minutes
        self.peak, self.sums = peak, dict(sums or {})
        self.last = time.monotonic()

    @property
    def minutes(self) -> float:
        """Minutes of training so far, with those of earlier sessions."""
        return (time.monotonic() - self.began) / 60

    # book/3-workshop/04-checkpoints-and-resuming.ipynb, cell meter-line
    def add(
        self, losses: dict[str, float], global_batch: GlobalBatch, flops: float
    ) -> None:
        """Count a step: what it found, on which batch, with how many operations."""
        now = time.monotonic()
        values = {"loss": losses["loss"], "nll": losses["nll"], "flops": flops}
        values |= {"seconds": now - self.last}
        values |= {"target_tokens": global_batch.target_tokens}
        values |= {"tokens": global_batch.tokens, "positions": global_batch.positions}
        for key, value in values.items():
            self.sums[key] = self.sums.get(key, 0.0) + value
        self.last = now

    def pause(self) -> None:
        """Leave out the time since the last step: it went into saving or validation."""
        self.last = time.monotonic()

    def line(self) -> dict[str, float]:
        """Means since the last line: per word, per second, per position."""
        return {"minutes": self.minutes, **means(self.sums, self.peak)}

    def clear(self) -> None:
        """Begin a new line."""
        self.sums = {}
