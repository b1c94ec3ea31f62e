"""Claims that wait for a run: each cell judges the record that its command writes.

A cell is executed alone, beside a folder of runs that the test makes: with no record,
with one by which the claim holds, with one by which it does not, and with a spoiled
one. To add a claim, add a row to `WAITING`.
"""

import copy
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from small_runs import QUICK, write_corpus

from aiayn.book import read_record
from aiayn.cli import score
from aiayn.errors import InputError
from aiayn.training import train_model
from aiayn.training.trained_run import TrainedRun

BOOK = Path(__file__).parents[2] / "book"
Records = dict[str, dict[str, Any]]  # by name: what book/runs/NAME.json would hold
Field = tuple[str | int, ...]  # where it is in a record


@dataclass(frozen=True)
class Waiting:
    """A claim whose cell waits for a run.

    Attributes
    ----------
    claim, chapter : str
        Its id, and the notebook with the cell that has its tag.
    records : Records
        By which it holds.
    misses : dict
        What to change in a record, for the claim not to hold: (record, field): value.
    needed : dict
        By record the fields without which nothing can be judged.
    before : tuple of str
        Ids of cells whose names that cell uses.
    refutable : bool
        Whether a record can refute the claim; if not, it stays undecided.
    """

    claim: str
    chapter: str
    records: Records
    misses: dict[tuple[str, Field], Any]
    needed: dict[str, list[Field]]
    before: tuple[str, ...] = ()
    refutable: bool = True


GERMAN = {
    "vocabulary": 37_000,
    "preparation": {"pair": "en-de", "pairs": 4_508_000, "dropped": 785},
}
FRENCH = {
    "vocabulary": 32_000,
    "preparation": {"pair": "en-fr", "pairs": 35_500_000, "dropped": 500_000},
}
COUNTS: list[Field] = [
    ("vocabulary",),
    ("preparation",),
    ("preparation", "pair"),
    ("preparation", "pairs"),
    ("preparation", "dropped"),
]
PARSED = {
    "data": "ptb",
    "constrained": False,
    "split": "test",
    "model": {"N": 4, "d_model": 1024},
    "f1": 91.4,
    "strict_f1": 91.3,
}


def translated(pair: str, d_model: int, steps: int, bleu: float) -> dict[str, Any]:
    """What `aiayn evaluate RUN --bleu-variants --json` writes of a run, in part."""
    return {
        "data": "wmt14",
        "pair": pair,
        "model": {
            "N": 6,
            "d_model": d_model,
            "d_ff": 4 * d_model,
            "h": d_model // 64,
            "dropout": 0.3 if d_model == 1024 and pair == "en-de" else 0.1,
        },
        "training": {"batches": {"tokens": 25_000}},
        "steps": steps,
        "bleu": {"wmt14/full": {"paper": {"value": bleu}}},
    }


def swept(**scores: list[float]) -> list[dict[str, Any]]:
    """The runs of a sweep, by row; its base has stopped improving."""
    made = {"parameters": 60_000_000, "perplexity": 5.0, "validations": [5.0] * 40}
    return [
        {"row": row, "seed": seed, "bleu": bleu, **made}
        for row, values in scores.items()
        for seed, bleu in enumerate(values, start=1)
    ]


