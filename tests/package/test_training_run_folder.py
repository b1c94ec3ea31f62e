"""The folder of a run: locked, never half written, and after a stop the same as without
one.
"""

import contextlib
import io
import json
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_runs import (
    NUMBERS,
    TINY,
    complaint,
    finish,
    kept,
    lines,
    plan_of,
    start,
    wait_for,
)
from test_training_checkpoint import learned, vocabulary

import aiayn.training.run_folder
from aiayn.data import Vocabulary, train_vocabulary
from aiayn.errors import InputError
from aiayn.model import Transformer
from aiayn.training import load_checkpoint
from aiayn.training.checkpoint import list_checkpoints
from aiayn.training.checkpoint_metadata import Description, read_description
from aiayn.training.metrics_log import best_step, should_stop_early
from aiayn.training.optimizer import make_optimizer
from aiayn.training.run_folder import (
    Run,
    check_folder,
    prune_checkpoints,
    stop_signals,
)
from aiayn.training.trained_run import TrainedRun

__all__ = ["vocabulary"]  # a fixture


def hidden(out: Path) -> list[str]:
    """Files and folders that a run should not leave, wherever they are."""
    return [path.name for path in out.rglob(".*")]


# The lock


def holds(out: Path, ready: Path) -> None:
    with Run(out, resume=True):
        ready.touch()
        time.sleep(1000)


def test_only_one_training_at_a_time_has_a_folder(tmp_path: Path, out: Path) -> None:
    ready = tmp_path / "ready"
    process = start(holds, out, ready, log=tmp_path / "log")
    wait_for(ready.exists, process)
    held = f"another run is writing to {out}; wait for it, or choose another"
    for resume in (False, True):
        for action in (Run, check_folder):
            assert complaint(action, out, resume) == held
    Run(out, resume=True, writes=False).close()  # another worker of the same training
    process.kill()
    assert finish(process) == -signal.SIGKILL
    check_folder(out)
    Run(out).close()
    assert not hidden(out)


def fails(*_: Any) -> Any:
    raise InputError("as planned")


