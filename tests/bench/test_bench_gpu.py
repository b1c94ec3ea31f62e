"""bench/gpu.py on the processor, with tiny sizes."""

import json
from pathlib import Path

import gpu
import gpu_runs
import gpu_steps
import numpy as np
import pytest
import torch
from small_runs import write_corpus


def call(monkeypatch: pytest.MonkeyPatch, place: Path, *parts: str) -> None:
    """The command, with some of its parts."""
    words = ["gpu.py", "--device", "cpu", "--tiny", "--parts", *parts]
    words += ["--data", str(write_corpus(place / "corpus"))]
    words += ["--out", str(place / "records"), "--runs", str(place / "runs")]
    monkeypatch.setattr("sys.argv", words)
    gpu.main()


def record(place: Path, name: str) -> dict:
    path = place / "records" / f"gpu-{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_without_a_gpu_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("sys.argv", ["gpu.py"])
    with pytest.raises(SystemExit) as stop:
        gpu.main()
    assert stop.value.code == 1 and "without a CUDA GPU" in capsys.readouterr().err


def test_equality_and_steps(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    one_thread: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    call(monkeypatch, tmp_path, "a", "b")
    types = record(tmp_path, "equality")["types"]
    assert set(types) == {"float32", "bfloat16", "float16"}
    assert all(found["within"] for found in types.values())
    assert all(len(found["attention"]) == 24 for found in types.values())
    (model,) = record(tmp_path, "step")["models"]
    assert {"aiayn", "torch.nn"} <= set(model["rows"]) and not model["skipped"]
    assert all(row["seconds_per_step"] > 0 for row in model["rows"].values())
    capsys.readouterr()
    call(monkeypatch, tmp_path, "a", "b")
    assert capsys.readouterr().out.count("recorded before") == 2


def test_base_rows_of_table_3_and_decoding(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, one_thread: None
) -> None:
    call(monkeypatch, tmp_path, "d", "e", "f")
    base = record(tmp_path, "base")
    assert base["curve"][-1][0] == gpu_runs.TINY.base.steps
    assert set(base["bleu"]) >= {"sacrebleu", "paper"}
    runs = record(tmp_path, "table3")["runs"]
    assert [(run["row"], "bleu" in run) for run in runs] == [("base", 1), ("E", 1)]
    rows = record(tmp_path, "decoding")["rows"]
    assert {row["program"] for row in rows} == {"aiayn", "ctranslate2"}


@pytest.mark.nightly
def test_a_launched_run_that_is_killed_goes_on_to_the_same_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    call(monkeypatch, tmp_path, "c")
    launch = record(tmp_path, "launch")
    assert launch["within"] and launch["processes_killed"] >= 3
    assert launch["killed_after_checkpoint"] < launch["steps"]


def test_random_pairs_fill_a_batch_like_those_of_wmt() -> None:
    rng = np.random.default_rng(0)
    batches = [gpu_steps.random_pairs(25_000, 37_000, rng) for _ in range(40)]
    shapes = [gpu_steps.lengths_of(batch) for batch in batches]
    for shape in shapes:
        assert (shape.max(axis=0) * len(shape) <= 25_000).all()
        assert shape.sum(axis=0).min() > 22_000
    pairs = sum(len(shape) for shape in shapes)
    assert 22 < sum(shape.sum() for shape in shapes) / 2 / pairs < 32
