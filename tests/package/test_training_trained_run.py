"""A run that has come to its end: what is in its folder, read once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import NUMBERS, QUICK, TINY, complaint, plan_of, same

import aiayn.training.checkpoint
from aiayn.data import Vocabulary, train_vocabulary
from aiayn.model import Transformer
from aiayn.training.checkpoint import save_checkpoint
from aiayn.training.checkpoint_metadata import kind_of
from aiayn.training.trained_run import TrainedRun


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabulary([" ".join(NUMBERS)], TINY.vocabulary_size)


@pytest.fixture
def run(tmp_path: Path, vocabulary: Vocabulary) -> tuple[Path, list[Transformer]]:
    """A run with four checkpoints, late in its steps; the second was not due."""
    models = [Transformer(TINY).eval() for _ in range(4)]
    plan = replace(plan_of(seed=7), data="multi30k", pair="en-de")
    for step, model in enumerate(models, start=97):
        description = replace(plan, step=step, minutes=step / 2, due=step != 98)
        folder = tmp_path / "checkpoints" / f"step-{step}"
        save_checkpoint(folder, model, vocabulary, description)
    return tmp_path, models


def test_what_a_run_says(run: tuple[Path, Any], descriptions_read: list[Path]) -> None:
    found = TrainedRun.read(run[0])
    assert [path.name for path in found.checkpoints] == ["step-99", "step-100"]
    said = found.description
    assert (said.model, said.data, said.pair) == (TINY, "multi30k", "en-de")
    assert (said.step, said.minutes, said.due) == (100, 50.0, True)
    assert said.training == replace(QUICK, seed=7)
    assert said.sums is None and said.scaler is None
    assert found.kind == "translation" and found.trained_on() == ("multi30k", "en-de")
    assert found.trained_on(pair="de-en") == ("multi30k", "de-en")
    found.load()
    read = sorted(int(path.parent.name[5:]) for path in descriptions_read)
    assert read == [97, 98, 99, 100]


@pytest.mark.parametrize(
    ("average", "steps"), [(None, [3, 4]), (1, [4]), (3, [1, 3, 4])]
)
def test_the_mean_of_the_last(
    run: tuple[Path, list[Transformer]],
    average: int | None,
    steps: list[int],
    vocabulary: Vocabulary,
) -> None:
    """Checkpoints that were not due are passed over."""
    model, words = TrainedRun.read(run[0], average).load("cpu")
    assert words.model == vocabulary.model and not model.training
    weights = [dict(run[1][step - 1].named_parameters()) for step in steps]
    wanted = {
        name: sum(each[name].double() for each in weights) / len(weights)
        for name in weights[0]
    }
    torch.testing.assert_close(
        dict(model.named_parameters()), {n: w.float() for n, w in wanted.items()}
    )


def test_a_short_runs_mean_does_not_reach_back(
    tmp_path: Path, vocabulary: Vocabulary
) -> None:
    """The weights of its first steps are far from the last."""
    plan = plan_of(checkpoints={"keep": 9, "average": 4})
    for step in (50, 80, 81, 100):
        folder, known = (
            tmp_path / "checkpoints" / f"step-{step}",
            replace(plan, step=step),
        )
        save_checkpoint(folder, Transformer(TINY), vocabulary, known)
    found = TrainedRun.read(tmp_path).checkpoints
    assert [path.name for path in found] == ["step-81", "step-100"]
    assert len(TrainedRun.read(tmp_path, average=4).checkpoints) == 4


def test_more_than_there_are(run: tuple[Path, Any]) -> None:
    for average in (0, 4):
        assert "but it may be 1 to 3 checkpoints here" in complaint(
            TrainedRun.read, run[0], average
        )
    assert "no model here" in complaint(TrainedRun.read, run[0] / "checkpoints")


def test_one_checkpoint_is_a_run(run: tuple[Path, list[Transformer]]) -> None:
    folder = run[0] / "checkpoints" / "step-98"
    found = TrainedRun.read(folder)
    assert found.checkpoints == [folder] and found.description.step == 98
    assert same(
        dict(found.load("cpu")[0].named_parameters()),
        dict(run[1][1].named_parameters()),
    )


def test_a_checkpoint_that_is_not_averaged_may_be_damaged(
    run: tuple[Path, Any],
) -> None:
    (run[0] / "checkpoints" / "step-97" / "config.json").write_text("{")
    assert TrainedRun.read(run[0]).load()
    (run[0] / "checkpoints" / "step-100" / "config.json").write_text("{")
    assert "step-100/config.json: not a configuration" in complaint(
        TrainedRun.read, run[0]
    )


def test_the_shape_is_found_out_once(
    run: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many checkpoints are averaged: one model without numbers, and the one
    that is given back.
    """
    built, build = list[str](), aiayn.training.checkpoint.build

    def counted(config: Any) -> Any:
        model = build(config)
        built.append(next(model.parameters()).device.type)
        return model

    monkeypatch.setattr(aiayn.training.checkpoint, "build", counted)
    TrainedRun.read(run[0], 3).load("cpu")
    assert built == ["meta", "cpu"]


def test_a_model_that_learned_trees_is_a_parser() -> None:
    assert kind_of("en-trees") == "parsing"
    assert {kind_of(pair) for pair in ("en-de", "trees-en", None)} == {"translation"}
