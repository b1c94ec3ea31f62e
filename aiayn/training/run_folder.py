# Made by `make export` from book/3-workshop/04-checkpoints-and-resuming.ipynb
"""The folder of a training run, and what it holds after an interruption."""

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell run-imports
import contextlib
import os
import shutil
import signal
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from filelock import FileLock, Timeout
from torch.optim import Optimizer

from aiayn.data.io import cause
from aiayn.data.vocabulary import Vocabulary
from aiayn.errors import InputError
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.training.checkpoint import is_due, save_checkpoint, saved_steps
from aiayn.training.checkpoint_metadata import Description
from aiayn.training.metrics_log import VALIDATED, Metrics, best_step
from aiayn.training.resume import newest_checkpoint, restore


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell check-run
def check_run(folder: Path, resume: bool) -> None:
    """Raise an InputError if a folder holds a run that is not to go on, or cannot."""
    saved, last = list(saved_steps(folder).values()), newest_checkpoint(folder)
    if (folder / "config.json").exists():
        advice = f"choose another folder (out), with {folder} as init"
        raise InputError(f"{folder}: a saved model, not a run; {advice}")
    if not resume and (saved or (folder / "metrics.jsonl").exists()):
        advice = "resume it (resume=True), choose another folder (out), or remove it"
        raise InputError(f"{folder}: holds a run already; {advice}")
    if saved and last != saved[-1]:
        before = f"remove it, to go on from {last.name}, or" if last else ""
        instead = before or "to begin anew,"
        reason = "no optimizer.safetensors, without which no training goes on"
        advice = f"{instead} choose another folder (out)"
        raise InputError(f"{saved[-1]}: {reason}; {advice}")


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell claimed
@contextmanager
def locked(folder: Path, resume: bool) -> Iterator[None]:
    """Within it, nobody else trains into a folder, which is made if need be.

    Errors are `check_folder`'s.
    """
    lock = FileLock(folder / ".lock")
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:  # before hours of work, not after them
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        lock.acquire(timeout=0)
    except Timeout:
        fault = f"another run is writing to {folder}; wait for it, or choose another"
        raise InputError(fault) from None
    except (OSError, NotImplementedError) as error:
        fault = f"cannot be written to ({cause(error)}); choose another folder (out)"
        raise InputError(f"{folder}: {fault}") from None
    try:
        check_run(folder, resume)
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(lock.lock_file)
        lock.release()
        with contextlib.suppress(OSError):  # what is not empty stays
            for each in new:
                each.rmdir()


