# Made by `make export` from book/3-workshop/08-ablations-and-statistics.ipynb
"""The record of a sweep, read and written."""

# book/3-workshop/08-ablations-and-statistics.ipynb, cell read-record
import json
from pathlib import Path
from typing import Any

from aiayn.ablations.rows import ROWS
from aiayn.data.io import write_atomically
from aiayn.errors import InputError
from aiayn.training.provenance import current_provenance


def check_record_run(run: dict[str, Any], trial: bool) -> None:
    """Raise a ValueError that names the field, if a run of a sweep makes no sense."""
    row, seed = run.get("row"), run.get("seed")
    if str(row) not in ROWS:
        raise ValueError(f"field row is {row!r}, no row of Table 3")
    if type(seed) is not int or seed < (0 if trial else 1):
        raise ValueError(f"{row}: field seed is {seed!r}, no seed")
    bounds = {"parameters": (1, 1e12), "perplexity": (1, 1e300)}
    bounds |= {} if trial else {"bleu": (0, 100)}
    for name, (least, most) in {} if "error" in run else bounds.items():
        value: Any = run.get(name)
        if type(value) not in (int, float) or not least <= value <= most:
            raise ValueError(f"{row}, seed {seed}: field {name} is {value!r}")


# book/3-workshop/08-ablations-and-statistics.ipynb, cell read-whole-record
def read_sweep(out: Path) -> dict[str, Any] | None:
    """What a sweep has written so far; None if there is nothing.

    Raises
    ------
    InputError
        If the file holds something else; it names the field.
    """
    try:
        record: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        for run in record.get("trials", ()):
            check_record_run(run, trial=True)
        for run in record["runs"]:
            check_record_run(run, trial=False)
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
        missing = isinstance(error, KeyError)
        why = f"field {error.args[0]} is missing" if missing else error
        raise InputError(
            f"{out}: not the record of a sweep ({why}); take another file (out)"
        ) from None


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
