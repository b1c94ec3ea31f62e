"""bench/ablation.py: what its variants are; with a tiny recipe and corpus, a record."""

import sys
from pathlib import Path
from typing import Any

import ablation
import multi30k
import pytest
from small_runs import QUICK

from aiayn.base_config import changed, settings
from aiayn.data import load_pairs
from aiayn.training import TrainingConfig, recipe, train_model


def test_each_variant_adds_its_part_and_the_last_is_the_recipe() -> None:
    whole, plain = recipe("multi30k"), TrainingConfig()
    variants = [ablation.variant(name) for name in ablation.VARIANTS]
    assert variants[-1] == ablation.shortened(whole, ablation.PART)
    assert variants[-1].steps == whole.steps // 3
    peaks = [each.rate(each.optimizer.warmup) for each in (variants[-1], whole)]
    assert peaks[0] == pytest.approx(peaks[1])
    for fields, below, above in zip(
        list(ablation.VARIANTS.values())[1:], variants, variants[1:], strict=False
    ):
        less, more, usual = (settings(each) for each in (below, above, plain))
        assert less | {field: more[field] for field in fields} == more != less
        assert all(less[field] == usual[field] for field in fields)


def test_variants_are_trained_apart_and_recorded_together(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rate, saved = {"warmup": 12, "cooldown": 6}, {"steps": 4, "average": 1}
    few = changed(QUICK, optimizer=rate, checkpoints=saved, steps=24)

    def train(config: TrainingConfig, _: str, pair: str, out: Path, **how: Any) -> None:
        train_model(config, str(corpus), pair, out, resume=how.get("resume", False))

    def pairs(_: str, *rest: str) -> Any:
        return load_pairs(str(corpus), *rest)

    found: dict[str, Any] = {}
    for name, value in {
        "VARIANTS": {"plain": (), "cooldown": ("optimizer.cooldown",)},
        "recipe": lambda _: few,
        "train_model": train,
        "pace": lambda name: 0.2 + len(name) / 100,
        "keep_heap": lambda: None,
        "FOLDER": tmp_path / "ablation",
        "SPLIT": "train",
        "load_pairs": pairs,
    }.items():
        monkeypatch.setattr(ablation, name, value)
    monkeypatch.setattr(multi30k, "load_pairs", pairs)
    monkeypatch.setattr(ablation.records, "write", found.__setitem__)

    def call(*more: str) -> str:
        command = ["ablation.py", "--out", str(tmp_path / "run"), *more]
        monkeypatch.setattr(sys, "argv", command)
        ablation.main()
        return capsys.readouterr().out

    seeds = "--seeds", "2"
    assert "still to be trained:\n  plain" in call("--variants", "cooldown", *seeds)
    assert "still to be measured: --pace" in call(*seeds)
    monkeypatch.setattr(ablation, "train_model", None)  # all are through
    call("--pace", *seeds)
    record = found["ablation"]
    paces = record["pace"]["seconds per step"]
    assert record["steps"] == few.steps // 3
    assert record["trained_on"] == [ablation.records.machine()]
    assert paces == {"plain": 0.25, "cooldown": 0.28}
    for split in ("val", "train"):
        plain, cooldown = (each[split] for each in record["variants"].values())
        assert set(plain) == {"BLEU", "seeds"}
        gain, value = cooldown["gain"], cooldown["BLEU"]["value"]
        assert sum(cooldown["seeds"]) / 2 == pytest.approx(value, abs=0.011)
        assert gain["low"] <= gain["value"] <= gain["high"]
        assert cooldown["whole gain"] == gain  # there are but two variants
        apart = value - plain["BLEU"]["value"]
        assert gain["value"] == pytest.approx(apart, abs=0.011)
