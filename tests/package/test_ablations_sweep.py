"""Table 3: every row against the paper, at every scale, compared, and trained in sweeps
that go on.
"""

import json
import math
import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from small_runs import QUICK, TINY, complaint, lines, write_corpus

import aiayn.ablations.sweep
import aiayn.training.preprocess
from aiayn.ablations import ROWS, row_config
from aiayn.ablations.comparison import comparison_table
from aiayn.ablations.plan import SweepJob, sweep_config, sweep_recipe
from aiayn.ablations.record import read_sweep
from aiayn.ablations.rows import choose_rows, parameters
from aiayn.ablations.sweep import places, run_apart, run_sweep
from aiayn.base_config import changed
from aiayn.data import corpora as data
from aiayn.errors import InputError
from aiayn.model import config
from aiayn.training import TrainingConfig
from aiayn.training import train_model as real_train
from aiayn.training.metrics_log import Metrics

# Name, N, d_model, d_ff, h, d_k, d_v, dropout, label smoothing, steps (thousands),
# perplexity, BLEU, parameters (millions).
TABLE_3 = """
base            6  512 2048  8  64  64 0.1 0.1 100 4.92 25.8  65
A h=1           6  512 2048  1 512 512 0.1 0.1 100 5.29 24.9   -
A h=4           6  512 2048  4 128 128 0.1 0.1 100 5.00 25.5   -
A h=16          6  512 2048 16  32  32 0.1 0.1 100 4.91 25.8   -
A h=32          6  512 2048 32  16  16 0.1 0.1 100 5.01 25.4   -
B d_k=16        6  512 2048  8  16  64 0.1 0.1 100 5.16 25.1  58
B d_k=32        6  512 2048  8  32  64 0.1 0.1 100 5.01 25.4  60
C N=2           2  512 2048  8  64  64 0.1 0.1 100 6.11 23.7  36
C N=4           4  512 2048  8  64  64 0.1 0.1 100 5.19 25.3  50
C N=8           8  512 2048  8  64  64 0.1 0.1 100 4.88 25.5  80
C d_model=256   6  256 2048  8  32  32 0.1 0.1 100 5.75 24.5  28
C d_model=1024  6 1024 2048  8 128 128 0.1 0.1 100 4.66 26.0 168
C d_ff=1024     6  512 1024  8  64  64 0.1 0.1 100 5.12 25.4  53
C d_ff=4096     6  512 4096  8  64  64 0.1 0.1 100 4.75 26.2  90
D dropout=0.0   6  512 2048  8  64  64 0.0 0.1 100 5.77 24.6   -
D dropout=0.2   6  512 2048  8  64  64 0.2 0.1 100 4.95 25.5   -
D smoothing=0.0 6  512 2048  8  64  64 0.1 0.0 100 4.67 25.3   -
D smoothing=0.2 6  512 2048  8  64  64 0.1 0.2 100 5.47 25.7   -
E               6  512 2048  8  64  64 0.1 0.1 100 4.92 25.7   -
big             6 1024 4096 16  64  64 0.3 0.1 300 4.33 26.4 213
""".strip().splitlines()

# The table


def test_the_rows_are_those_of_the_paper() -> None:
    assert [line[:16].strip() for line in TABLE_3] == list(ROWS)


@pytest.mark.parametrize("line", TABLE_3, ids=lambda line: line[:16].strip())
def test_every_row_is_as_in_the_paper(line: str) -> None:
    row, figures = ROWS[line[:16].strip()], line[16:].split()
    shape = row_config(row)
    widths = [shape.N, shape.d_model, shape.d_ff, shape.h, shape.d_k, shape.d_v]
    assert widths == list(map(int, figures[:6]))
    rates = [shape.dropout, row.label_smoothing]
    assert [*rates, row.perplexity, row.bleu] == list(
        map(float, figures[6:8] + figures[9:11])
    )
    assert row.steps == 1000 * int(figures[8])
    assert row.millions == (None if figures[11] == "-" else int(figures[11]))
    assert shape.positions == ("learned" if row.name == "E" else "sinusoidal")
    assert shape.vocabulary_size == 37000 and shape.norm == "post"
    assert not shape.attention_bias


