# Made by `make export` from book/3-workshop/01-exporter.ipynb
"""Reads the exported cells of a chapter."""

# book/3-workshop/01-exporter.ipynb, cell cells-imports
import ast
import difflib
import json
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


# book/3-workshop/01-exporter.ipynb, cell piece
class BookError(Exception):
    """Something in a chapter that its author has to put right: where, and how."""


@dataclass(frozen=True)
class ExportedCell:
    """One exported cell."""

    notebook: Path  # the chapter it stands in
    cell: str  # its id
    module: str  # the module it goes to
    source: str  # its code

    @property
    def origin(self) -> str:
        """The words by which errors and generated modules name the cell."""
        return f"{self.notebook.as_posix()}, cell {self.cell}"


# book/3-workshop/01-exporter.ipynb, cell read-notebook
def read_notebook(root: Path, path: Path) -> dict[str, Any]:
    """Read a chapter, with each cell's source as one string, its tags, and metadata.

    Raises
    ------
    BookError
        If it is not JSON, not a notebook of format 4, or has a cell without an id.
    """
    name = path.relative_to(root).as_posix()
    try:
        notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if (version := notebook["nbformat"]) != 4:
            raise BookError(f"{name}: notebook format {version}; save it as format 4.5")
        for number, cell in enumerate(notebook["cells"], start=1):
            if "id" not in cell:
                fault = f"cell number {number} has no id; save it as format 4.5"
                raise BookError(f"{name}: {fault}")
            cell["source"] = "".join(cell["source"])
            cell["tags"] = cell["metadata"].get("tags", [])
        notebook["aiayn"] = notebook["metadata"].get("aiayn", {})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fault = f"not a notebook ({error!r}); was it saved as something else?"
        raise BookError(f"{name}: {fault}") from None
    return notebook


# book/3-workshop/01-exporter.ipynb, cell tags
KNOWN_TAGS = [
    *("export", "export:", "claim:", "raises-exception", "skip-execution"),
    *("remove-cell", "remove-input", "remove-output", "remove-stdout", "remove-stderr"),
    *("hide-cell", "hide-input", "hide-output"),
    *("nbval-ignore-output", "nbval-check-output"),
    *("nbval-raises-exception", "nbval-skip"),
    *("exercise", "solution", "check"),
]


def check_tags(tags: list[str], origin: str) -> None:
    """Raise a BookError for a tag that looks like a slip of a known one."""
    for tag in tags:
        stem = re.sub(r"(?<=:).+", "", tag)  # export:charts -> export:
        near = difflib.get_close_matches(stem.lower(), KNOWN_TAGS, n=1, cutoff=0.75)
        if stem not in KNOWN_TAGS and near:
            raise BookError(f"{origin}: unknown tag {tag!r}; did you mean {near[0]!r}?")


# book/3-workshop/01-exporter.ipynb, cell target
def target_module(tags: list[str], module: str | None, origin: str) -> str | None:
    """The module a cell with these tags goes to; None if it stays in the chapter."""
    exports = [tag for tag in tags if tag == "export" or tag.startswith("export:")]
    if not exports:
        return None
    name = exports[0].removeprefix("export:") if exports[0] != "export" else module
    valid = all(part.isidentifier() for part in (name or "").split("."))
    if len(exports) > 1 or not name or not valid:
        raise BookError(
            f"{origin}: an exported cell goes to one module: name it in the notebook's "
            'metadata, as "aiayn": {"module": "NAME"}, or in the tag, as export:NAME'
        )
    return name


# book/3-workshop/01-exporter.ipynb, cell pieces
def exported_cells(root: Path, path: Path) -> Iterator[ExportedCell]:
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
        name = target_module(cell["tags"], notebook["aiayn"].get("module"), origin)
        if name is None:
            continue
        if (kind := cell["cell_type"]) != "code":
            fault = f"only code can be exported, and this cell is {kind}"
            raise BookError(f"{origin}: {fault}")
        try:
            compile(cell["source"], origin, "exec", dont_inherit=True)
        except SyntaxError as error:
            fault = f"line {error.lineno}: does not parse: {error.msg}"
            raise BookError(f"{origin}, {fault}") from None
        source = cell["source"].strip("\n")
        yield ExportedCell(path.relative_to(root), cell["id"], name, source)


# book/3-workshop/01-exporter.ipynb, cell bound-names
_Named = ast.ExceptHandler | ast.MatchAs | ast.MatchStar


def bound_names(source: str) -> list[str]:
    """The names that `source` binds at its top level, in order."""

    def visit(node: ast.AST) -> Iterator[str]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    yield alias.asname or alias.name.partition(".")[0]
            case ast.Lambda() | ast.GeneratorExp():
                pass  # what these bind is theirs alone
            case ast.ListComp() | ast.SetComp() | ast.DictComp():
                pass
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case _:
                if isinstance(node, _Named) and node.name:
                    yield node.name
                for child in ast.iter_child_nodes(node):
                    yield from visit(child)

    return list(dict.fromkeys(visit(ast.parse(source))))


# book/3-workshop/01-exporter.ipynb, cell used-names
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
    special = {name for name in names if name.startswith("__") and name.endswith("__")}
    return names - special
