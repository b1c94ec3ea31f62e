# Made by `make export` from book/3-workshop/01-exporter.ipynb
"""Writes the package from the exported cells of the chapters."""

# book/3-workshop/01-exporter.ipynb, cell imports
import difflib
from pathlib import Path

from aiayn.book.cells import BookError, ExportedCell, exported_cells
from aiayn.book.modules import GENERATED, check_names, module_source


# book/3-workshop/01-exporter.ipynb, cell build
def read_book(root: Path) -> dict[str, list[ExportedCell]]:
    """The exported cells of every module of the book.

    Raises
    ------
    BookError
        If a chapter has a fault, or two chapters export one module.
    """
    modules: dict[str, list[ExportedCell]] = {}
    book = root / "book"
    for path in sorted(path.relative_to(book) for path in book.rglob("*.ipynb")):
        if any(part[0] in "._" for part in path.parts):
            continue  # hidden, or built
        for exported in exported_cells(root, book / path):
            module = modules.setdefault(exported.module, [])
            if module and module[0].notebook != exported.notebook:
                raise BookError(
                    f"{exported.origin}: exports to aiayn.{exported.module}, as "
                    f"{module[0].origin} does; one module comes from one chapter"
                )
            module.append(exported)
    return modules


def build(root: Path) -> dict[Path, str]:
    """Every module of the book: its path in the project, its text.

    Raises
    ------
    BookError
        If a chapter has a fault, or a name or a class is wrong.
    """
    modules = read_book(root)
    for module in modules.values():
        check_names(module)
    return {
        Path("aiayn", f"{name.replace('.', '/')}.py"): module_source(root, module)
        for name, module in modules.items()
    }


# book/3-workshop/01-exporter.ipynb, cell present
def package_modules(root: Path) -> dict[Path, str]:
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


# book/3-workshop/01-exporter.ipynb, cell difference
def unified_diff(path: Path, old: str, new: str) -> str:
    """How the package's module differs from the book's, as a unified diff."""
    lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*lines, path.as_posix(), "the book"))


# book/3-workshop/01-exporter.ipynb, cell export
def export_book(root: Path, check: bool = False) -> list[str]:
    """Write the package that the book describes; with `check`, only compare.

    Returns
    -------
    list of str
        The paths written or removed; with `check`, one unified diff for each of them.
    """
    new, old = build(root), package_modules(root)
    paths = sorted(new.keys() | old.keys())
    changed = [path for path in paths if new.get(path) != old.get(path)]
    if check:
        return [unified_diff(p, old.get(p, ""), new.get(p, "")) for p in changed]
    for path in changed:
        if path not in new:
            (root / path).unlink()
            continue
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(new[path], encoding="utf-8", newline="\n")
    return [path.as_posix() for path in changed]