def test_the_authors_form_has_their_vocabulary_and_biases_and_fits_their_counts() -> (
    None
):
    theirs = {"vocabulary_size": 40960, "attention_bias": True}
    for row in ROWS.values():
        shape = row_config(row, form="t2t")
        assert shape == replace(row_config(row), **theirs)
        if row.millions:  # of big the paper has 213
            wanted = 218 if row.name == "big" else row.millions
            assert round(parameters(shape) / 1e6) == wanted


def test_base_and_big_are_the_presets_of_the_model() -> None:
    for name in ("base", "big"):
        assert row_config(ROWS[name]) == config(name, d_k=64, d_v=64)


def test_other_numbers_of_heads_have_as_many_parameters() -> None:
    assert len({parameters(row_config(row)) for row in choose_rows("base,A")}) == 1


# Scale


@pytest.mark.parametrize("scale", [0.5, 0.25, 1 / 16, 2.0])
def test_widths_are_scaled_and_nothing_else(scale: float) -> None:
    names = ("d_model", "d_ff", "d_k", "d_v")
    for row in ROWS.values():
        whole, scaled = row_config(row), row_config(row, scale)
        widths = {name: int(getattr(whole, name) * scale) for name in names}
        assert scaled == replace(whole, **widths)


def test_the_depth_multiplies_the_layers_and_nothing_else() -> None:
    layers = {"base": 3, "C N=2": 1, "C N=4": 2, "C N=8": 4, "A h=1": 3}
    for name, N in layers.items():
        whole = row_config(ROWS[name], 0.25)
        assert row_config(ROWS[name], 0.25, depth=0.5) == replace(whole, N=N)
    said = complaint(row_config, ROWS["C N=2"], depth=0.25)
    assert said == "depth=0.25: row C N=2 would have N=0.5; try 0.5"
    half = sweep_config(ROWS["C N=2"], sweep_recipe("synthetic"), 1, depth=0.5)
    assert half.model.N == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("scale", [0.1, 1 / 32, 0.0, -0.25, math.nan, math.inf])
def test_a_scale_that_cuts_a_column_is_refused(scale: float) -> None:
    said = complaint(row_config, ROWS["A h=32"], scale)
    assert said.startswith(f"scale={scale}: row A h=32 would have d_")
    assert said.endswith("try 0.5 or 0.25")


# Choosing


def test_rows_are_chosen_by_name_by_group_or_all() -> None:
    assert choose_rows("all") == list(ROWS.values())
    for asked, wanted in (
        ("big, B,base", ["base", "B d_k=16", "B d_k=32", "big"]),
        (["C N=8", "C N=8", "E"], ["C N=8", "E"]),
        ("base,h=1,d_k=16,N=2", ["base", "A h=1", "B d_k=16", "C N=2"]),
    ):
        assert [row.name for row in choose_rows(asked)] == wanted
    for row in ROWS.values():
        assert choose_rows(row.name) == [row] == choose_rows(row.name.split()[-1])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("A h=2", "did you mean 'A h=32'"),
        ("d", "there are all, A to E, base, A h=1"),
        ("", "there are all"),
    ],
)
def test_rows_that_are_not_in_the_table(name: str, hint: str) -> None:
    said = complaint(choose_rows, f"base,{name}")
    assert said.startswith(f"Table 3 has no row {name!r}: ") and hint in said


# Sweeping: here the runs share this process, and a run takes a few steps


def small_recipe(**changes: Any) -> TrainingConfig:
    """A few steps with a small vocabulary."""
    few = {"model.vocabulary_size": 60, "model.dropout": 0.1, "steps": 4}
    return changed(sweep_recipe("a folder"), **few | changes)


SMALL: dict[str, Any] = {"scale": 1 / 32, "depth": 1 / 6, "workers": 1}
SMALL["recipe"] = small_recipe()


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, int]]:
    """Dropout and seed of every training that a sweep begins."""
    begun = list[tuple[float, int]]()

    def counted(config: TrainingConfig, *arguments: Any, **options: Any) -> Any:
        begun.append((config.model.dropout, config.seed))
        return real_train(config, *arguments, **options)

    module = aiayn.ablations.sweep
    monkeypatch.setattr(
        module, "ProcessPoolExecutor", lambda n, _: ThreadPoolExecutor(n)
    )
    monkeypatch.setattr(module, "keep_heap", lambda: None)
    monkeypatch.setattr(module, "train_model", counted)
    monkeypatch.setattr(aiayn.training.trainer, "hardware_peak", lambda *_: 1e9)
    return begun


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """The file of a sweep's record, which is still to be written."""
    return tmp_path / "table3.json"


