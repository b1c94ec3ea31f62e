"""Sweeps and evidence (paper, section 6.2).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-12-sweeps-and-evidence.ipynb
"""

__all__ = [
    "read_record",
    "runs_of",
    "open_record",
    "save",
]


# book/11-12-sweeps-and-evidence.ipynb, cell read-record
import json
import math
from pathlib import Path
from typing import Any

from aiayn.data.files import write_atomically
from aiayn.errors import InputError
from aiayn.table3.rows import ROWS
from aiayn.training.provenance import provenance


def read_record(out: Path) -> dict[str, Any] | None:
    """What a sweep has written so far; None if there is nothing.

    Raises
    ------
    InputError
        If the file holds something else.
    """
    try:
        record: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        for run in (*record["runs"], *(trials := record.get("trials", ()))):
            if run["row"] not in ROWS or not (run["seed"] > 0 or run in trials):
                raise ValueError("a run of no row or no seed")
            scored = "error" in run or (0 < run["perplexity"] < math.inf)
            scored &= "error" in run or run in trials or 0 <= run["bleu"] <= 100
            if not scored or not run.get("parameters", "error" in run) > 0:
                raise ValueError(
                    f"{run['row']}, seed {run['seed']}: its numbers make no sense"
                )
        return record
    except FileNotFoundError:
        return None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise InputError(
            f"{out}: not the record of a sweep ({error}); take another --out"
        ) from None


# book/11-12-sweeps-and-evidence.ipynb, cell runs-of
def runs_of(record: dict[str, Any], row: str) -> list[dict[str, Any]]:
    """The runs of a row that did not fail."""
    return [run for run in record["runs"] if run["row"] == row and "error" not in run]


# book/11-12-sweeps-and-evidence.ipynb, cell record
def open_record(out: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """The record at `out`, if it was made with the same settings; else a new one."""
    record = read_record(out)
    if record is None or not (record["runs"] or record.get("trials")):
        return provenance() | settings | {"trials": [], "runs": []}
    changed = [
        f"{n}={record.get(n)}, not {value}"
        for n, value in settings.items()
        if record.get(n) != value
    ]
    if changed:
        raise InputError(
            f"{out}: a sweep with {'; '.join(changed)}; use that, or another --out"
        )
    return record


def save(out: Path, record: dict[str, Any]) -> None:
    """Write the record, whole or not at all, its runs in the order of the table."""
    names = list(ROWS)

    def place(run: dict[str, Any]) -> tuple[int, int, float]:
        return names.index(run["row"]), run["seed"], run.get("rate_factor", 0)

    for kind in ("trials", "runs"):
        record[kind].sort(key=place)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    write_atomically(out, text.encode())