@pytest.mark.parametrize("call", ["check_run", "newest_checkpoint", "Metrics"])
def test_a_run_that_cannot_begin_leaves_no_lock(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(aiayn.training.run_folder, call, fails)
        with pytest.raises(InputError, match="as planned") as kept_alive:
            Run(tmp_path, resume=True)
    assert kept_alive and not hidden(tmp_path)
    Run(tmp_path).close()


# What is a run


def bare(out: Path, *steps: int, optimizer: bool = True, **training: Any) -> None:
    """Checkpoints with a description and no weights."""
    for step in steps:
        folder = out / "checkpoints" / f"step-{step:07d}"
        folder.mkdir(parents=True)
        told = replace(plan_of(), step=step, minutes=0.0, **training)
        (folder / "config.json").write_text(json.dumps(told.to_dict()))
        if optimizer:
            (folder / "optimizer.safetensors").touch()


def test_checkpoints_without_metrics_are_a_run(tmp_path: Path) -> None:
    bare(tmp_path, 60)
    for action in (Run, check_folder):
        said = complaint(action, tmp_path)
        assert f"{tmp_path}: holds a run already; resume it" in said
    check_folder(tmp_path, resume=True)


def test_nothing_is_removed_that_cannot_be_gone_on_from(tmp_path: Path) -> None:
    bare(tmp_path, 60, optimizer=False)
    message = complaint(Run, tmp_path, resume=True)
    assert "step-0000060: no optimizer.safetensors" in message
    assert message.endswith("; to begin anew, choose another folder (out)")
    bare(tmp_path, 40)
    message = complaint(Run, tmp_path, resume=True)
    assert message.endswith(
        "; remove it, to go on from step-0000040, or choose another folder (out)"
    )
    assert kept(tmp_path) == [40, 60]


def test_what_cannot_be_removed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare(tmp_path, 1, 2, 3)

    def rmtree(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("aiayn.training.run_folder.shutil.rmtree", rmtree)
    said = r"step-.*: cannot be removed \(.*Permission denied"
    with pytest.warns(UserWarning, match=said):
        prune_checkpoints(tmp_path, 1, None)
    assert kept(tmp_path) == [3]


# A stop leaves no trace


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints are descriptions only, so that a run of sixty steps takes no time."""

    def save(folder: Path, _: Any, __: Any, told: Description, *more: Any) -> None:
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(told.to_dict()))
        (folder / "optimizer.safetensors").touch()

    def restore(folder: Path, *_: Any) -> Description:
        return read_description(folder)

    monkeypatch.setattr(aiayn.training.run_folder, "save_checkpoint", save)
    monkeypatch.setattr(aiayn.training.run_folder, "restore", restore)


NUMBER_WORDS = train_vocabulary([" ".join(NUMBERS)], 30)
PARTS = Transformer(TINY), make_optimizer(Transformer(TINY)), NUMBER_WORDS
STEPS, EVERY, LOG = 60, 6, 10
CURVES = {
    "falls": [9.0, 8, 7, 6, 5, 4, 3, 2, 1, 0.5],
    "ends at 36": [9.0, 8, 4, 6, 5, 7, 3, 2, 1, 0.5],
    "ends at 54": [9.0, 8, 7, 6, 5, 4, 6, 6, 4, 0.5],
    "rises": [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10],
}


def session(
    out: Path, curve: list[float], stop: int | None = None, signalled: bool = False
) -> bool:
    """What `fit` does to a run's folder, up to its end or a step after which it is
    stopped.
    """
    plan = plan_of(steps=STEPS, patience=3)
    with Run(out, resume=True) as run:
        run.begin(*PARTS, plan)
        sums = dict(run.sums or {"loss": 0.0})

        def validate(step: int) -> None:
            """At its time, as the curve says; at another, better than ever."""
            value = 0.01 if step % EVERY else curve[step // EVERY - 1]
            run.metrics.log(step, validation_perplexity=value)

        if run.step and run.due and run.step not in run.metrics.validations():
            validate(run.step)
        if run.step and should_stop_early(run.metrics.validations(), 3):
            return True
        for step in range(run.step + 1, STEPS + 1):
            sums["loss"] += step
            due, over = step % EVERY == 0, step in (stop, STEPS)
            open_sums = {} if step % LOG == 0 else dict(sums)
            if over or step % LOG == 0:
                run.metrics.log(step, loss=sums["loss"])
                sums = {"loss": 0.0}
            if over or due:
                run.save(step, 0.0, *PARTS[:2], due=due, sums=open_sums)
                if not (signalled and step == stop):
                    validate(step)
            if over or (due and should_stop_early(run.metrics.validations(), 3)):
                return step != stop
    raise AssertionError("no end")


def averaged(out: Path) -> list[int]:
    """The steps of the checkpoints that are averaged."""
    return [int(path.name[5:]) for path in TrainedRun.read(out).checkpoints]


def trace(out: Path) -> Any:
    """All that a run leaves, but for the order of lines of one step."""
    told = sorted(lines(out), key=lambda line: (line["step"], sorted(line)))
    states = {path.parent.name for path in out.glob("checkpoints/*/optimizer.safe*")}
    return kept(out), averaged(out), told, states, hidden(out)


@pytest.mark.parametrize("signalled", [False, True])
@pytest.mark.parametrize("curve", CURVES)
def test_a_run_that_was_stopped_ends_as_the_uninterrupted_one(
    curve: str, signalled: bool, tmp_path: Path, light: None
) -> None:
    whole = tmp_path / "whole"
    assert session(whole, CURVES[curve])
    # Around a checkpoint, a line of the log, both at once, and the ends of the curves.
    near = {at + by for at in (6, 10, 30, 36, 54, 60) for by in (-1, 0, 1)} | {1, 3}
    stops = [[step] for step in sorted(near) if step < kept(whole)[-1]]
    stops += [[7, 8, 9, 13], [12, 13], [11, 12], [19, 20, 21]]
    for stop in stops:
        out = tmp_path / "-".join(map(str, stop))
        for step in stop:
            if not session(out, CURVES[curve], step, signalled):
                assert kept(out)[-1] == averaged(out)[-1] == step
        assert session(out, CURVES[curve])
        assert trace(out) == trace(whole), stop


def test_a_stop_forgets_no_line_before_the_run_goes_on(
    tmp_path: Path, light: None
) -> None:
    """As when a run that had ended is resumed with the same number of steps."""
    out = tmp_path / "run"
    session(out, CURVES["falls"], 33)
    before, plan = lines(out), plan_of(steps=33)
    with Run(out, resume=True) as run:
        run.begin(*PARTS, plan)
        assert run.step == 33 and not run.due and run.sums == {"loss": 31.0 + 32 + 33}
    assert lines(out) == before and 33 in run.metrics.validations()
    with Run(out, resume=True) as run:
        run.begin(*PARTS, plan_of(steps=34))
    assert lines(out) == [line for line in before if line["step"] < 33]
    assert best_step(run.metrics.validations()) == 30


def test_a_checkpoint_of_a_stop_is_passed_over_even_if_it_is_still_there(
    tmp_path: Path,
) -> None:
    """As when the program was killed before it could be removed."""
    bare(tmp_path, 110, 120, 130)
    bare(tmp_path, 125, due=False)
    assert kept(tmp_path) == [110, 120, 130] and averaged(tmp_path) == [120, 130]
    bare(tmp_path, 135, due=False)
    assert averaged(tmp_path) == [130, 135]
    prune_checkpoints(tmp_path, 2, None)
    assert kept(tmp_path) == [130, 135]
    assert not (tmp_path / "checkpoints" / "step-0000125").exists()


def test_the_scaler_and_the_sums_come_back(
    tmp_path: Path, vocabulary: Vocabulary
) -> None:
    model, scaler = Transformer(TINY), {"scale": 65536.0, "_growth_tracker": 7}
    optimizer, sums = learned(model), {"loss": 0.1 + 0.2, "words": 7}
    with Run(tmp_path) as run:
        run.begin(model, optimizer, vocabulary, plan_of())
        assert run.scaler is None and run.sums is None
        run.save(3, 1.5, model, optimizer, scaler=scaler, sums=sums)
    with Run(tmp_path, resume=True) as run:
        run.begin(model, optimizer, vocabulary, plan_of(**{"checkpoints.keep": 5}))
        assert (run.scaler, run.sums) == (scaler, sums)
        assert (run.step, run.minutes, run.due) == (3, 1.5, True)


@pytest.mark.parametrize(
    ("training", "said"),
    [
        ({"steps": 2}, "step-0000003: has taken 3 steps, more than 2; ask for more"),
        ({"steps": 9, "seed": 8}, "trained with seed=7, not 8; use that, or another f"),
    ],
)
def test_a_flag_that_is_wrong_costs_no_checkpoint(
    training: dict[str, Any], said: str, tmp_path: Path, vocabulary: Vocabulary
) -> None:
    model = Transformer(TINY)
    parts = model, learned(model), vocabulary
    with Run(tmp_path) as run:
        run.begin(*parts, plan_of(seed=7, steps=3))
        run.save(3, 0.0, *parts[:2])
    with Run(tmp_path, resume=True) as run:
        message = complaint(run.begin, *parts, plan_of(**{"seed": 7} | training))
    assert said in message and "remove" not in message


# Killed, or out of disk, at every call


class Killed(BaseException):
    """The process is no more."""


CALLS = """
os.mkdir os.rename os.open os.fsync os.unlink os.rmdir os.chmod shutil.rmtree
pathlib.Path.write_text pathlib.Path.write_bytes aiayn.training.checkpoint.save_file
""".split()


@contextlib.contextmanager
def failing(
    patch: pytest.MonkeyPatch, number: int, error: BaseException
) -> Iterator[list[str]]:
    """Let one call of those that change the disk fail, before or (a file) after half of
    it is done.

    After a kill, no other works either.
    """
    made: list[str] = []

    def broken(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def tried(*arguments: Any, **named: Any) -> Any:
            made.append(name)
            now, dead = len(made) == number, isinstance(error, Killed)
            if now and name.endswith("save_file"):
                arguments[1].write_bytes(b"half")
            if now or (dead and len(made) > number):
                raise error
            return call(*arguments, **named)

        return tried

    with patch.context() as here:
        for name in CALLS:
            *where, last = name.split(".")
            owner: Any = sys.modules.get(".".join(where)) or Path
            here.setattr(owner, last, broken(name, getattr(owner, last)))
        yield made


@pytest.fixture(scope="module")
def trained(vocabulary: Vocabulary) -> tuple[Any, ...]:
    """What `Run.begin` is told."""
    model = Transformer(TINY)
    return model, learned(model), vocabulary, plan_of()


@pytest.fixture(scope="module")
def three_steps(
    trained: tuple[Any, ...], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run with checkpoints of two steps that were due and one that was not."""
    out = tmp_path_factory.mktemp("three") / "run"
    with Run(out) as run:
        run.begin(*trained)
        for step, due in ((1, True), (2, True), (3, False)):
            run.save(step, 0.0, *trained[:2], due=due)
    (out / "checkpoints" / ".step-0000004.part").mkdir()  # it was killed here before
    return out


@pytest.mark.filterwarnings("ignore:.*cannot be removed")
@pytest.mark.parametrize("error", [Killed(), OSError(28, "No space left on device")])
def test_a_save_that_fails_anywhere_leaves_only_whole_checkpoints(
    error: BaseException,
    trained: tuple[Any, ...],
    three_steps: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(1, 1000):
        out = shutil.copytree(three_steps, tmp_path / str(number))
        with Run(out, resume=True) as run:
            run.begin(*trained)
            with (
                failing(monkeypatch, number, error) as made,
                contextlib.suppress(Killed, InputError),
            ):
                run.save(4, 0.0, *trained[:2])
        assert kept(out) in ([2, 3], [1, 2, 4], [2, 4]), made[-1]
        load_checkpoint(list_checkpoints(out))
        with Run(out, resume=True) as again:
            again.begin(*trained)
            assert again.step == kept(out)[-1]
            again.save(5, 0.0, *trained[:2])
        assert kept(out)[-1] == 5 and len(kept(out)) == 2 and not hidden(out)
        if len(made) < number:
            break
    assert number > 20


# Told to stop


def test_a_terminal_that_is_closed_stops_a_run_unless_nohup_forbids_it() -> None:
    before = signal.getsignal(signal.SIGHUP)
    try:
        for usual, heard in ((signal.SIG_IGN, []), (signal.SIG_DFL, [signal.SIGHUP])):
            signal.signal(signal.SIGHUP, usual)
            with stop_signals() as caught:
                signal.raise_signal(signal.SIGHUP)
                assert caught == heard and signal.getsignal(signal.SIGHUP) == usual
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_line_that_finds_no_room_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> io.TextIOBase:
        raise OSError(28, "No space left on device")

    with Run(tmp_path) as run, monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        message = complaint(run.metrics.log, 1, loss=1.0)
    said = "metrics.jsonl: cannot be written (No space left"
    assert message.startswith(f"{tmp_path}/{said}")
    assert message.endswith("; make room, then resume")
