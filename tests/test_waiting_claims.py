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

from aiayn.book import read_record
from aiayn.errors import InputError

BOOK = Path(__file__).parents[1] / "book"
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
    """

    claim: str
    chapter: str
    records: Records
    misses: dict[tuple[str, Field], Any]
    needed: dict[str, list[Field]]
    before: tuple[str, ...] = ()


PARSED = {"data": "ptb", "split": "test", "f1": 91.4, "strict_f1": 91.3}
WAITING = [
    Waiting(
        "6.3-b",
        "06-3-constituency-parsing",
        records={
            "table-4-wsj": PARSED,
            "table-4-wsj-semi": PARSED | {"f1": 92.9, "strict_f1": 92.3},
        },
        misses={
            ("table-4-wsj", ("f1",)): 90.7,
            ("table-4-wsj", ("strict_f1",)): 90.5,
        },
        needed={"table-4-wsj": [("data",), ("split",), ("f1",), ("strict_f1",)]},
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
    assert line.startswith(f"○ Claim {waiting.claim} not yet run (")
    assert "holds if" in line
    assert "; the command is aiayn " in line or "; the command is python " in line


@each_claim
def test_a_record_by_which_it_holds(desk: Desk, waiting: Waiting) -> None:
    line = desk.judge(waiting, waiting.records)
    assert line.startswith(f"✓ Claim {waiting.claim} holds (")


@each_claim
def test_a_record_by_which_it_does_not_hold(desk: Desk, waiting: Waiting) -> None:
    records = waiting.records
    for (name, field), value in waiting.misses.items():
        records = changed(records, name, field, value)
    line = desk.judge(waiting, records)
    assert line.startswith(f"✗ Claim {waiting.claim} does not hold here (")


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
@pytest.mark.parametrize("value", [..., [], None], ids=["missing", "list", "null"])
def test_a_spoiled_record_is_refused(
    desk: Desk, waiting: Waiting, name: str, field: Field, value: Any
) -> None:
    records = changed(waiting.records, name, field, value)
    with pytest.raises(InputError) as error:
        desk.judge(waiting, records)
    assert f"{name}.json" in str(error.value)
    assert str(field[-1]) in str(error.value).partition(".json")[2]


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
