"""The lines that a training writes down: weighed rightly, whole or forgotten, and
readable by TensorBoard.
"""

import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from small_runs import complaint, lines

from aiayn.data.batching import GlobalBatch
from aiayn.training.metrics_log import Meter, Metrics, best_step, should_stop_early
from aiayn.training.run_folder import Run


def batch(words: int, tokens: int, positions: int) -> GlobalBatch:
    lengths = np.array([[tokens - words, words]])
    return GlobalBatch([], words, tokens, positions, np.arange(1), lengths)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that one sets: `clock.now`, in seconds."""
    clock = SimpleNamespace(now=5000.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr("aiayn.training.metrics_log.time", clock)
    return clock


@pytest.fixture
def meter(clock: SimpleNamespace) -> Meter:
    """One that has just begun."""
    return Meter(minutes=0.0, peak=1e10)


def step(
    meter: Meter, clock: Any, seconds: float, found: dict[str, float], work: GlobalBatch
) -> None:
    clock.now += seconds
    meter.add(found, work, 6e9)


# Meter


def test_a_line_weighs_words_not_steps(meter: Meter, clock: Any) -> None:
    step(meter, clock, 1, {"loss": 30.0, "nll": 10 * math.log(2)}, batch(10, 25, 50))
    step(meter, clock, 2, {"loss": 0.0, "nll": 0.0}, batch(20, 35, 70))
    wanted = {"minutes": 3 / 60, "loss": 1.0, "smoothed_perplexity": math.e}
    wanted |= {"perplexity": 2 ** (1 / 3), "tokens_per_second": 20.0, "padding": 0.5}
    assert meter.line() == pytest.approx(wanted | {"utilisation": 12e9 / 3 / 1e10})


def test_a_line_tells_of_the_steps_since_the_last_one(meter: Meter, clock: Any) -> None:
    work = batch(10, 20, 20)
    step(meter, clock, 1, {"loss": 70.0, "nll": 60.0}, work)
    meter.clear()
    step(meter, clock, 4, {"loss": 50.0, "nll": 40.0}, work)
    line = meter.line()
    assert (line["loss"], line["tokens_per_second"], line["padding"]) == (5.0, 5.0, 0.0)
    assert line["minutes"] == pytest.approx(5 / 60)


def test_a_pause_is_no_training_but_takes_its_minutes(meter: Meter, clock: Any) -> None:
    for _ in range(2):
        step(meter, clock, 1, {"loss": 70.0, "nll": 60.0}, batch(10, 20, 20))
        clock.now += 600
        meter.pause()
    assert meter.line()["tokens_per_second"] == 20.0
    assert meter.minutes == pytest.approx(1202 / 60)


def test_minutes_go_on_from_earlier_sessions(clock: Any) -> None:
    meter = Meter(minutes=90.0, peak=1e10)
    clock.now += 30
    assert meter.minutes == pytest.approx(90.5)


def test_a_loss_beyond_all_bounds_is_written_down_too(
    meter: Meter, clock: Any, tmp_path: Path
) -> None:
    step(meter, clock, 1, {"loss": 1e9, "nll": 1e9}, batch(10, 20, 20))
    line = meter.line()
    assert math.isfinite(line["perplexity"]) and line["perplexity"] > 1e300
    Metrics(tmp_path).log(1, **line)
    assert lines(tmp_path)[0]["loss"] == 1e8


# Metrics


def test_lines_are_json_with_six_digits(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path)
    metrics.log(50, loss=1.23456789, tokens_per_second=123456789.0)
    metrics.log(100, loss=1e-9)
    text = (tmp_path / "metrics.jsonl").read_text()
    assert text == (
        '{"step": 50, "loss": 1.23457, "tokens_per_second": 123457000.0}\n'
        '{"step": 100, "loss": 1e-09}\n'
    )
    assert metrics.lines() == [json.loads(line) for line in text.splitlines()]


def test_only_one_worker_writes(tmp_path: Path) -> None:
    Metrics(tmp_path).log(1, loss=2.0)
    # It asks for no TensorBoard either.
    silent = Metrics(tmp_path, tensorboard=True, writes=False)
    silent.log(2, loss=1.0)
    silent.truncate(0)
    assert [line["step"] for line in silent.lines()] == [1]


@pytest.mark.parametrize(
    "rest", ["", '{"step": 3, "lo', '{"step": 3', "{", '{"step": 3, "loss": 1.0}']
)
def test_a_line_that_was_cut_off_is_no_line(tmp_path: Path, rest: str) -> None:
    metrics = Metrics(tmp_path)
    metrics.log(1, loss=2.0)
    metrics.log(2, loss=1.5)
    with metrics.path.open("a") as file:
        file.write(rest)
    assert [line["step"] for line in metrics.lines()] == [1, 2]
    metrics.truncate(2)
    metrics.log(3, loss=1.0)
    assert [line["step"] for line in lines(tmp_path)] == [1, 2, 3]


DAMAGED = [b"{", b"", b"\xff\xfe", b'{"step": 2} {"step": 3}', b"\0" * 40]


@pytest.mark.parametrize("line", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes) -> None:
    metrics = Metrics(tmp_path)
    metrics.log(1, loss=2.0)
    with metrics.path.open("ab") as file:
        file.write(line + b'\n{"step": 3, "loss": 1.0}\n')
    before = metrics.path.read_bytes()
    for action in (metrics.lines, metrics.validations, lambda: metrics.truncate(1)):
        assert complaint(action) == f"{metrics.path}, line 2: damaged; remove the line"
    assert metrics.path.read_bytes() == before
    metrics.path.write_bytes(before.replace(line + b"\n", b"", 1))
    assert [line["step"] for line in metrics.lines()] == [1, 3]


def test_cut_also_forgets_what_only_a_stop_had_written(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path)
    for number in (1, 2):
        metrics.log(number, loss=1.0)
        metrics.log(number, validation_perplexity=3.0)
    metrics.truncate(2, ["validation_perplexity"])
    assert [sorted(line) for line in metrics.lines() if line["step"] == 2] == [
        ["loss", "step"]
    ]
    assert metrics.validations() == {1: 3.0}
    metrics.truncate(2, ["loss"])
    assert {line["step"] for line in metrics.lines()} == {1}


def test_cut_forgets_what_came_after_a_step(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path)
    for number in (1, 2, 2, 3, 4):
        metrics.log(number, loss=1.0)
    metrics.truncate(2)
    assert [line["step"] for line in lines(tmp_path)] == [1, 2, 2]
    metrics.truncate(0)
    assert lines(tmp_path) == [] and metrics.path.exists()


def test_a_run_without_lines(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path)
    assert metrics.lines() == [] and metrics.validations() == {}
    assert best_step({}) is None and not should_stop_early({}, 1)


def test_the_best_step_is_the_first_of_the_lowest_perplexities(tmp_path: Path) -> None:
    metrics, found = Metrics(tmp_path), {10: 9.0, 20: 4.0, 30: 5.0, 40: 4.0}
    for number, perplexity in found.items():
        metrics.log(number, loss=1.0)
        metrics.log(number, validation_perplexity=perplexity)
    assert metrics.validations() == found and best_step(found) == 20


@pytest.mark.parametrize(
    ("perplexities", "patience", "expected"),
    [
        ([5.0], 1, False),
        ([5.0, 4.0], 1, False),
        ([5.0, 6.0], 1, True),
        ([5.0, 5.0], 1, True),
        ([5.0, 6.0], 2, False),
        ([5.0, 6.0, 5.5], 2, True),
        ([5.0, 6.0, 4.0], 2, False),
        ([5.0, 6.0, 4.0, 4.5, 4.1], 2, True),
        ([5.0, 6.0, 7.0], 10, False),
        ([5.0, 6.0, 7.0], None, False),
    ],
)
def test_patience_counts_validations_without_a_better_one(
    perplexities: list[float], patience: int | None, expected: bool
) -> None:
    found = dict(enumerate(perplexities, start=1))
    assert should_stop_early(found, patience) == expected


def test_a_resumed_meter_makes_the_line_of_an_uninterrupted_one(
    meter: Meter, clock: Any
) -> None:
    work = batch(10, 20, 25)
    values = [{"loss": 0.1 * k, "nll": 0.3 * k} for k in range(1, 8)]
    for found in values:
        step(meter, clock, 0.5, found, work)
    whole, first = meter.line(), Meter(minutes=0.0, peak=1e10)
    for found in values[:3]:
        step(first, clock, 0.5, found, work)
    noted = json.loads(json.dumps(first.sums))
    assert noted["target_tokens"] == 30
    clock.now += 1000
    second = Meter(minutes=first.minutes, peak=1e10, sums=noted)
    for found in values[3:]:
        step(second, clock, 0.5, found, work)
    assert second.line() | {"minutes": 0} == whole | {"minutes": 0}


# TensorBoard


def scalars(folder: Path, name: str = "loss") -> list[tuple[int, float]]:
    """Steps and values that TensorBoard finds in a run's folder."""
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    )
    events = accumulator.EventAccumulator(str(folder / "tensorboard")).Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_tensorboard_has_the_last_figures_of_a_run_that_is_closed(
    tmp_path: Path,
) -> None:
    pytest.importorskip("tensorboard")
    with Run(tmp_path, tensorboard=True) as run:
        for step in range(1, 500):
            run.metrics.log(step, loss=float(step))
    assert scalars(tmp_path)[-1] == (499, 499.0)


