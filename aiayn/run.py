"""Training (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-training.ipynb
"""

__all__ = [
    "Run",
    "clear_away",
    "restarted",
    "stop_signals",
]


# book/05-training.ipynb, cell run-imports
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from torch.optim import Optimizer

from aiayn.checkpoint import list_checkpoints, newest_checkpoint, restore, save_checkpoint
from aiayn.data import InputError, write_atomically
from aiayn.encoder_decoder import EncoderDecoder
from aiayn.metrics import Metrics, best_step
from aiayn.vocabulary import Vocabulary


# book/05-training.ipynb, cell run
class Run:
    """A folder that a training leaves behind: `metrics.jsonl` and `checkpoints/`.

    With `resume` it goes on with the run that is there, if there is one. `tensorboard` and `writes` are as
    for `aiayn.metrics.Metrics`. An `InputError` says that the folder holds a run already and is not to go
    on, or cannot be written to.
    """

    def __init__(
        self, folder: Path, resume: bool = False, tensorboard: bool = False, writes: bool = True
    ) -> None:
        self.folder, self.writes, self.step, self.minutes = folder, writes, 0, 0.0
        if writes and not resume and (folder / "metrics.jsonl").exists():
            raise InputError(
                f"{folder}: holds a run already; --resume it, choose another --out, or remove it"
            )
        try:  # before hours of work, not after them
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise InputError(f"{folder}: cannot be written to ({error}); choose another --out") from None
        self.last = newest_checkpoint(folder) if resume else None
        self.metrics = Metrics(folder, tensorboard, writes)

    def begin(
        self, model: EncoderDecoder, optimizer: Optimizer, vocabulary: Vocabulary, training: dict[str, Any]
    ) -> None:
        """Note what is trained and how; put it back where the newest checkpoint was, if it is to go on."""
        self.vocabulary, self.training = vocabulary, training
        if self.last is not None:
            found = restore(self.last, model, optimizer, training)
            self.step, self.minutes = found["step"], found["minutes"]
        self.metrics.cut(self.step)
        if self.writes and "TORCHELASTIC_RUN_ID" in os.environ:
            write_atomically(self.folder / "job.txt", os.environ["TORCHELASTIC_RUN_ID"].encode())

    def save(self, step: int, minutes: float, model: EncoderDecoder, optimizer: Optimizer) -> None:
        """Write a checkpoint, then remove those that are too old; before the first step there is nothing."""
        folder = self.folder / "checkpoints" / f"step-{step:07d}"
        if self.writes and step > 0 and not folder.exists():
            for half in folder.parent.glob(".step-*.part"):  # left by a program that was killed
                shutil.rmtree(half)
            training = {**self.training, "step": step, "minutes": minutes}
            save_checkpoint(folder, model, self.vocabulary, training, optimizer)
            clear_away(self.folder, self.training["keep"], best_step(self.metrics.validations()))


# book/05-training.ipynb, cell clear-away
def clear_away(folder: Path, keep: int, best: int | None) -> None:
    """Remove checkpoints older than the last `keep` but the best, and Adam's state from all but two."""
    found = list_checkpoints(folder)
    for old in found[:-2]:
        (old / "optimizer.safetensors").unlink(missing_ok=True)
    for old in found[:-keep]:
        if old.name != f"step-{best or 0:07d}":
            shutil.rmtree(old)


# book/05-training.ipynb, cell stop-signals
def restarted(folder: Path) -> bool:
    """Whether torchrun has started this job again, after a worker of the run in `folder` died."""
    job, note = os.environ.get("TORCHELASTIC_RUN_ID"), folder / "job.txt"
    if int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) == 0 or job is None:
        return False
    return note.exists() and note.read_text(encoding="utf-8") == job


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGTERM and SIGINT instead of ending at the first of them; a second one does end it."""
    caught: list[int] = []
    handlers: dict[int, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        if "TORCHELASTIC_RUN_ID" not in os.environ:
            signal.signal(number, handlers[number])

    if threading.current_thread() is threading.main_thread():  # Python allows it nowhere else
        for wanted in (signal.SIGTERM, signal.SIGINT):
            handlers[wanted] = signal.signal(wanted, note)
    try:
        yield caught
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
