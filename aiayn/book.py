"""How this book works (preface).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/00-how-this-book-works.ipynb
"""

__all__ = [
    "BookError",
    "Piece",
    "read_notebook",
    "KNOWN_TAGS",
    "check_tags",
    "target",
    "pieces",
    "bound_names",
    "used_names",
    "check_names",
    "blank_lines",
    "GENERATED",
    "module_source",
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
import json
import os
import re
import symtable
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any


# book/00-how-this-book-works.ipynb, cell errors
class BookError(Exception):
    """Something in a chapter that its author has to put right; the message says where and how."""


# book/00-how-this-book-works.ipynb, cell piece
@dataclass(frozen=True)
class Piece:
    """One exported cell."""

    notebook: Path  # the chapter it stands in
    cell: str  # its id
    module: str  # the module it goes to
    source: str  # its code

    @property
    def origin(self) -> str:
        """The words by which errors and generated modules name the cell."""
        return f"{self.notebook.as_posix()}, cell {self.cell}"


# book/00-how-this-book-works.ipynb, cell read-notebook
def read_notebook(root: Path, path: Path) -> dict[str, Any]:
    """Read a chapter: every cell's source as one string, its tags and the book's metadata within reach.

    Raises
    ------
    BookError
        If the file is not JSON, not a notebook of format 4, or has a cell without an id.
    """
    name = path.relative_to(root).as_posix()
    try:
        notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if notebook["nbformat"] != 4:
            raise BookError(f"{name}: notebook format {notebook['nbformat']}; save it as format 4.5")
        for number, cell in enumerate(notebook["cells"], start=1):
            if "id" not in cell:
                raise BookError(f"{name}: cell number {number} has no id; save it as format 4.5")
            cell["source"] = "".join(cell["source"])
            cell["tags"] = cell["metadata"].get("tags", [])
        notebook["aiayn"] = notebook["metadata"].get("aiayn", {})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BookError(f"{name}: not a notebook ({error!r}); was it saved as something else?") from None
    return notebook


# book/00-how-this-book-works.ipynb, cell tags
KNOWN_TAGS = [
    *("export", "export:", "claim:", "raises-exception", "skip-execution"),
    *("remove-cell", "remove-input", "remove-output", "remove-stdout", "remove-stderr"),
    *("hide-cell", "hide-input", "hide-output"),
    *("nbval-ignore-output", "nbval-check-output", "nbval-raises-exception", "nbval-skip"),
    *("exercise", "solution", "check"),
]


def check_tags(tags: list[str], origin: str) -> None:
    """Raise a BookError for a tag that looks like a slip of a known one; others are the author's affair."""
    for tag in tags:
        stem = re.sub(r"(?<=:).+", "", tag)  # export:charts -> export:
        near = difflib.get_close_matches(stem.lower(), KNOWN_TAGS, n=1, cutoff=0.75)
        if stem not in KNOWN_TAGS and near:
            raise BookError(f"{origin}: unknown tag {tag!r}; did you mean {near[0]!r}?")


# book/00-how-this-book-works.ipynb, cell target
def target(tags: list[str], module: str | None, origin: str) -> str | None:
    """The module a cell with these tags goes to, `module` by default; None if it stays in the chapter."""
    exports = [tag for tag in tags if tag == "export" or tag.startswith("export:")]
    if not exports:
        return None
    name = exports[0].removeprefix("export:") if exports[0] != "export" else module
    if len(exports) > 1 or not name or not all(part.isidentifier() for part in name.split(".")):
        raise BookError(
            f"{origin}: an exported cell goes to one module: name it in the notebook's metadata, "
            'as "aiayn": {"module": "NAME"}, or in the tag, as export:NAME'
        )
    return name


# book/00-how-this-book-works.ipynb, cell pieces
def pieces(root: Path, path: Path) -> Iterator[Piece]:
    """The exported cells of one chapter, in its order.

    Raises
    ------
    BookError
        If a tag is wrong, or an exported cell is not code that parses.
    """
    notebook = read_notebook(root, path)
    for cell in notebook["cells"]:
        origin = f"{path.relative_to(root).as_posix()}, cell {cell['id']}"
        check_tags(cell["tags"], origin)
        name = target(cell["tags"], notebook["aiayn"].get("module"), origin)
        if name is None:
            continue
        if cell["cell_type"] != "code":
            raise BookError(f"{origin}: only code can be exported, and this cell is {cell['cell_type']}")
        try:
            compile(cell["source"], origin, "exec", dont_inherit=True)
        except SyntaxError as error:
            raise BookError(f"{origin}, line {error.lineno}: does not parse: {error.msg}") from None
        yield Piece(path.relative_to(root), cell["id"], name, cell["source"].strip("\n"))


# book/00-how-this-book-works.ipynb, cell bound-names
def bound_names(source: str, imports: bool = True) -> list[str]:
    """The names that `source` binds at its top level, in order; the imported ones only if `imports`."""

    def visit(node: ast.AST) -> Iterator[str]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Import() | ast.ImportFrom():
                if imports:
                    yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pass  # what these bind is theirs alone
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case _:
                if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                    yield node.name
                for child in ast.iter_child_nodes(node):
                    yield from visit(child)

    return list(dict.fromkeys(visit(ast.parse(source))))


# book/00-how-this-book-works.ipynb, cell used-names
def used_names(source: str) -> set[str]:
    """The global names that `source` reads, inside its functions and classes too."""

    def visit(table: symtable.SymbolTable) -> Iterator[str]:
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (top or symbol.is_global()):
                yield symbol.get_name()
        for child in table.get_children():
            yield from visit(child)

    names = set(visit(symtable.symtable(source, "cell", "exec")))
    return {name for name in names if not (name.startswith("__") and name.endswith("__"))}


# book/00-how-this-book-works.ipynb, cell check-names
def check_names(module: list[Piece]) -> None:
    """Raise a BookError for a name that no piece of the module defines or imports, before Python does."""
    known = {*dir(builtins), *(name for piece in module for name in bound_names(piece.source))}
    for piece in module:
        for name in sorted(used_names(piece.source) - known):
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


def module_source(root: Path, module: list[Piece]) -> str:
    """The text of a module: a docstring that leads to the chapter, the public names, then the pieces."""
    path = module[0].notebook
    notebook = read_notebook(root, root / path)
    headings = (re.search(r"^# (.+)", c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
    title = next((heading[1].strip() for heading in headings if heading), path.stem)
    section = notebook["aiayn"].get("paper", "")
    if section[:1].isdigit():
        section = f"paper, section {section}"
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = f"{project['urls']['Repository']}/blob/main/{path.as_posix()}"
    # A package's front door is all imports, and they are its public names; elsewhere imports are private.
    imports = module[0].module.endswith("__init__")
    names = [name for piece in module for name in bound_names(piece.source, imports)]
    public = dict.fromkeys(name for name in names if not name.startswith("_"))
    listing = "".join(f'\n    "{name}",' for name in public) + "\n" * bool(public)
    text = f'"""{title}{f" ({section})" if section else ""}.\n\n{GENERATED}\n{address}\n"""\n\n'
    text += f"__all__ = [{listing}]\n"
    for before, piece in zip([None, *module], module, strict=False):
        gap = blank_lines(before.source, piece.source) if before else 2
        text += "\n" * gap + f"# {piece.origin}\n{piece.source}\n"
    return text


# book/00-how-this-book-works.ipynb, cell build
def build(root: Path) -> dict[Path, str]:
    """Every module of the book: its path in the project, its text.

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
    for module in modules.values():
        check_names(module)
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
    """`python -m aiayn.book export [--check]`: exit code 1 if the two differ, 2 if the book has a fault."""
    parser = argparse.ArgumentParser(prog="python -m aiayn.book", description="The book is the package.")
    parser.add_argument("command", choices=["export"], help="write aiayn/ from the book's exported cells")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the two differ")
    arguments = parser.parse_args()
    try:
        result = export(project(Path.cwd().resolve()), arguments.check)
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