def check_folder(folder: Path, resume: bool = False) -> None:
    """Make sure that a run can begin in a folder, or with `resume` go on.

    Raises
    ------
    InputError
        If it holds a run already, if another run is writing to it, or if it cannot
        be written to.
    """
    with locked(folder, resume):
        pass


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell run-folder
class Run(contextlib.ExitStack):
    """A folder that a run leaves behind: `metrics.jsonl` and `checkpoints/`.

    With `resume` it goes on with the run that is there, if there is one. `tensorboard`
    and `writes` are as for `aiayn.training.metrics_log.Metrics`. Until it is closed,
    as at the end of a `with` statement, nobody else can train into the folder. Errors
    are `check_folder`'s.
    """

    step, minutes = 0, 0.0  # how far the run is
    due = True  # whether the checkpoint from which it goes on was written at its time
    sums: dict[str, float] | None = None  # of the meter, as they were then
    scaler: dict[str, Any] | None = None  # state of the scaler of gradients, likewise
    saved = 0  # the last step of which there is a checkpoint

    def __init__(
        self,
        folder: Path,
        resume: bool = False,
        tensorboard: bool = False,
        writes: bool = True,
    ) -> None:
        super().__init__()
        self.folder, self.writes = folder, writes
        try:
            if writes:
                self.enter_context(locked(folder, resume))
            self.last = newest_checkpoint(folder) if resume else None
            metrics = Metrics(folder, tensorboard, writes)
            self.metrics = self.enter_context(contextlib.closing(metrics))
        except BaseException:
            self.close()
            raise

    # book/3-workshop/04-checkpoints-and-resuming.ipynb, cell run
    def begin(
        self,
        model: EncoderDecoder,
        optimizer: Optimizer,
        vocabulary: Vocabulary,
        description: Description,
    ) -> None:
        """Note what is trained and how; restore the newest checkpoint, if any."""
        assert description.training
        self.vocabulary, self.description = vocabulary, description
        self.config, repeated = description.training, list[str]()
        if self.last is not None:
            state = restore(self.last, model, optimizer, description)
            self.step, self.minutes = state.step or 0, state.minutes or 0.0
            self.due, self.sums, self.scaler = state.due, state.sums, state.scaler
            self.saved = self.step
            # Drop lines that are there since it stopped.
            if self.step < self.config.steps:
                repeated = ["loss"] * bool(self.sums) + [VALIDATED] * (not self.due)
        self.metrics.truncate(self.step, repeated)

    # book/3-workshop/04-checkpoints-and-resuming.ipynb, cell run-save
    def save(
        self,
        step: int,
        minutes: float,
        model: EncoderDecoder,
        optimizer: Optimizer,
        due: bool = True,
        scaler: dict[str, Any] | None = None,
        sums: dict[str, float] | None = None,
    ) -> None:
        """Write a checkpoint, then remove those that are too old.

        Before the first step there is nothing to write. One that is not `due` is
        written because the training stops: the next one takes its place.
        """
        if not self.writes or step == self.saved:
            return
        folder = self.folder / "checkpoints" / f"step-{step:07d}"
        # Left by a program that was killed.
        for unfinished in folder.parent.glob(".step-*.part"):
            discard(unfinished)
        state: dict[str, Any] = {"step": step, "minutes": minutes, "due": due}
        state |= {"scaler": scaler or None, "sums": sums}
        description = replace(self.description, **state)
        save_checkpoint(folder, model, self.vocabulary, description, optimizer)
        self.saved = step
        best = best_step(self.metrics.validations())
        prune_checkpoints(self.folder, self.config.checkpoints.keep, best)


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell clear-away
def prune_checkpoints(folder: Path, keep: int, best: int | None) -> None:
    """Remove all but the last `keep` and the best, and Adam's state from all but two.

    Those that were not due are removed at once, and do not count, unless it is the
    newest.
    """
    saved = saved_steps(folder)
    counted = [step for step in saved if step == max(saved) or is_due(saved[step])]
    for step in counted[:-2]:
        if not saved[step].is_symlink():
            discard(saved[step] / "optimizer.safetensors")
    for step in saved.keys() - set(counted[-keep:]) - ({best} & set(counted)):
        discard(saved[step])


def discard(path: Path) -> None:
    """Remove a file, a link (not what it leads to) or a folder; if that fails, warn.

    A folder is renamed first: if the program is killed then, nothing is left that looks
    like a checkpoint.
    """
    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
            return
        if not path.name.startswith("."):
            path = path.rename(path.with_name(f".{path.name}.part"))
        shutil.rmtree(path)
    except OSError as error:
        warnings.warn(
            f"{path}: cannot be removed ({cause(error)}); remove it yourself",
            stacklevel=2,
        )


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell stop-signals
@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGTERM, SIGINT and SIGHUP instead of ending; a second one does end it.

    What the program was told to ignore, as `nohup` does with SIGHUP, it goes on to
    ignore.
    """
    caught: list[int] = []
    handlers: dict[int, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        if "TORCHELASTIC_RUN_ID" not in os.environ:
            signal.signal(number, handlers[number])

    # Python allows it nowhere else.
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            signum = getattr(signal, name, None)  # Windows has no SIGHUP
            if signum is None or signal.getsignal(signum) in (signal.SIG_IGN, None):
                continue
            handlers[signum] = signal.signal(signum, note)
    try:
        yield caught
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
