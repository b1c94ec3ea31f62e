# Made by `make export` from book/3-workshop/01-exporter.ipynb
"""Puts the text of a module together from its exported cells."""

# book/3-workshop/01-exporter.ipynb, cell modules-imports
import ast
import builtins
import tomllib
from dataclasses import replace
from pathlib import Path

from aiayn.book.cells import BookError, ExportedCell, bound_names, used_names
from aiayn.book.patch import join_classes, split


# book/3-workshop/01-exporter.ipynb, cell check-names
def check_names(module: list[ExportedCell]) -> None:
    """Raise a BookError for a name that no cell of the module defines or imports."""
    parts = [(exported, *split(exported)) for exported in module]
    available = {*dir(builtins)}.union(*(bound_names(rest) for _, rest, _ in parts))
    for exported, rest, methods in parts:
        used = used_names(rest).union(*(used_names(each.source) for each in methods))
        for name in sorted(used - available):
            raise BookError(
                f"{exported.origin}: uses {name!r}, which no exported cell of "
                f"aiayn.{exported.module} defines or imports; import it in an exported "
                "cell, or export the cell that defines it"
            )


# book/3-workshop/01-exporter.ipynb, cell blank-lines
def blank_lines(before: str, after: str) -> int:
    """The blank lines that ruff wants below part of a module.

    One between a docstring or imports and what is no definition, else two.
    """
    last, first = ast.parse(before).body[-1:], ast.parse(after).body[:1]
    definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    beginning = ast.Import | ast.ImportFrom | ast.Expr
    begins = any(isinstance(node, beginning) for node in last)
    defines = any(isinstance(node, definition) for node in first)
    return 1 if begins and not defines else 2


# book/3-workshop/01-exporter.ipynb, cell opening
GENERATED = "Made by `make export` from"
DESCRIPTION = Path("book", "data", "package.toml")


def module_sentence(root: Path, module: list[ExportedCell]) -> str:
    """What the module is for, as `book/data/package.toml` says.

    Raises
    ------
    BookError
        If that file does not say so, or is no TOML.
    """
    path, name = root / DESCRIPTION, module[0].module.removesuffix(".__init__")
    try:
        groups = tomllib.loads(path.read_text(encoding="utf-8"))["modules"].values()
    except tomllib.TOMLDecodeError as error:
        raise BookError(f"{DESCRIPTION.as_posix()}: {error}") from None
    for group in groups:
        if name in group:
            return str(group[name])
    raise BookError(
        f"{module[0].origin}: {DESCRIPTION.as_posix()} does not say what aiayn.{name} "
        f'is for; add a line: "{name}" = "…"'
    )


def split_docstring(
    module: list[ExportedCell],
) -> tuple[str | None, list[ExportedCell]]:
    """The docstring with which the first cell begins, if any; the cells without it."""
    first, *others = module
    tree = ast.parse(first.source)
    about = ast.get_docstring(tree)
    if about is not None:
        lines = first.source.splitlines()[tree.body[0].end_lineno :]
        first = replace(first, source="\n".join(lines).strip("\n"))
    return about, [first, *others]


# book/3-workshop/01-exporter.ipynb, cell module-source
def module_source(root: Path, module: list[ExportedCell]) -> str:
    """The text of a module: where it comes from, its docstring, then the cells.

    The docstring is that of the module's first cell, or else its sentence.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    width = project.get("tool", {}).get("ruff", {}).get("line-length", 88)
    module = join_classes(module, width)
    about, module = split_docstring(module)
    about = about or module_sentence(root, module)
    ending = "\n" * ("\n" in about)
    text = f"# {GENERATED} {module[0].notebook.as_posix()}\n"
    text += f'"""{about}{ending}"""\n'
    for exported in module:
        gap = "\n" * blank_lines(text, exported.source)
        text += f"{gap}# {exported.origin}\n{exported.source}\n"
    return text
