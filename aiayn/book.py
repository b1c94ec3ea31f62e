"""From cells to a package.

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-4-from-cells-to-a-package.ipynb
"""

__all__ = [
    "read_book",
    "build",
    "present",
    "difference",
    "export",
    "project",
    "main",
    "State",
    "Evidence",
    "claim",
    "record_path",
    "Record",
    "read_record",
]


# book/11-4-from-cells-to-a-package.ipynb, cell imports
import argparse
import difflib
import html
import json
import math
import os
import reprlib
import sys
import types
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

# Started by its file's name, it finds its neighbours without the package.
if __name__ == "__main__" and "__file__" in globals() and not __package__:
    sys.modules["aiayn"] = types.ModuleType("aiayn")
    sys.modules["aiayn"].__path__ = [str(Path(__file__).parent)]

from aiayn.book_cells import BookError, Piece, pieces
from aiayn.book_classes import patch as patch
from aiayn.book_modules import GENERATED, check_names, module_source
from aiayn.book_rooms import check_rooms, listed_rooms, listing
from aiayn.errors import InputError


# book/11-4-from-cells-to-a-package.ipynb, cell build
def read_book(root: Path) -> dict[str, list[Piece]]:
    """The pieces of every module of the book.

    Raises
    ------
    BookError
        If a chapter has a fault, or two chapters export one module.
    """
    modules: dict[str, list[Piece]] = {}
    paths = (root / "book").glob("*.ipynb")
    for path in sorted(each for each in paths if not each.name.startswith(".")):
        for piece in pieces(root, path):
            module = modules.setdefault(piece.module, [])
            if module and module[0].notebook != piece.notebook:
                raise BookError(
                    f"{piece.origin}: exports to aiayn.{piece.module}, as "
                    f"{module[0].origin} does; one module comes from one chapter"
                )
            module.append(piece)
    return modules


def build(root: Path) -> dict[Path, str]:
    """Every module of the book: its path in the project, its text.

    Raises
    ------
    BookError
        If a chapter has a fault, or a name, a class or an import is wrong.
    """
    modules = read_book(root)
    for module in modules.values():
        check_names(module)
    check_rooms(modules, listed_rooms(root))
    return {
        Path("aiayn", f"{name.replace('.', '/')}.py"): module_source(root, module)
        for name, module in modules.items()
    }


# book/11-4-from-cells-to-a-package.ipynb, cell present
def present(root: Path) -> dict[Path, str]:
    """Every module that the package has now; a BookError if one was made by hand."""
    modules = {}
    paths = (root / "aiayn").rglob("*.py")
    for path in sorted(each for each in paths if not each.name.startswith(".")):
        name = path.relative_to(root)
        modules[name] = path.read_text(encoding="utf-8", errors="replace")
        if GENERATED not in modules[name]:
            raise BookError(
                f"{name.as_posix()}: not generated from a chapter; move it out of "
                "aiayn/, or move its code into exported cells"
            )
    return modules


# book/11-4-from-cells-to-a-package.ipynb, cell difference
def difference(path: Path, old: str, new: str) -> str:
    """How the package's module differs from the book's, as a unified diff."""
    lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*lines, path.as_posix(), "the book"))


# book/11-4-from-cells-to-a-package.ipynb, cell export
def export(root: Path, check: bool = False) -> list[str]:
    """Write the package that the book describes; with `check`, only compare.

    Returns
    -------
    list of str
        The paths written or removed; with `check`, one unified diff for each of them.
    """
    new, old = build(root), present(root)
    paths = sorted(new.keys() | old.keys())
    changed = [path for path in paths if new.get(path) != old.get(path)]
    if check:
        return [difference(p, old.get(p, ""), new.get(p, "")) for p in changed]
    for path in changed:
        if path not in new:
            (root / path).unlink()
            continue
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        draft = (root / path).with_suffix(f".{os.getpid()}")  # no module until whole
        draft.write_text(new[path], encoding="utf-8", newline="\n")
        os.replace(draft, root / path)
    return [path.as_posix() for path in changed]


# book/11-4-from-cells-to-a-package.ipynb, cell project
def project(start: Path) -> Path:
    """The project that `start` lies in.

    Raises
    ------
    BookError
        If no folder from `start` upwards holds the book.
    """
    for folder in [start, *start.parents]:
        if (folder / "_toc.yml").is_file() and (folder / "book").is_dir():
            return folder
    fault = "no book here or above (no folder with _toc.yml and book/)"
    raise BookError(f"{start}: {fault}")


