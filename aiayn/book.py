"""How this book works (preface).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/00-how-this-book-works.ipynb
"""

__all__ = [
    "check_names",
    "blank_lines",
    "GENERATED",
    "opening",
    "module_source",
    "read_book",
    "build",
    "present",
    "difference",
    "export",
    "project",
    "main",
    "record_path",
    "claim",
]


# book/00-how-this-book-works.ipynb, cell imports
import argparse
import ast
import builtins
import difflib
import html
import os
import re
import sys
import tomllib
import types
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

if __name__ == "__main__" and "__file__" in globals() and not __package__:  # started by its file's name
    sys.modules["aiayn"] = types.ModuleType("aiayn")
    sys.modules["aiayn"].__path__ = [str(Path(__file__).parent)]

from aiayn.book_cells import BookError, Piece, bound_names, pieces, read_notebook, used_names
from aiayn.book_classes import join_classes, split
from aiayn.book_classes import patch as patch
from aiayn.book_rooms import check_rooms, listed_rooms, listing


# book/00-how-this-book-works.ipynb, cell check-names
def check_names(module: list[Piece]) -> None:
    """Raise a BookError for a name that no piece of the module defines or imports, before Python does."""
    parts = [(piece, *split(piece)) for piece in module]
    known = {*dir(builtins), *(name for _, rest, _ in parts for name in bound_names(rest))}
    for piece, rest, methods in parts:
        used = used_names(rest).union(*(used_names(method.source) for method in methods))
        for name in sorted(used - known):
            raise BookError(
                f"{piece.origin}: uses {name!r}, which no exported cell of aiayn.{piece.module} defines or "
                "imports; import it in an exported cell, or export the cell that defines it"
            )


# book/00-how-this-book-works.ipynb, cell blank-lines
def blank_lines(before: str, after: str) -> int:
    """How many blank lines ruff wants between two pieces: one after imports, else two."""
    last, first = ast.parse(before).body[-1:], ast.parse(after).body[:1]
    defines = any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in first)
    return 1 if any(isinstance(node, ast.Import | ast.ImportFrom) for node in last) and not defines else 2


# book/00-how-this-book-works.ipynb, cell module-source
GENERATED = "Generated from a chapter of the book: edit that, then run `make export`."


def opening(module: list[Piece]) -> tuple[str | None, list[Piece]]:
    """The docstring with which the first cell begins, if it has one, and the pieces without it."""
    first, *others = module
    tree = ast.parse(first.source)
    about = ast.get_docstring(tree)
    if about is not None:
        lines = first.source.splitlines()[tree.body[0].end_lineno :]
        first = replace(first, source="\n".join(lines).strip("\n"))
    return about, [first, *others]


def module_source(root: Path, module: list[Piece]) -> str:
    """The text of a module: a docstring that leads to the chapter, the public names, then the pieces.

    What the docstring says first is that of the module's first cell, or else the chapter's title.
    """
    path = module[0].notebook
    notebook = read_notebook(root, root / path)
    headings = (re.search(r"^# (.+)", c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
    title = next((heading[1].strip() for heading in headings if heading), path.stem)
    section = notebook["aiayn"].get("paper", "")
    if section[:1].isdigit():
        section = f"paper, section {section}"
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    address = f"{project['project']['urls']['Repository']}/blob/main/{path.as_posix()}"
    width = project.get("tool", {}).get("ruff", {}).get("line-length", 88)
    module = join_classes(module, width)
    # A package's front door is all imports, and they are its public names; elsewhere imports are private.
    imports = module[0].module.endswith("__init__")
    names = [name for piece in module for name in bound_names(piece.source, imports)]
    public = dict.fromkeys(name for name in names if not name.startswith("_"))
    listing = "".join(f'\n    "{name}",' for name in public) + "\n" * bool(public)
    about, module = opening(module)
    about = about or f"{title}{f' ({section})' if section else ''}."
    text = f'"""{about}\n\n{GENERATED}\n{address}\n"""\n\n'
    text += f"__all__ = [{listing}]\n"
    for before, piece in zip([None, *module], module, strict=False):
        gap = blank_lines(before.source, piece.source) if before else 2
        text += "\n" * gap + f"# {piece.origin}\n{piece.source}\n"
    return text


# book/00-how-this-book-works.ipynb, cell build
def read_book(root: Path) -> dict[str, list[Piece]]:
    """The pieces of every module of the book.

    Raises
    ------
    BookError
        If a chapter has a fault, or two chapters export one module.
    """
    modules: dict[str, list[Piece]] = {}
    for path in sorted(p for p in (root / "book").glob("*.ipynb") if not p.name.startswith(".")):
        for piece in pieces(root, path):
            module = modules.setdefault(piece.module, [])
            if module and module[0].notebook != piece.notebook:
                raise BookError(
                    f"{piece.origin}: exports to aiayn.{piece.module}, as {module[0].origin} does; "
                    "one module comes from one chapter"
                )
            module.append(piece)
    return modules


def build(root: Path) -> dict[Path, str]:
    """Every module of the book: its path in the project, its text.

    Raises
    ------
    BookError
        If a chapter has a fault, a name is missing, a class cannot go on, or an import goes up.
    """
    modules = read_book(root)
    for module in modules.values():
        check_names(module)
    check_rooms(modules, listed_rooms(root))
    return {
        Path("aiayn", f"{name.replace('.', '/')}.py"): module_source(root, module)
        for name, module in modules.items()
    }


# book/00-how-this-book-works.ipynb, cell present
def present(root: Path) -> dict[Path, str]:
    """Every module that the package has now; a BookError if one is hand-made: an export would lose it."""
    modules = {}
    for path in sorted(p for p in (root / "aiayn").rglob("*.py") if not p.name.startswith(".")):
        name = path.relative_to(root)
        modules[name] = path.read_text(encoding="utf-8", errors="replace")
        if GENERATED not in modules[name]:
            raise BookError(
                f"{name.as_posix()}: not generated from a chapter; move it out of aiayn/, "
                "or move its code into exported cells"
            )
    return modules


# book/00-how-this-book-works.ipynb, cell difference
def difference(path: Path, old: str, new: str) -> str:
    """How the package's module differs from the book's, as a unified diff."""
    lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*lines, path.as_posix(), "the book"))


