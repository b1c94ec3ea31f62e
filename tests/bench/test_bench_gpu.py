"""bench/gpu.py on the processor, with tiny sizes."""

import json
from collections.abc import Callable
from pathlib import Path

import gpu
import gpu_runs
import gpu_steps
import numpy as np
import pytest
import torch


@pytest.fixture
def call(
    corpus: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[dict]]:
    """The command, with some of its parts; the records that are asked for."""

    def call(*parts: str, records: str = "") -> list[dict]:
        words = ["gpu.py", "--device", "cpu", "--tiny", "--data", corpus, "--out", out]
        words += ["--runs", out.with_name("runs"), "--parts", *parts]
        monkeypatch.setattr("sys.argv", list(map(str, words)))
        gpu.main()
        paths = [out / f"gpu-{name}.json" for name in records.split()]
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    return call


def test_without_a_gpu_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("sys.argv", ["gpu.py"])
    with pytest.raises(SystemExit) as stop:
        gpu.main()
    assert stop.value.code == 1 and "without a CUDA GPU" in capsys.readouterr().err


def test_equality_and_steps(
    call: Callable[..., list[dict]],
    one_thread: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    equality, steps = call("a", "b", records="equality step")
    types = equality["types"]
    assert set(types) == {"float32", "bfloat16", "float16"}
    assert all(found["within"] for found in types.values())
    assert all(len(found["attention"]) == 24 for found in types.values())
    (model,) = steps["models"]
    assert {"aiayn", "torch.nn"} <= set(model["rows"]) and not model["skipped"]
    assert all(row["seconds_per_step"] > 0 for row in model["rows"].values())
    capsys.readouterr()
    call("a", "b")
    assert capsys.readouterr().out.count("recorded before") == 2


def test_base_rows_of_table_3_and_decoding(
    call: Callable[..., list[dict]], one_thread: None
) -> None:
    base, table, decoding = call("d", "e", "f", records="base table3 decoding")
    assert base["curve"][-1][0] == gpu_runs.TINY.base.steps
    assert set(base["bleu"]) >= {"sacrebleu", "paper"}
    runs = [(run["row"], "bleu" in run) for run in table["runs"]]
    assert runs == [("base", 1), ("E", 1)]
    programs = {row["program"] for row in decoding["rows"]}
    assert programs == {"aiayn", "ctranslate2"}


@pytest.mark.nightly
def test_a_launched_run_that_is_killed_goes_on_to_the_same_weights(
    call: Callable[..., list[dict]],
) -> None:
    (launch,) = call("c", records="launch")
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