Sweep = Callable[..., dict[str, Any]]


@pytest.fixture
def sweep(sentences: Path, record: Path) -> Sweep:
    """Sweep over rows, in small; the record goes to the usual file."""

    def sweep(rows: Any = "base", out: Path = record, **how: Any) -> dict[str, Any]:
        data = how.pop("data", str(sentences))
        return run_sweep(rows, data, out, **SMALL | {"seeds": 1} | how)

    return sweep


def names(record: dict[str, Any]) -> list[tuple[str, int]]:
    """Row and seed of each run."""
    return [(run["row"], run["seed"]) for run in record["runs"]]


def test_a_sweep_leaves_a_record_and_nothing_else(
    trained: list[tuple[float, int]], sweep: Sweep, sentences: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "table3.json"
    found = sweep("base,big", out, seeds=2, depth=1.0)
    assert found == read_sweep(out) == json.loads(out.read_text(encoding="utf-8"))
    assert names(found) == [("base", 1), ("base", 2), ("big", 1), ("big", 2)]
    assert trained == [(0.3, 1), (0.1, 1), (0.3, 2), (0.1, 2)]  # the dearest first
    settings = {"data": str(sentences), "pair": "en-de", "scale": 1 / 32}
    settings |= {"vocabulary_size": 60, "steps": 4, "N": 6}
    assert found.items() >= settings.items()
    made = "command machine commit date torch batch_tokens warmup".split()
    assert found.keys() >= set(made)
    base, _, big, _ = found["runs"]
    assert (base["steps"], big["steps"]) == (4, 12)
    for row, run in (("base", base), ("big", big)):
        shape = row_config(ROWS[row], 1 / 32, vocabulary_size=60)
        assert run["parameters"] == parameters(shape)
        assert run["perplexity"] > 1 and 0 <= run["bleu"] <= 100 and run["minutes"] >= 0
        assert "version:" in run["signature"]
    assert os.listdir(out.parent) == ["table3.json"]


@pytest.mark.parametrize(
    ("data", "split"),
    [
        ("synthetic", "test"),
        ("multi30k", "test_2016_flickr"),
        ("wmt14", "val"),
        ("my/folder", "test"),
    ],
)
def test_the_split_that_a_sweep_is_scored_on(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, data: str, split: str
) -> None:
    """It is the corpus' own test set, but Table 3 is of the development set,
    newstest2013.
    """

    def refused(*asked: str) -> None:
        raise InputError(" ".join(asked))

    monkeypatch.setattr(aiayn.ablations.sweep, "load_pairs", refused)
    assert complaint(sweep, data=data) == f"{data} en-de {split}"


def test_what_is_done_is_not_done_again(
    trained: list[tuple[float, int]], sweep: Sweep
) -> None:
    first = sweep()
    assert sweep() == first and len(trained) == 1
    more = sweep("base,D dropout=0.2", seeds=2)
    assert sorted(trained[1:]) == [(0.1, 2), (0.2, 1), (0.2, 2)]
    assert more["runs"][0] == first["runs"][0] and len(more["runs"]) == 4


def test_seeds_differ_and_each_is_the_same_again(
    trained: list[tuple[float, int]], sweep: Sweep, tmp_path: Path
) -> None:
    one, other = (
        [run["perplexity"] for run in sweep(out=tmp_path / name, seeds=2)["runs"]]
        for name in ("a.json", "b.json")
    )
    assert one[0] != one[1] and one == other


def test_a_run_that_fails_says_so_and_is_tried_again(
    trained: list[tuple[float, int]],
    sweep: Sweep,
    record: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = aiayn.ablations.sweep.train_model

    def broken(config: TrainingConfig, *arguments: Any, **options: Any) -> Any:
        if config.model.dropout == 0.0:
            raise MemoryError("no\nroom")
        return counted(config, *arguments, **options)

    rows = ["base", "D dropout=0.0", "D dropout=0.2"]
    with monkeypatch.context() as patched:
        patched.setattr(aiayn.ablations.sweep, "train_model", broken)
        found = sweep(rows)
    assert names(found) == [(row, 1) for row in rows]
    errors = [run.get("error") for run in found["runs"]]
    assert errors == [None, "MemoryError: no room", None]
    again = sweep(",".join(rows))
    assert trained[2:] == [(0.0, 1)] and names(again) == names(found)
    assert all("error" not in run for run in again["runs"])
    assert list(record.parent.iterdir()) == [record]


def test_an_interrupted_run_goes_on_where_it_stopped(
    trained: list[tuple[float, int]],
    sweep: Sweep,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(config: TrainingConfig, *arguments: Any, **options: Any) -> Any:
        made = real_train(replace(config, steps=3), *arguments, **options)
        return made._replace(ended=False)

    with monkeypatch.context() as patched:
        patched.setattr(aiayn.ablations.sweep, "train_model", stopped)
        found = sweep()
    assert "interrupted after step 3" in found["runs"][0]["error"]
    written = lines(tmp_path / ".table3.runs" / "base-1")
    assert [line["step"] for line in written] == [1, 2, 3, 3]
    (run,), (whole,) = (
        sweep(**how)["runs"] for how in ({}, {"out": tmp_path / "whole.json"})
    )
    assert (run["steps"], run["perplexity"]) == (4, whole["perplexity"])


def test_the_record_is_whole_after_every_run(
    trained: list[tuple[float, int]],
    sweep: Sweep,
    record: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also while the next one is written, and if the sweep is broken off."""
    seen, apart = list[int](), aiayn.ablations.sweep.run_apart

    def looking(job: SweepJob) -> dict[str, Any]:
        if len(seen) == 3:  # it was broken off before
            raise KeyboardInterrupt
        limit = time.monotonic() + 60  # until what came before is written
        while (found := read_sweep(record)) is None or len(found["runs"]) < len(seen):
            assert time.monotonic() < limit
            time.sleep(0.01)
        seen.append(len(found["runs"]))
        if len(seen) == 3:
            raise KeyboardInterrupt
        return apart(job)

    def full(*_: Any) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(aiayn.ablations.sweep, "run_apart", looking)
        with pytest.raises(KeyboardInterrupt):
            sweep(seeds=4)
    assert seen[:3] == [0, 1, 2]
    before = record.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        complaint(sweep, seeds=4)
    assert record.read_bytes() == before
    assert len(sweep(seeds=4)["runs"]) == 4


def test_the_synthetic_corpus_is_drawn_once(
    trained: list[tuple[float, int]],
    sweep: Sweep,
    record: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for split, pairs in (("train", 60), ("val", 5), ("test", 5)):
        monkeypatch.setitem(data.SYNTHETIC_PAIRS, split, pairs)
    loaded, load_pairs = list[tuple[str, str]](), data.load_pairs

    def counted(name: str, pair: str, split: str) -> data.Pairs:
        loaded.append((name, split))
        return load_pairs(name, pair, split)

    monkeypatch.setattr(aiayn.ablations.sweep, "load_pairs", counted)
    monkeypatch.setattr(aiayn.training.preprocess, "load_pairs", counted)
    how = small_recipe(**{"model.vocabulary_size": 150})
    found = sweep(data="synthetic", seeds=2, recipe=how)
    assert len(found["runs"]) == 2 and found["data"] == "synthetic"
    assert loaded.count(("synthetic", "train")) == 1
    assert list(record.parent.iterdir()) == [record]


# Bad input


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"seeds": 0}, "seeds=0, workers=1, workers_per_gpu=None: must be 1 to 1,000"),
        ({"workers": 10**9}, "seeds=1, workers=1000000000, workers_per_gpu=None: must"),
        ({"scale": 0.3}, "scale=0.3: row base would have d_model=153.6"),
        ({"rows": "F"}, "Table 3 has no row 'F'"),
        ({"pair": "en"}, "pair 'en'"),
    ],
)
def test_numbers_that_make_no_sense(
    sweep: Sweep, tmp_path: Path, how: dict[str, Any], said: str
) -> None:
    assert complaint(sweep, **how).startswith(said)
    assert list(tmp_path.iterdir()) == []  # before anything is begun


def test_a_corpus_with_nothing_to_score_is_refused_before_the_work(
    sweep: Sweep, sentences: Path, tmp_path: Path
) -> None:
    for language in ("en", "de"):
        shutil.copy(sentences / f"train.{language}", tmp_path)
    assert "test.en" in complaint(sweep, data=str(tmp_path))


RUN = (
    '{"runs": [{"row": "base", "seed": 1, "parameters": 9,'
    ' "perplexity": 5.0, "bleu": 9.0}]}'
)
NO_RECORDS = ["{", "[]", "{}", '{"runs": 1}', '{"runs": [{"row": "F", "seed": 1}]}']
CHANGES = [
    *(("5.0", "NaN"), ("5.0", "0"), ("9.0", '"9"'), ("9,", "null,")),
    *(('"bleu"', '"blue"'), ('"base"', "[]"), ("1,", "-1,"), ('"parameters": 9,', "")),
]
NO_RECORDS += [RUN.replace(*change) for change in CHANGES]


@pytest.mark.parametrize("content", NO_RECORDS, ids=range(len(NO_RECORDS)))
def test_a_file_that_is_no_record_is_left_alone(
    sweep: Sweep, record: Path, content: str
) -> None:
    record.write_text(content)
    for said in (complaint(read_sweep, record), complaint(sweep)):
        assert "table3.json: not the record of a sweep" in said
    assert record.read_text() == content
    assert read_sweep(record.with_name("none.json")) is None


def test_two_recipes_are_not_mixed(
    trained: list[tuple[float, int]], sweep: Sweep, record: Path
) -> None:
    sweep()
    assert complaint(sweep, recipe=small_recipe(steps=5), scale=1 / 16) == (
        f"{record}: a sweep with scale=0.03125, not 0.0625; steps=4, not 5;"
        " use that, or another file (out)"
    )


def test_two_sweeps_do_not_share_a_record(sweep: Sweep, tmp_path: Path) -> None:
    (tmp_path / ".table3.runs").mkdir()
    with FileLock(tmp_path / ".table3.runs" / "lock"):
        assert "another sweep is writing it" in complaint(sweep)


def test_a_record_that_cannot_be_written(sweep: Sweep, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = complaint(sweep, out=tmp_path / "file" / "a.json")
    assert "a.json: cannot be written" in said


# The recipe


def test_a_sweep_changes_what_the_row_changes_and_nothing_else() -> None:
    synthetic = sweep_recipe("synthetic")
    base = sweep_config(ROWS["base"], synthetic, seed=1)
    shape = {"vocabulary_size": 2000, "dropout": 0.0}
    assert base == changed(
        synthetic,
        model=row_config(ROWS["base"], 0.25, **shape),
        batches={"skip_long": True},
        checkpoints={"steps": 110, "keep": 1, "average": 1},
    )
    smoothed = sweep_config(ROWS["D smoothing=0.2"], synthetic, seed=2)
    assert smoothed == replace(base, label_smoothing=0.2, seed=2)
    big = sweep_config(ROWS["big"], synthetic, seed=1)
    assert big == changed(
        base,
        checkpoints={"steps": 330},
        model=row_config(ROWS["big"], 0.25, vocabulary_size=2000),
        steps=3 * base.steps,
    )


def test_on_the_papers_data_the_recipe_is_the_papers() -> None:
    found = sweep_config(ROWS["base"], sweep_recipe("wmt14"), seed=1, scale=1.0)
    # Section 6.2: no averaging.
    assert found == changed(
        TrainingConfig(model=config("base", d_k=64, d_v=64)),
        batches={"skip_long": True},
        checkpoints={"keep": 1, "average": 1, "steps": 2500},
    )


def test_what_is_given_replaces_the_recipe_but_not_the_row() -> None:
    given = changed(
        sweep_recipe("synthetic"),
        model={"dropout": 0.4, "vocabulary_size": 500},
        batches={"tokens": 99},
        optimizer={"warmup": 7, "rate_factor": 0.3},
        steps=800,
    )
    found = sweep_config(ROWS["C N=2"], given, 1)
    assert (found.steps, found.batches.tokens) == (800, 99)
    assert found.optimizer == given.optimizer and found.checkpoints.steps == 20
    assert (found.model.dropout, found.model.vocabulary_size) == (0.4, 500)
    assert sweep_config(ROWS["D dropout=0.2"], given, 1).model.dropout == 0.2
    assert sweep_config(ROWS["base"], sweep_recipe("new"), 1).model.dropout == 0.3
    assert sweep_config(ROWS["big"], replace(given, steps=10), 1).steps == 30


# Rates, and many runs on a GPU


def test_each_row_gets_the_rate_that_fits_it(
    trained: list[tuple[float, int]],
    sweep: Sweep,
    record: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    best, counted = {"base": 0.5, "D dropout=0.2": 2.0}, Metrics.validations

    def told(metrics: Any) -> dict[int, float]:
        row, _, *rate = metrics.path.parent.name.replace("_", " ").split("-")
        fits = rate and float(rate[0]) == best[row]
        return dict.fromkeys(counted(metrics), 2.0 if fits else 3.0)

    translated = list[int]()
    monkeypatch.setattr(Metrics, "validations", told)
    monkeypatch.setattr(
        aiayn.ablations.sweep,
        "corpus_bleu",
        lambda *_: translated.append(1) or (1.0, "version:"),
    )
    how = {"rows": list(best), "seeds": 2, "rates": [0.5, 1.0, 2.0]}
    found = sweep(**how)
    assert [(t["row"], t["seed"], t["rate_factor"]) for t in found["trials"]] == [
        (row, 0, rate) for row in best for rate in (0.5, 1.0, 2.0)
    ]
    rates = {(run["row"], run["rate_factor"]) for run in found["runs"]}
    assert rates == set(best.items())
    assert len(translated) == 4 and read_sweep(record) == found
    assert sweep(**how) == found and len(trained) == 10
    said = complaint(sweep, **how | {"rates": [1.0]})
    assert "rates=[0.5, 1.0, 2.0], not [1.0]" in said


def test_a_row_none_of_whose_trials_ended_is_not_run(
    trained: list[tuple[float, int]], sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise InputError("the gradient is not finite")

    monkeypatch.setattr(aiayn.ablations.sweep, "train_model", broken)
    found = sweep(rates=[1.0, 9.0])
    assert found["runs"] == [] and len(found["trials"]) == 2
    assert "base, seed 0: the gradient is not finite" in comparison_table(found)


def test_so_many_runs_on_each_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = aiayn.ablations.sweep.torch.cuda
    assert places(3, None, "cpu") == ["cpu"] * 3
    assert places(2, None, None) == [None, None]
    monkeypatch.setattr(cuda, "device_count", lambda: 2)
    assert places(None, 2, None) == ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]
    assert places(None, 3, "cuda:1") == ["cuda:1"] * 3
    for device, gpus in (("cpu", 2), (None, 0)):
        monkeypatch.setattr(cuda, "device_count", partial(int, gpus))
        assert "there is no GPU" in complaint(places, None, 16, device)


def test_runs_take_turns_on_the_devices(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    working, seen = dict[str | None, int](), list[int]()

    def placed(job: SweepJob) -> dict[str, Any]:
        working[job.device] = working.get(job.device, 0) + 1
        seen.append(working[job.device])
        time.sleep(0.05)
        working[job.device] -= 1
        found = {"row": job.row, "seed": job.config.seed, "rate_factor": 1.0}
        return found | {"error": "none"}

    gpus = ["cuda:0", "cuda:1"]
    monkeypatch.setattr(aiayn.ablations.sweep, "run_apart", placed)
    monkeypatch.setattr(aiayn.ablations.sweep, "places", lambda *_: gpus * 2)
    sweep(seeds=12)
    assert sorted(working) == gpus and max(seen) == 2 and len(seen) == 12


# Processes of their own


def job(tmp_path: Path, **changes: Any) -> SweepJob:
    """A run of a tiny model on number words."""
    corpus, config = str(write_corpus(tmp_path / "corpus")), changed(QUICK, **changes)
    return SweepJob("base", config, corpus, "en-de", "val", tmp_path / "run")


def test_a_run_has_a_process_of_its_own(tmp_path: Path) -> None:
    found = run_apart(job(tmp_path, seed=3))
    wanted = {"row": "base", "seed": 3, "steps": 6, "parameters": parameters(TINY)}
    assert found.items() >= wanted.items() and "error" not in found
    assert "step" in (tmp_path / "run" / "log.txt").read_text(encoding="utf-8")


def test_a_process_that_is_killed_is_a_run_that_failed(out: Path) -> None:
    def kill() -> None:
        started, main = out / "metrics.jsonl", threading.main_thread()
        while not started.exists() and main.is_alive():
            time.sleep(0.05)
        for child in set(multiprocessing.active_children()) - before:
            child.kill()

    before = set(multiprocessing.active_children())
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = run_apart(job(out.parent, steps=1_000_000, checkpoints={"steps": 50}))
    killer.join()
    assert found["error"].startswith("its process was killed")
