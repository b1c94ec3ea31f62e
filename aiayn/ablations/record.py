"""The record of a sweep, read and written.

Made by `make export` from "Ablations and statistics" (paper, section 6.2):
https://github.com/OWNER/aiayn/blob/main/book/3-workshop/08-ablations-and-statistics.ipynb
"""

# book/3-workshop/08-ablations-and-statistics.ipynb, cell read-whole-record
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiayn.ablations.rows import ROWS
from aiayn.data.io import write_atomically
from aiayn.errors import InputError
from aiayn.training.provenance import current_provenance


def read_sweep(out: Path) -> dict[str, Any] | None:
    """What a sweep has written so far; None if there is nothing.

    Raises
    ------
    InputError
        If the file holds something else.
    """
    if not out.exists():
        return None
    record: Any = None
    with suppress(ValueError):
        record = json.loads(out.read_text(encoding="utf-8"))
    if not isinstance(record, dict) or "runs" not in record:
        fault = "not the record of a sweep; take another file (out)"
        raise InputError(f"{out}: {fault}")
    return record


# book/3-workshop/08-ablations-and-statistics.ipynb, cell runs-of
def runs_of(record: dict[str, Any], row: str) -> list[dict[str, Any]]:
    """The runs of a row that did not fail."""
    return [run for run in record["runs"] if run["row"] == row and "error" not in run]


# book/3-workshop/08-ablations-and-statistics.ipynb, cell record
def open_sweep(out: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """The record at `out`, if it was made with the same settings; else a new one."""
    record = read_sweep(out)
    if record is None or not (record["runs"] or record.get("trials")):
        return current_provenance() | settings | {"trials": [], "runs": []}
    changed = [
        f"{n}={record.get(n)}, not {value}"
        for n, value in settings.items()
        if record.get(n) != value
    ]
    if changed:
        raise InputError(
            f"{out}: a sweep with {'; '.join(changed)}; use that, or another file (out)"
        )
    return record


def save_record(out: Path, record: dict[str, Any]) -> None:
    """Write the record, whole or not at all, its runs in the order of the table."""
    names = list(ROWS)

    def place(run: dict[str, Any]) -> tuple[int, int, float]:
        return names.index(run["row"]), run["seed"], run.get("rate_factor", 0)

    for kind in ("trials", "runs"):
        record[kind].sort(key=place)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    write_atomically(out, text.encode())
