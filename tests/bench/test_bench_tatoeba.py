"""bench/tatoeba.py and bench/tatoeba_ablation.py, with a tiny model and corpus."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tatoeba
import tatoeba_ablation
from small_runs import QUICK

from aiayn.base_config import changed, settings
from aiayn.data import load_pairs
from aiayn.training import TrainingConfig, recipe, train_model

RATE, SAVED = {"warmup": 4, "cooldown": 3}, {"steps": 3, "average": 1}
FEW = changed(QUICK, optimizer=RATE, checkpoints=SAVED, steps=6)


@pytest.fixture
def call(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Calls a bench's main on number words; what it records."""

    def train(config: TrainingConfig, _: str, pair: str, out: Path, **how: Any) -> None:
        train_model(config, str(corpus), pair, out, resume=how.get("resume", False))

    def number_words(_: str, pair: str, split: str) -> Any:
        return load_pairs(str(corpus), pair, "train" if split == "train" else "val")

    def call(bench: ModuleType, *more: str) -> Any:
        found: dict[str, Any] = {}
        for name, value in {
            "recipe": lambda _: FEW,
            "train_model": train,
            "load_pairs": number_words,
            "keep_heap": lambda: None,
        }.items():
            monkeypatch.setattr(bench, name, value)
        monkeypatch.setattr(bench.records, "write", found.__setitem__)
        command = [bench.__name__, "--out", str(tmp_path / "run"), *more]
        monkeypatch.setattr(sys, "argv", command)
        bench.main()
        return found

    return call


def test_seeds_are_scored_with_the_alpha_that_val_chose(
    call: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(tatoeba, "PARTIAL", tmp_path)
    with pytest.raises(SystemExit):
        call(tatoeba, "--seeds", "1")
    assert "--pace" in capsys.readouterr().err
    monkeypatch.setattr(tatoeba, "PACE_STEPS", 6)
    monkeypatch.setattr(tatoeba, "FIRST", 2)
    call(tatoeba, "--pace")
    record = call(tatoeba, "--seeds", "2")["tatoeba-en-de"]
    assert list(record["seeds"]) == ["1", "2"]
    assert record["pairs"] == {"train": 60, "val": 10, "test": 10}
    assert record["pace"]["minutes"] == pytest.approx(
        FEW.steps * record["pace"]["seconds_a_step"] / 60, abs=0.06
    )
    for seed in record["seeds"].values():
        assert seed["steps"] == 6 and [step for step, _ in seed["curve"]] == [3, 6]
        assert seed["alpha"] == record["alpha"]
        # The test set is val here.
        in_val = seed["bleu_on_val_by_alpha"][str(record["alpha"])]
        assert seed["BLEU"]["value"] == pytest.approx(in_val, abs=0.01)
        assert seed["chrF"]["low"] <= seed["chrF"]["value"] <= seed["chrF"]["high"]
    one, two = (each["BLEU"]["value"] for each in record["seeds"].values())
    assert record["mean"]["BLEU"] == pytest.approx((one + two) / 2, abs=0.01)

    monkeypatch.setattr(tatoeba, "train_seed", None)  # both are through
    again = call(tatoeba, "--seeds", "2")["tatoeba-en-de"]
    assert json.dumps(again) == json.dumps(record)


def test_each_variant_of_the_ablation_differs_in_what_it_names() -> None:
    shorter = tatoeba_ablation.variant(tatoeba_ablation.RECIPE)
    assert shorter.steps == recipe("tatoeba").steps // tatoeba_ablation.PART
    for name, fields in tatoeba_ablation.VARIANTS.items():
        theirs = settings(tatoeba_ablation.variant(name))
        assert theirs == settings(shorter) | fields
        assert all(settings(shorter)[field] != value for field, value in fields.items())


def test_variants_are_trained_apart_and_recorded_together(
    call: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    variants = {tatoeba_ablation.RECIPE: {}, "Muon": {"optimizer.muon": True}}
    monkeypatch.setattr(tatoeba_ablation, "VARIANTS", variants)
    monkeypatch.setattr(tatoeba_ablation, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(tatoeba_ablation, "shortened", lambda whole, _: replace(whole))
    assert not call(tatoeba_ablation, "--variants", "Muon", "--seeds", "1")
    assert "still to be trained:\n  the recipe-1" in capsys.readouterr().out
    record = call(tatoeba_ablation, "--seeds", "1")["tatoeba-ablation"]
    assert record["steps"] == FEW.steps
    for name, found in record["variants"].items():
        assert found["seeds"] == [found["BLEU"]["value"]]
        assert found["perplexity"][0] > 1
        assert (tmp_path / f"kept/{name}-1.json").exists()
    ahead = record["variants"][tatoeba_ablation.RECIPE]["over the recipe"]
    assert ahead == {"value": 0.0, "low": 0.0, "high": 0.0}