def test_tensorboard_with_no_place_to_write(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    (tmp_path / "tensorboard").write_text("not a folder")
    said = complaint(Metrics, tmp_path, tensorboard=True)
    assert "tensorboard: cannot be written to (" in said


def test_tensorboard_that_is_missing_is_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch.utils.tensorboard", "torch.utils.tensorboard.writer"):
        monkeypatch.setitem(sys.modules, name, None)
    assert "pip install tensorboard" in complaint(Metrics, tmp_path, tensorboard=True)


def test_tensorboard_reads_what_the_lines_say(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    metrics = Metrics(tmp_path, tensorboard=True)
    metrics.log(50, loss=1.5, perplexity=4.0)
    metrics.log(100, loss=1.25)
    assert metrics.writer is not None
    metrics.writer.close()
    assert scalars(tmp_path) == [(50, 1.5), (100, 1.25)]
    assert scalars(tmp_path, "perplexity") == [(50, 4.0)]
    assert [line["step"] for line in lines(tmp_path)] == [50, 100]


def test_tensorboard_forgets_what_the_lines_forget(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    first = Metrics(tmp_path, tensorboard=True)
    for step in (1, 2, 3):
        first.log(step, loss=10.0 + step)
    first.writer.close()
    second = Metrics(tmp_path, tensorboard=True)
    second.truncate(1)
    second.log(2, loss=20.0)
    second.writer.close()
    assert scalars(tmp_path) == [(1, 11.0), (2, 20.0)]
    assert len(list((tmp_path / "tensorboard").iterdir())) == 2  # one for each
