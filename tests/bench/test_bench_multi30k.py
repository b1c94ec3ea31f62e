"""bench/multi30k.py, with a tiny model and corpus: seeds, record, packed weights."""

import hashlib
import json
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import multi30k
import pytest
import torch
from safetensors.torch import load_file
from small_runs import QUICK

from aiayn.base_config import changed
from aiayn.data import load_pairs
from aiayn.training import TrainingConfig, train_model
from aiayn.training.checkpoint import list_checkpoints
from aiayn.training.step import accumulate_gradients
from aiayn.training.trained_run import TrainedRun


@pytest.fixture
def written(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Records by name; the bench trains a tiny recipe on number words."""
    few = changed(QUICK, checkpoints={"steps": 3, "average": 1}, steps=6)

    def tiny(name: str, **changes: Any) -> TrainingConfig:
        assert name == "multi30k-wu" and changes.pop("optimizer.muon") is True
        return replace(few, **changes)

    def train(config: TrainingConfig, _: str, pair: str, out: Path, **how: Any) -> None:
        train_model(config, str(corpus), pair, out, resume=how["resume"])

    found: dict[str, Any] = {}
    for name, value in {
        "recipe": tiny,
        "train_model": train,
        "keep_heap": lambda: None,
        "PARTIAL": tmp_path / "partial",
        "SPLIT": "val",
        "load_pairs": lambda _, *rest: load_pairs(str(corpus), *rest),
    }.items():
        monkeypatch.setattr(multi30k, name, value)
    monkeypatch.setattr(multi30k.records, "write", found.__setitem__)
    return found


@pytest.fixture
def call(out: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """The bench's command, with more flags."""

    def call(*more: Any) -> None:
        words = "multi30k.py --recipe multi30k-wu --change optimizer.muon=true --out"
        monkeypatch.setattr(sys, "argv", [*words.split(), str(out), *map(str, more)])
        multi30k.main()

    return call


def test_seeds_are_recorded_and_the_best_is_packed(
    call: Callable[..., None],
    written: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = ["--name", "wu-muon"]
    call(*name, "--seeds", 1)
    call(*name, "--seeds", 2, "--weights", tmp_path / "w")
    record, partial = written["wu-muon-en-de"], tmp_path / "partial/wu-muon-en-de.json"
    text = partial.read_text(encoding="utf-8")
    assert list(record["seeds"]) == ["1", "2"] == list(json.loads(text))
    for seed in record["seeds"].values():
        assert seed["steps"] == 6 and [step for step, _ in seed["curve"]] == [3, 6]
        assert set(seed["measured"]) == {multi30k.FORM, "chrF"}
        found = seed["measured"][multi30k.FORM]
        by_alpha = seed["bleu_on_val_by_alpha"]  # val is the test set here
        assert found["value"] == by_alpha[str(seed["alpha"])]
        assert found["low"] <= found["value"] <= found["high"]

    weights = record["weights"]
    archive = tmp_path / "w" / weights["file"]
    content = archive.read_bytes()
    assert weights["bytes"] == len(content)
    assert weights["sha256"] == hashlib.sha256(content).hexdigest()
    shutil.unpack_archive(archive, tmp_path / "unpacked", "zip")
    best = tmp_path / f"run-wu-muon-en-de-{record['best_on_val']}"
    packed = tmp_path / "unpacked/wu-muon-en-de"
    rounded = load_file(packed / "model.safetensors")
    trained = load_file(list_checkpoints(best)[-1] / "model.safetensors")
    for name_, weight in trained.items():
        assert torch.equal(rounded[name_], weight.half())
    loaded, _ = TrainedRun.read(packed).load("cpu")  # as any checkpoint
    for name_, weight in loaded.named_parameters():
        assert torch.equal(weight, rounded[name_].float())

    # Neither trained nor scored again, and the one that is not asked for stays.
    monkeypatch.setattr(multi30k, "train_model", None)
    for seed in record["seeds"]:
        shutil.rmtree(tmp_path / f"run-wu-muon-en-de-{seed}")
    alpha, seeds = record["seeds"]["1"]["alpha"], json.loads(text)
    monkeypatch.setattr(multi30k, "best_alpha", lambda _: alpha)
    for known in (["1", "2"], ["1"]):
        call(*name, "--seeds", len(known))
        assert list(written["wu-muon-en-de"]["seeds"]) == known
        assert json.loads(partial.read_text(encoding="utf-8")) == seeds

    monkeypatch.setattr(multi30k, "best_alpha", lambda _: 0.0)
    monkeypatch.setattr(multi30k, "scores", lambda *_: {"bleu": {multi30k.FORM: 1.0}})
    monkeypatch.setattr(multi30k, "ALPHAS", (0.0,))
    for each in seeds.values():
        each["bleu_on_val_by_alpha"]["0.0"] = 1.0
    partial.write_text(json.dumps(seeds), encoding="utf-8")
    call(*name, "--seeds", 1)  # with another alpha
    assert json.loads(partial.read_text(encoding="utf-8"))["2"] == seeds["2"]


def test_the_alpha_is_the_best_in_the_mean_of_the_seeds() -> None:
    worst = dict.fromkeys(map(str, multi30k.ALPHAS), 10.0)
    models = [worst | {"0.6": 30.0, "1.0": 29.0}, worst | {"1.4": 30.0, "1.0": 29.0}]
    assert [multi30k.best_alpha([each]) for each in models] == [0.6, 1.4]
    assert multi30k.best_alpha(models) == 1.0


def test_a_seed_that_a_signal_ended_is_not_scored(
    call: Callable[..., None],
    written: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return accumulate_gradients(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr("aiayn.training.step.accumulate_gradients", stopped)
        with pytest.raises(SystemExit, match="interrupted after step 1; the same"):
            call()
    assert not written and not (tmp_path / "partial").exists()
    call()
    assert written["multi30k-wu-en-de"]["seeds"]["1"]["steps"] == 6