WHOLE = {"data": "wmt14", "scale": 1.0}
OF_RUN: list[Field] = [("data",), ("scale",)]
OF_RUN += [("runs", 0, "row"), ("runs", 1, "seed"), ("runs", 2, "bleu")]
OF_RUN += [("runs", 3, "perplexity"), ("runs", 4, "parameters")]
BASE, LESS = [25.8, 25.9, 25.6, 25.7, 25.9], [24.9, 25.1, 24.8, 24.7, 25.1]
MORE, MANY = [26.4, 26.3, 26.3, 26.3, 26.7], [25.4, 25.3, 25.3, 25.2, 25.6]
HEADS = {"base": BASE, "A h=1": LESS, "A h=32": MANY}
PAPER_FORM = "bleu", "wmt14/full", "paper", "value"
TABLE_2 = {
    "wmt14-en-de-base": translated("en-de", 512, 100_000, 27.0),
    "wmt14-en-de-big": translated("en-de", 1024, 300_000, 28.7),
    "wmt14-en-fr-base": translated("en-fr", 512, 100_000, 38.1),
    "wmt14-en-fr-big": translated("en-fr", 1024, 300_000, 41.5),
}
OF_TRAINING: list[Field] = [("data",), ("pair",), ("steps",), PAPER_FORM]
OF_TRAINING += [("model", name) for name in ("N", "d_model", "d_ff", "h", "dropout")]
OF_TRAINING += [("training", "batches", "tokens")]
WAITING = [
    Waiting(
        "1-d",
        "1-paper/6-1-machine-translation",
        records={"wmt14-en-de-base": TABLE_2["wmt14-en-de-base"]},
        misses={("wmt14-en-de-base", PAPER_FORM): 25.9},
        needed={"wmt14-en-de-base": OF_TRAINING},
        before=("table-2-records",),
        refutable=False,  # one training against another's figure
    ),
    Waiting(
        "5.1-a",
        "1-paper/5-1-data-and-batching",
        records={"encoding-wmt14-en-de": GERMAN},
        misses={("encoding-wmt14-en-de", ("preparation", "pairs")): 4_200_000},
        needed={"encoding-wmt14-en-de": COUNTS},
        before=("judge-corpus",),
    ),
    Waiting(
        "5.1-b",
        "1-paper/5-1-data-and-batching",
        records={"encoding-wmt14-en-fr": FRENCH},
        misses={("encoding-wmt14-en-fr", ("preparation", "pairs")): 40_336_715},
        needed={"encoding-wmt14-en-fr": COUNTS},
        before=("judge-corpus",),
    ),
    Waiting(
        "6.1-a",
        "1-paper/6-1-machine-translation",
        records=TABLE_2,
        misses={("wmt14-en-fr-big", PAPER_FORM): 40.9},
        needed=dict.fromkeys(TABLE_2, OF_TRAINING),
        before=("table-2-records",),
    ),
    Waiting(
        "6.2-b",
        "1-paper/6-2-model-variations",
        records={"table3-wmt14": {**WHOLE, "runs": swept(**HEADS)}},
        misses={("table3-wmt14", ("runs",)): swept(**HEADS | {"A h=32": MORE})},
        needed={"table3-wmt14": OF_RUN},
        before=("statements", "figures-imports", "figures"),
    ),
    Waiting(
        "6.2-g",
        "1-paper/6-2-model-variations",
        records={"table3-wmt14": {**WHOLE, "runs": swept(base=BASE, big=MORE)}},
        misses={("table3-wmt14", ("runs",)): swept(base=BASE, big=LESS)},
        needed={"table3-wmt14": OF_RUN},
        before=("statements", "figures-imports", "figures"),
    ),
    Waiting(
        "6.3-b",
        "1-paper/6-3-constituency-parsing",
        records={
            "table-4-wsj": PARSED,
            "table-4-wsj-semi": PARSED | {"f1": 92.9, "strict_f1": 92.3},
        },
        misses={
            ("table-4-wsj", ("f1",)): 90.2,
            ("table-4-wsj", ("strict_f1",)): 90.1,
        },
        needed={
            "table-4-wsj": [
                ("data",),
                ("split",),
                ("model", "d_model"),
                ("f1",),
                ("strict_f1",),
            ]
        },
    ),
]
each_claim = pytest.mark.parametrize("waiting", WAITING, ids=lambda each: each.claim)


def cells_of(waiting: Waiting) -> list[str]:
    """The cell that judges the claim, behind those whose names it uses."""
    notebook = nbformat.read(BOOK / f"{waiting.chapter}.ipynb", as_version=4)
    tag = f"claim:{waiting.claim}"
    return [
        cell.source
        for cell in notebook.cells
        if cell.id in waiting.before or tag in cell.metadata.get("tags", [])
    ]