# book/00-how-this-book-works.ipynb, cell export
def export(root: Path, check: bool = False) -> list[str]:
    """Write the package that the book describes; with `check`, write nothing and return the differences.

    Returns
    -------
    list of str
        The paths written or removed; with `check`, one unified diff for each of them.
    """
    new, old = build(root), present(root)
    changed = [path for path in sorted(new.keys() | old.keys()) if new.get(path) != old.get(path)]
    if check:
        return [difference(path, old.get(path, ""), new.get(path, "")) for path in changed]
    for path in changed:
        if path not in new:
            (root / path).unlink()
            continue
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        draft = (root / path).with_suffix(f".{os.getpid()}")  # no .py: not a module until it is whole
        draft.write_text(new[path], encoding="utf-8", newline="\n")
        os.replace(draft, root / path)
    return [path.as_posix() for path in changed]


# book/00-how-this-book-works.ipynb, cell project
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
    raise BookError(f"{start}: no book here or above (no folder with _toc.yml and book/)")


# book/00-how-this-book-works.ipynb, cell main
def main() -> None:
    """`python -m aiayn.book export [--check]`, or `rooms`.

    The exit code is 1 if the book and the package differ, and 2 if the book has a fault.
    """
    parser = argparse.ArgumentParser(prog="python -m aiayn.book", description="The book is the package.")
    verbs = parser.add_subparsers(dest="command", required=True)
    exporting = verbs.add_parser("export", help="write aiayn/ from the book's exported cells")
    exporting.add_argument("--check", action="store_true", help="write nothing; fail if the two differ")
    verbs.add_parser("rooms", help="show which parts of the package import which others")
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
        parser.exit(1, "aiayn.book: the package is not what the book says: run `make export`\n")


# book/00-how-this-book-works.ipynb, cell run
if __name__ == "__main__" and "__file__" in globals():  # a notebook, too, is __main__, but it is no file
    main()


# book/00-how-this-book-works.ipynb, cell record-path
def record_path(name: str) -> Path:
    """Where the result of a long run is: in `runs` beside the chapter, else in the package's own copy.

    Where there is none, it is the place beside the chapter: nothing was recorded yet.
    """
    beside = Path("runs", name)
    packaged = Path(str(files("aiayn")), "runs", name)  # for a notebook that is alone, as in Colab
    return packaged if packaged.exists() and not beside.exists() else beside


# book/00-how-this-book-works.ipynb, cell claim
def claim(identifier: str, holds: bool, figure: str = "", expected: bool = True) -> None:
    """Check a claim of the paper (an id of `book/claims.yml`) and show one quiet line.

    The ledger page collects these lines. `figure` is what was measured; what varies from run to run in
    it stands between ⟨ and ⟩. `expected` is False where the claim does not hold at the book's scale.

    Raises
    ------
    AssertionError
        If `holds` is not what the book says.
    """
    found = ("holds" if holds else "does not hold at this scale") + (f": {figure}" if figure else "")
    if bool(holds) != expected:
        raise AssertionError(f"Claim {identifier} {found}; the book says otherwise")
    mark = "✓" if holds else "✗"
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
        from IPython.display import display

        text = f"{mark} <b>Claim {html.escape(identifier)}</b> {html.escape(found)}"
        bundle = {
            "text/plain": f"{mark} Claim {identifier} {found}",
            "text/html": f'<div class="aiayn-claim">{text}</div>',
        }
        record = {"claim": identifier, "holds": bool(holds), "figure": figure}
        display(bundle, raw=True, metadata={"aiayn": record})
    else:
        print(f"{mark} Claim {identifier} {found}")
