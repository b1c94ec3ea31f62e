"""A run with patience ends where it would have ended, wherever it was stopped on its
way.
"""

import math
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_runs import QUICK, TINY, Train, kept, lines, same, tensors, timeless

import aiayn.training.trainer
from aiayn.base_config import changed
from aiayn.training import TrainingConfig, load_checkpoint, train_model
from aiayn.training.trained_run import TrainedRun
from aiayn.training.trainer import Trainer
from aiayn.translation import Translator

PATIENT = changed(
    QUICK,
    checkpoints={"steps": 5, "keep": 4, "average": 3, "minutes": 0.0},
    model=TINY,
    steps=1000,
    patience=4,
)
SENTENCES = ["one two three", "four five six seven", "ten nine eight"]


@pytest.fixture(scope="module", autouse=True)
def best_at_30(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Validation that is best at step 30, so that patience ends after four more
    validations, at step 50.
    """

    def validate(trainer: Trainer, step: int, batches: Any) -> None:
        perplexity = math.exp(abs(step - 30) / 10)
        trainer.run.metrics.log(
            step, minutes=trainer.meter.minutes, validation_perplexity=perplexity
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIAYN_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(Trainer, "validate", validate)
        patch.setattr(aiayn.training.trainer, "LOG_STEPS", 5)
        patch.setattr(aiayn.training.trainer, "hardware_peak", lambda *_: 1e9)
        yield


def stopped(
    at: int, corpus: Path, out: Path, config: TrainingConfig = PATIENT, **options: Any
) -> None:
    """Train, with a signal during step `at`."""
    real = aiayn.training.trainer.training_step

    def step(*arguments: Any) -> Any:
        if arguments[3] == at:
            signal.raise_signal(signal.SIGTERM)
        return real(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aiayn.training.trainer, "training_step", step)
        assert not train_model(config, str(corpus), "en-de", out, **options).ended
    assert kept(out)[-1] == at


def same_run(one: Path, other: Path) -> None:
    """Two runs end at one step, keep and average the same checkpoints, and translate
    alike.
    """
    assert kept(one) == kept(other)
    assert [path.name for path in TrainedRun.read(one).checkpoints] == [
        path.name for path in TrainedRun.read(other).checkpoints
    ]
    assert timeless(one) == timeless(other)
    for name in ("model", "optimizer"):
        assert same(tensors(one, name), tensors(other, name))
    means = [
        dict(load_checkpoint(TrainedRun.read(run).checkpoints)[0].named_parameters())
        for run in (one, other)
    ]
    assert same(*means)
    assert Translator.load(one)(SENTENCES) == Translator.load(other)(SENTENCES)


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody stopped."""
    out = tmp_path_factory.mktemp("whole") / "run"
    train_model(PATIENT, str(corpus), "en-de", out)
    # The best one, and the last four.
    assert kept(out) == [30, 35, 40, 45, 50]
    return out


def test_stopped_at_ten_steps_it_ends_where_it_would_have(
    train: Train, corpus: Path, whole: Path, tmp_path: Path
) -> None:
    for step in (1, 5, 30, 31, 38, 49, 50):  # at the last, patience is over
        out = tmp_path / f"stopped-{step}"
        stopped(step, corpus, out)
        train(PATIENT, out, resume=True)
        same_run(out, whole)


@pytest.mark.parametrize("last", [35, 37])
def test_stopped_at_its_last_step_it_is_validated_when_it_goes_on(
    train: Train, last: int, corpus: Path, tmp_path: Path
) -> None:
    """Else it could never be told from one that has not ended."""
    out, short = tmp_path / "run", replace(PATIENT, steps=last)
    stopped(last, corpus, out, config=short)
    assert "validation_perplexity" not in lines(out)[-1]
    assert train(short, out, resume=True).ended
    assert "validation_perplexity" in lines(out)[-1] and lines(out)[-1]["step"] == last


def test_killed_before_the_validation_that_ends_it(
    train: Train, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, real = tmp_path / "run", Trainer.validate

    def validate(trainer: Trainer, step: int, batches: Any) -> None:
        if step == 50:
            raise MemoryError
        real(trainer, step, batches)

    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(Trainer, "validate", validate)
        train(PATIENT, out)
    assert train(PATIENT, out, resume=True).ended
    same_run(out, whole)


def test_a_run_that_ends_by_the_clock_or_by_its_steps_and_goes_on(
    train: Train, whole: Path, tmp_path: Path
) -> None:
    """The validation at such an end does not count when the run goes on."""
    for name, ends in (("steps", {"steps": 37}), ("minutes", {})):
        out = tmp_path / name
        ended = replace(PATIENT, **ends) if ends else replace(PATIENT, minutes=1e-9)
        train(ended, out)
        assert (
            lines(out)[-1]["step"] == kept(out)[-1]
            and "validation_perplexity" in lines(out)[-1]
        )
        train(PATIENT, out, resume=True)
        same_run(out, whole)