class Desk:
    """Where a claim is judged: an empty folder with a folder of runs in it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.runs, self.capsys = folder / "runs", capsys

    def judge(self, waiting: Waiting, records: Records) -> str:
        """What the cell says, given these records alone."""
        self.runs.mkdir(exist_ok=True)
        for path in self.runs.iterdir():
            path.unlink()
        for name, record in records.items():
            text = json.dumps(record)
            (self.runs / f"{name}.json").write_text(text, encoding="utf-8")
        self.capsys.readouterr()
        names: dict[str, Any] = {}
        for source in cells_of(waiting):
            exec(source, names)
        lines = self.capsys.readouterr().out.splitlines()
        (line,) = [line for line in lines if f" Claim {waiting.claim} " in line]
        return line


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path, capsys)


def changed(records: Records, name: str, field: Field, value: Any) -> Records:
    """The records with another value in one field; without the field if it is `...`."""
    copied = copy.deepcopy(records)
    content: Any = copied[name]
    *way, last = field
    for step in way:
        content = content[step]
    if value is ...:
        del content[last]
    else:
        content[last] = value
    return copied


@each_claim
def test_without_a_record_the_cell_names_the_command(
    desk: Desk, waiting: Waiting
) -> None:
    line = desk.judge(waiting, {})
    assert line.startswith(f"○ Claim {waiting.claim} not yet run (real text)")
    assert "holds if" in line
    assert "; the command is aiayn " in line or "; the command is python " in line


@each_claim
def test_a_record_by_which_it_holds(desk: Desk, waiting: Waiting) -> None:
    line = desk.judge(waiting, waiting.records)
    assert line.startswith(f"✓ Claim {waiting.claim} holds (real text)")


@each_claim
def test_a_record_by_which_it_does_not_hold(desk: Desk, waiting: Waiting) -> None:
    records = waiting.records
    for (name, field), value in waiting.misses.items():
        records = changed(records, name, field, value)
    line = desk.judge(waiting, records)
    state = "✗ {} does not hold here" if waiting.refutable else "? {} undecided"
    assert line.startswith(state.format(f"Claim {waiting.claim}") + " (real text)")


@each_claim
def test_of_several_records_one_is_missing(desk: Desk, waiting: Waiting) -> None:
    for name in waiting.records if len(waiting.records) > 1 else ():
        others = {key: each for key, each in waiting.records.items() if key != name}
        line = desk.judge(waiting, others)
        assert line.startswith(f"? Claim {waiting.claim} undecided (")
        assert name in line


@pytest.mark.parametrize(
    ("waiting", "name", "field"),
    [
        pytest.param(each, name, field, id=f"{each.claim}-{name}-{field[-1]}")
        for each in WAITING
        for name, fields in each.needed.items()
        for field in fields
    ],
)
@pytest.mark.parametrize(
    "value", [..., [], None, "many"], ids=["missing", "list", "null", "text"]
)
def test_a_spoiled_record_is_refused(
    desk: Desk, waiting: Waiting, name: str, field: Field, value: Any
) -> None:
    records = changed(waiting.records, name, field, value)
    with pytest.raises(InputError) as error:
        desk.judge(waiting, records)
    assert f"{name}.json" in str(error.value)
    assert str(field[-1]) in str(error.value).partition(".json")[2]


def test_a_sweep_that_is_not_through_decides_nothing(desk: Desk) -> None:
    waiting = {each.claim: each for each in WAITING}["6.2-b"]
    steep = [{**run, "validations": [6.0] * 35 + [5.0] * 5} for run in swept(**HEADS)]
    others = {
        "less than two seeds": [run for run in swept(**HEADS) if run["row"] == "base"],
        "four seeds": [run for run in swept(**HEADS) if run["seed"] < 5],
        "no h=32": [run for run in swept(**HEADS) if run["row"] != "A h=32"],
        "not flat": steep,
    }
    signs = {}
    for name, runs in others.items():
        line = desk.judge(waiting, {"table3-wmt14": WHOLE | {"runs": runs}})
        signs[name] = line[0]
    assert list(signs.values()) == ["○", "?", "?", "?"], signs


@pytest.mark.parametrize("name", ["h", "d_ff", "dropout"])
def test_another_model_is_refused(desk: Desk, name: str) -> None:
    """Also one of the right size; English-French has a dropout of its own."""
    waiting = {each.claim: each for each in WAITING}["6.1-a"]
    field = "model", name
    records = changed(waiting.records, "wmt14-en-fr-big", field, 0.3)
    with pytest.raises(InputError, match=rf"model\.{name} must be"):
        desk.judge(waiting, records)


@pytest.mark.parametrize(
    "field", [("training", "batches", "tokens"), ("steps",)], ids=["batches", "steps"]
)
def test_a_training_of_less_than_the_papers_decides_nothing(
    desk: Desk, field: Field
) -> None:
    waiting = {each.claim: each for each in WAITING}["6.1-a"]
    line = desk.judge(
        waiting, changed(waiting.records, "wmt14-en-de-base", field, 20_000)
    )
    assert line.startswith("? Claim 6.1-a undecided (")


def test_what_evaluate_writes_of_a_run_can_be_judged(
    desk: Desk, tmp_path: Path
) -> None:
    corpus, out = write_corpus(tmp_path / "corpus"), tmp_path / "run"
    train_model(QUICK, str(corpus), "en-de", out)
    record = score(TrainedRun.read(out))
    (scores,) = record["bleu"].values()
    as_large = record["model"] | {"N": 6, "d_model": 512, "d_ff": 2048}
    as_large |= {"h": 8, "dropout": 0.1}
    record |= {"data": "wmt14", "bleu": {"wmt14/full": scores}, "model": as_large}
    waiting = {each.claim: each for each in WAITING}
    line = desk.judge(waiting["6.1-a"], {"wmt14-en-de-base": record})
    assert line.startswith("? Claim 6.1-a undecided (") and "after 6 steps" in line
    line = desk.judge(waiting["1-d"], {"wmt14-en-de-base": record})
    assert line.startswith("? Claim 1-d undecided (") and "6 steps of 60 tok" in line


def test_a_record_that_is_no_json(desk: Desk) -> None:
    desk.runs.mkdir()
    (desk.runs / "some.json").write_text('{"f1": 91', encoding="utf-8")
    with pytest.raises(InputError, match=r"some\.json: cannot be read as a record"):
        read_record("some")


RECORD = {
    "name": "base",
    "bleu": {"wmt14/full": {"paper": 27.3, "other": None}},
    "nan": float("nan"),
    "yes": True,
    "runs": [{"seconds": 1}, {"seconds": "two"}],
}


def test_what_is_in_a_record(desk: Desk) -> None:
    desk.runs.mkdir()
    (desk.runs / "some.json").write_text(json.dumps(RECORD), encoding="utf-8")
    assert read_record("none") is None
    record = read_record("some")
    assert record is not None
    record.require(name="base", yes=True)
    assert record.get("name", kind=str) == "base"
    assert record.number("bleu", "wmt14/full", "paper") == 27.3
    assert record.parts("runs")[0].number("seconds") == 1


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        (lambda r: r.number("bleu", "wmt14"), "field bleu.wmt14 is missing"),
        (lambda r: r.number("name", "first"), "field name.first is missing"),
        (lambda r: r.number("name"), "field name cannot be 'base'"),
        (
            lambda r: r.number("bleu", "wmt14/full", "other"),
            "field bleu.wmt14/full.other cannot be None",
        ),
        (lambda r: r.number("nan"), "field nan cannot be nan"),
        (lambda r: r.number("yes"), "field yes cannot be True"),
        (lambda r: r.get("runs", kind=str), "field runs cannot be "),
        (lambda r: r.parts("name"), "field name cannot be 'base'"),
        (
            lambda r: r.parts("runs")[1].number("seconds"),
            r"field runs\[1\]\.seconds cannot be 'two'",
        ),
        (lambda r: r.require(name="big"), "field name must be 'big', not 'base'"),
        (lambda r: r.require(pair="en-de"), "field pair is missing"),
    ],
)
def test_what_is_not_in_a_record(desk: Desk, read: Any, fault: str) -> None:
    desk.runs.mkdir()
    (desk.runs / "some.json").write_text(json.dumps(RECORD), encoding="utf-8")
    with pytest.raises(InputError, match=rf"runs/some\.json: {fault}"):
        read(read_record("some"))
