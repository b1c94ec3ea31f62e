# Made by `make export` from book/3-workshop/01-exporter.ipynb
"""Checks claims of the paper, and reads the records of long runs."""

# book/3-workshop/01-exporter.ipynb, cell claims-imports
import html
import json
import math
import reprlib
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from aiayn.errors import InputError

# book/3-workshop/01-exporter.ipynb, cell states
Verdict = Literal[
    "holds", "does not hold", "does not hold here", "undecided", "not yet run"
]
Evidence = Literal[
    "proof",
    "by construction",
    "simulation",
    "timing",
    "toy",
    "synthetic corpus",
    "real text",
]
_MARKS: dict[Verdict, str] = {
    "holds": "✓",
    "does not hold": "✗",
    "does not hold here": "✗",
    "undecided": "?",
    "not yet run": "○",
}


# book/3-workshop/01-exporter.ipynb, cell claim
def claim(
    identifier: str,
    holds: bool | None = None,
    figure: str = "",
    *,
    evidence: Evidence,
    expected: bool | None = True,
    run: str = "",
) -> None:
    """Check a claim of the paper (an id of `claims.yml`) and show one quiet line.

    Parameters
    ----------
    identifier : str
        Which claim.
    holds, expected : bool, optional
        What was found, and what the book says of it: None if it is undecided.
    figure : str
        What was measured; what varies from run to run in it stands between ⟨ and ⟩.
        With `run`, what will count as held.
    evidence : str
        What stands behind it; only a proof refutes a claim at any scale.
    run : str
        The command that writes the record which would decide, while there is none.

    Raises
    ------
    AssertionError
        If what was found is not what the book says.
    """
    failed: Verdict = "does not hold" if evidence == "proof" else "does not hold here"
    verdict: Verdict = "holds" if holds else failed
    verdict = "undecided" if holds is None else verdict
    verdict = "not yet run" if run else verdict
    result = f"{verdict} ({evidence})" + (f": {figure}" if figure else "")
    result += f"; the command is {run}" if run else ""
    if not run and (None if holds is None else bool(holds)) is not expected:
        raise AssertionError(f"Claim {identifier} {result}; the book says otherwise")
    record = {"claim": identifier, "state": verdict, "evidence": evidence}
    record |= {"figure": figure} | ({"run": run} if run else {})
    _show_claim(_MARKS[verdict], f"Claim {identifier}", result, record)


# book/3-workshop/01-exporter.ipynb, cell show-claim
def _show_claim(mark: str, name: str, result: str, record: dict[str, str]) -> None:
    """One line under the cell, with the record in its metadata; printed elsewhere."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
        from IPython.display import display

        text = f"{mark} <b>{html.escape(name)}</b> {html.escape(result)}"
        bundle = {
            "text/plain": f"{mark} {name} {result}",
            "text/html": f'<div class="aiayn-claim">{text}</div>',
        }
        display(bundle, raw=True, metadata={"aiayn": record})
    else:
        print(f"{mark} {name} {result}")


# book/3-workshop/01-exporter.ipynb, cell record-path
def record_path(name: str) -> Path:
    """Where the result of a long run is: the book's folder `runs`, or the package.

    A chapter finds that folder above its own. Where there is no such result, this is a
    path on which nothing lies: nothing was recorded yet.
    """
    here, above = Path("runs", name), Path("..", "runs", name)
    packaged = Path(str(files("aiayn")), "runs", name)  # for Colab
    places = (here, above, packaged)
    return next((place for place in places if place.exists()), here)


# book/3-workshop/01-exporter.ipynb, cell record
@dataclass(frozen=True)
class Record:
    """A record of a long run, or a part of it; a field is checked when it is read.

    An `InputError` names file and field if that is missing, or of another kind.
    """

    content: Any
    file: str
    field: str = ""  # where in the file this part is

    def get(self, *names: str, kind: type = object) -> Any:
        """What is in a field, or in a field of a field, and so on."""
        content = self.content
        for depth, name in enumerate(names, 1):
            if not isinstance(content, dict) or name not in content:
                raise self._wrong("is missing", *names[:depth])
            content = content[name]
        if not isinstance(content, kind):
            raise self._wrong(f"cannot be {reprlib.repr(content)}", *names)
        return content

    def number(self, *names: str) -> float:
        """A field that is a number, neither infinite nor NaN."""
        value = self.get(*names)
        if type(value) not in (int, float) or not math.isfinite(value):
            raise self._wrong(f"cannot be {reprlib.repr(value)}", *names)
        return float(value)

    def parts(self, *names: str) -> list["Record"]:
        """The entries of a field that is a list, such as `runs`."""
        field = ".".join(filter(None, (self.field, *names)))
        entries = enumerate(self.get(*names, kind=list))
        return [Record(each, self.file, f"{field}[{k}]") for k, each in entries]

    def require(self, *names: str, **fields: Any) -> None:
        """Refuse a record of something else: these fields of a field must be so."""
        for name, expected in fields.items():
            if (value := self.get(*names, name)) != expected:
                fault = f"must be {expected!r}, not {reprlib.repr(value)}"
                raise self._wrong(fault, *names, name)

    def _wrong(self, fault: str, *names: str) -> InputError:
        field = ".".join(filter(None, (self.field, *names)))
        return InputError(f"{self.file}: field {field} {fault}")


# book/3-workshop/01-exporter.ipynb, cell read-record
def read_record(name: str) -> Record | None:
    """The record NAME.json of a long run; None if it has not been made."""
    path = record_path(f"{name}.json")
    try:
        return Record(json.loads(path.read_text(encoding="utf-8")), str(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as a record ({error})") from None
