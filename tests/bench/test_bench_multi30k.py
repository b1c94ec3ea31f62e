"""bench/multi30k.py, with a tiny model and corpus: seeds, record, packed weights."""

import hashlib
import json
import shutil
import signal
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import multi30k
import pytest
import torch
from safetensors.torch import load_file
from small_runs import QUICK, write_corpus

from aiayn.base_config import changed
from aiayn.data import load_pairs
from aiayn.training import TrainingConfig, train_model
from aiayn.training.checkpoint import list_checkpoints
from aiayn.training.step import accumulate_gradients
from aiayn.training.trained_run import TrainedRun


def never(*_: Any, **__: Any) -> None:
    raise AssertionError("a seed that is through is trained again")


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Records by name; the bench trains a tiny recipe on number words."""
    corpus = write_corpus(tmp_path / "corpus")
    few = changed(QUICK, checkpoints={"steps": 3, "average": 1}, steps=6)

    def tiny(name: str, **changes: Any) -> TrainingConfig:
        assert name == "multi30k-wu" and changes.pop("optimizer.muon") is True
        return replace(few, **changes)

    def train(config: TrainingConfig, _: str, pair: str, out: Path, **how: Any) -> None:
        train_model(config, str(corpus), pair, out, resume=how["resume"])

    found: dict[str, Any] = {}
    monkeypatch.setattr(multi30k, "recipe", tiny)
    monkeypatch.setattr(multi30k, "train_model", train)
    monkeypatch.setattr(multi30k, "keep_heap", lambda: None)
    monkeypatch.setattr(multi30k, "PARTIAL", tmp_path / "partial")
    monkeypatch.setattr(multi30k, "SPLIT", "val")
    monkeypatch.setattr(
        multi30k, "load_pairs", lambda _, *rest: load_pairs(str(corpus), *rest)
    )
    monkeypatch.setattr(multi30k.records, "write", found.__setitem__)
    return found


def test_seeds_are_recorded_and_the_best_is_packed(
    written: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [
        "multi30k.py",
        "--recipe",
        "multi30k-wu",
        "--change",
        "optimizer.muon=true",
    ]
    command += ["--name", "wu-muon", "--out", str(tmp_path / "run")]
    for more in (["--seeds", "1"], ["--seeds", "2", "--weights", str(tmp_path / "w")]):
        monkeypatch.setattr(sys, "argv", [*command, *more])
        multi30k.main()
    record = written["wu-muon-en-de"]
    text = (tmp_path / "partial" / "wu-muon-en-de.json").read_text(encoding="utf-8")
    assert list(record["seeds"]) == ["1", "2"] == list(json.loads(text))
    for seed in record["seeds"].values():
        assert seed["steps"] == 6 and [step for step, _ in seed["curve"]] == [3, 6]
        assert set(seed["measured"]) == {multi30k.FORM, "chrF"}
        found = seed["measured"][multi30k.FORM]
        by_alpha = seed["bleu_on_val_by_alpha"]  # val is the test set here
        assert found["value"] == by_alpha[str(seed["alpha"])]
        assert found["low"] <= found["value"] <= found["high"]

    weights = record["weights"]
    content = (tmp_path / "w" / weights["file"]).read_bytes()
    assert weights["bytes"] == len(content)
    assert weights["sha256"] == hashlib.sha256(content).hexdigest()
    with zipfile.ZipFile(tmp_path / "w" / weights["file"]) as archive:
        archive.extractall(tmp_path / "unpacked")
    best = tmp_path / f"run-wu-muon-en-de-{record['best_on_val']}"
    packed = tmp_path / "unpacked/wu-muon-en-de"
    rounded = load_file(packed / "model.safetensors")
    trained = load_file(list_checkpoints(best)[-1] / "model.safetensors")
    for name, weight in trained.items():
        assert torch.equal(rounded[name], weight.half())
    loaded, _ = TrainedRun.read(packed).load("cpu")  # as any checkpoint
    for name, weight in loaded.named_parameters():
        assert torch.equal(weight, rounded[name].float())

    # Neither trained nor scored again, and the one that is not asked for stays.
    monkeypatch.setattr(multi30k, "train_model", never)
    for seed in record["seeds"]:
        shutil.rmtree(tmp_path / f"run-wu-muon-en-de-{seed}")
    partial = tmp_path / "partial" / "wu-muon-en-de.json"
    alpha, seeds = record["seeds"]["1"]["alpha"], json.loads(text)
    monkeypatch.setattr(multi30k, "best_alpha", lambda _: alpha)
    for count, known in ("2", ["1", "2"]), ("1", ["1"]):
        monkeypatch.setattr(sys, "argv", [*command, "--seeds", count])
        multi30k.main()
        assert list(written["wu-muon-en-de"]["seeds"]) == known
        assert json.loads(partial.read_text(encoding="utf-8")) == seeds

    monkeypatch.setattr(multi30k, "best_alpha", lambda _: 0.0)
    monkeypatch.setattr(multi30k, "scores", lambda *_: {"bleu": {multi30k.FORM: 1.0}})
    monkeypatch.setattr(multi30k, "ALPHAS", (0.0,))
    for each in seeds.values():
        each["bleu_on_val_by_alpha"]["0.0"] = 1.0
    partial.write_text(json.dumps(seeds), encoding="utf-8")
    multi30k.main()  # seed 1 alone, with another alpha
    assert json.loads(partial.read_text(encoding="utf-8"))["2"] == seeds["2"]


def test_the_alpha_is_the_best_in_the_mean_of_the_seeds() -> None:
    worst = dict.fromkeys(map(str, multi30k.ALPHAS), 10.0)
    models = [worst | {"0.6": 30.0, "1.0": 29.0}, worst | {"1.4": 30.0, "1.0": 29.0}]
    assert [multi30k.best_alpha([each]) for each in models] == [0.6, 1.4]
    assert multi30k.best_alpha(models) == 1.0


def test_a_seed_that_a_signal_ended_is_not_scored(
    written: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return accumulate_gradients(*arguments)

    command = [
        "multi30k.py",
        "--recipe",
        "multi30k-wu",
        "--change",
        "optimizer.muon=true",
    ]
    monkeypatch.setattr(sys, "argv", [*command, "--out", str(tmp_path / "run")])
    with monkeypatch.context() as patch:
        patch.setattr("aiayn.training.step.accumulate_gradients", stopped)
        with pytest.raises(SystemExit, match="interrupted after step 1; the same"):
            multi30k.main()
    assert not written and not (tmp_path / "partial").exists()
    multi30k.main()
    assert written["multi30k-wu-en-de"]["seeds"]["1"]["steps"] == 6