# book/11-4-from-cells-to-a-package.ipynb, cell main
def main() -> None:
    """`python -m aiayn.book export [--check]`, or `rooms`.

    The exit code is 1 if book and package differ, and 2 if the book has a fault.
    """
    about = "The book is the package."
    parser = argparse.ArgumentParser(prog="python -m aiayn.book", description=about)
    verbs = parser.add_subparsers(dest="command", required=True)
    about = "write aiayn/ from the book's exported cells"
    exporting = verbs.add_parser("export", help=about)
    about = "write nothing; fail if the two differ"
    exporting.add_argument("--check", action="store_true", help=about)
    about = "show which parts of the package import which others"
    verbs.add_parser("rooms", help=about)
    arguments = parser.parse_args()
    try:
        root = project(Path.cwd().resolve())
        if arguments.command == "rooms":
            print(listing(read_book(root)))
            return
        result = export(root, arguments.check)
    except (BookError, OSError) as error:
        parser.exit(2, f"aiayn.book: {error}\n")
    print("\n".join(result) or "the package is what the book says")
    if arguments.check and result:
        fault = "the package is not what the book says: run `make export`"
        parser.exit(1, f"aiayn.book: {fault}\n")


# book/11-4-from-cells-to-a-package.ipynb, cell run
# A notebook, too, is __main__, but it is no file.
if __name__ == "__main__" and "__file__" in globals():
    main()


# book/11-4-from-cells-to-a-package.ipynb, cell states
State = Literal[
    "holds", "does not hold", "does not hold here", "undecided", "not yet run"
]
Evidence = Literal[
    "proof",
    "by construction",
    "simulation",
    "timing",
    "toy",
    "laboratory",
    "real text",
]
_MARKS: dict[State, str] = {
    "holds": "✓",
    "does not hold": "✗",
    "does not hold here": "✗",
    "undecided": "?",
    "not yet run": "○",
}


# book/11-4-from-cells-to-a-package.ipynb, cell claim
def claim(
    identifier: str,
    holds: bool | None = None,
    figure: str = "",
    *,
    evidence: Evidence,
    expected: bool | None = True,
    run: str = "",
) -> None:
    """Check a claim of the paper (an id of `book/claims.yml`) and show one quiet line.

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
    failed: State = "does not hold" if evidence == "proof" else "does not hold here"
    state: State = "holds" if holds else failed
    state = "undecided" if holds is None else state
    state = "not yet run" if run else state
    found = f"{state} ({evidence})" + (f": {figure}" if figure else "")
    found += f"; the command is {run}" if run else ""
    if not run and (None if holds is None else bool(holds)) is not expected:
        raise AssertionError(f"Claim {identifier} {found}; the book says otherwise")
    record = {"claim": identifier, "state": state, "evidence": evidence}
    record |= {"figure": figure} | ({"run": run} if run else {})
    _show_claim(_MARKS[state], f"Claim {identifier}", found, record)


# book/11-4-from-cells-to-a-package.ipynb, cell show-claim
def _show_claim(mark: str, name: str, found: str, record: dict[str, str]) -> None:
    """One line under the cell, with the record in its metadata; printed elsewhere."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
        from IPython.display import display

        text = f"{mark} <b>{html.escape(name)}</b> {html.escape(found)}"
        bundle = {
            "text/plain": f"{mark} {name} {found}",
            "text/html": f'<div class="aiayn-claim">{text}</div>',
        }
        display(bundle, raw=True, metadata={"aiayn": record})
    else:
        print(f"{mark} {name} {found}")


# book/11-4-from-cells-to-a-package.ipynb, cell record-path
def record_path(name: str) -> Path:
    """Where the result of a long run is: `runs` beside the chapter, or the package.

    Where there is none, it is the place beside the chapter: nothing was recorded yet.
    """
    beside = Path("runs", name)
    packaged = Path(str(files("aiayn")), "runs", name)  # for Colab
    return packaged if packaged.exists() and not beside.exists() else beside


# book/11-4-from-cells-to-a-package.ipynb, cell record
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
        for name, wanted in fields.items():
            if (found := self.get(*names, name)) != wanted:
                fault = f"must be {wanted!r}, not {reprlib.repr(found)}"
                raise self._wrong(fault, *names, name)

    def _wrong(self, fault: str, *names: str) -> InputError:
        field = ".".join(filter(None, (self.field, *names)))
        return InputError(f"{self.file}: field {field} {fault}")


# book/11-4-from-cells-to-a-package.ipynb, cell read-record
def read_record(name: str) -> Record | None:
    """The record NAME.json of a long run; None if it has not been made."""
    path = record_path(f"{name}.json")
    try:
        return Record(json.loads(path.read_text(encoding="utf-8")), str(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as a record ({error})") from None
