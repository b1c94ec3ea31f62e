"""The package as its text tells it: every module, its public names, the cells that
these come from.

Nothing is imported: the text keeps what a running module has lost, such as the comment
behind a field or the name of a default value.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from pathlib import Path

from sphinx.application import Sphinx

ORIGIN = r"# ((book/[^,<\n]+)\.ipynb), cell ([\w-]+)"  # path, page, cell
PACKAGE = "aiayn"


@dataclass(frozen=True)
class Entry:
    """A name that a module binds: the statement that binds it, its cell, and the
    comment that explains it.
    """

    name: str
    node: ast.stmt
    cell: str
    comment: str

    @property
    def is_data(self) -> bool:
        """Whether it is neither a class nor a function."""
        return not isinstance(self.node, ast.ClassDef | ast.FunctionDef)


@dataclass(frozen=True)
class Module:
    """A module: its name without the package's ("" for the package), its text, what it
    binds and imports.
    """

    name: str
    source: str
    entries: dict[str, Entry]
    imports: dict[str, str]
    public: list[str]

    @property
    def qualified(self) -> str:
        """The name by which Python knows it."""
        return f"{PACKAGE}.{self.name}".rstrip(".")

    @property
    def page(self) -> str:
        """Its page in the reference; the package itself has the page that lists all
        modules.
        """
        return f"api/{self.name or 'index'}"

    @property
    def source_page(self) -> str:
        """The page that shows its text."""
        return f"{PACKAGE}/{self.name or '__init__'}"

    @property
    def chapter(self) -> str | None:
        """The page of the chapter that writes it: there is one, says the export."""
        origin = re.search(f"^{ORIGIN}$", self.source, re.MULTILINE)
        return origin[2] if origin else None


def comment(source: str, body: list[ast.stmt], node: ast.stmt) -> str:
    """What explains a constant or a field: the comment behind it, the string below it,
    or comments above.
    """
    assert node.end_lineno is not None and node.end_col_offset is not None
    lines = source.splitlines()
    behind = lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode()
    if found := re.match(r"\s*#\s*(.*)", behind):
        return found[1]
    below = next(iter(body[body.index(node) + 1 :]), None)
    match below:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return cleandoc(text)
    above: list[str] = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.lstrip().startswith("#") or re.fullmatch(ORIGIN, line):
            break
        above.insert(0, line.lstrip("# "))
    return " ".join(above)


def targets(node: ast.stmt) -> list[str]:
    """The names that a statement binds, if it is of a kind that the reference shows."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        return [node.target.id] if isinstance(node.target, ast.Name) else []
    bound = node.targets if isinstance(node, ast.Assign) else []
    parts = (part for target in bound for part in ast.walk(target))
    return [part.id for part in parts if isinstance(part, ast.Name)]


def with_types_only(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, and those that only type checkers read."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from node.body


def read_module(name: str, source: str) -> Module:
    """A module from its text."""
    numbered = enumerate(source.splitlines(), start=1)
    matches = ((number, re.fullmatch(ORIGIN, line)) for number, line in numbered)
    cells = [(number, found[3]) for number, found in matches if found]
    entries: dict[str, Entry] = {}
    imports: dict[str, str] = {}
    public: list[str] = []
    body = ast.parse(source).body
    for node in with_types_only(body):
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                imports[each.asname or each.name] = f"{node.module}.{each.name}"
            # So an `__init__` hands a name on.
            public += [each.name for each in node.names if each.asname == each.name]
        elif isinstance(node, ast.Import):
            for each in node.names:
                imports[(each.asname or each.name).partition(".")[0]] = each.name
        else:
            above = [cell for number, cell in cells if number < node.lineno]
            cell = above[-1] if above else ""
            # A name that is bound again (a base case, then the whole) is explained
            # where it first appears.
            for bound in targets(node):
                entries.setdefault(
                    bound, Entry(bound, node, cell, comment(source, body, node))
                )
    public += [bound for bound in entries if not bound.startswith("_")]
    return Module(name, source, entries, imports, public)


@cache
def read_package(folder: Path) -> dict[str, Module]:
    """Every module under a folder, by its name."""
    found = folder.rglob("*.py")
    paths = sorted((module_name(path.relative_to(folder)), path) for path in found)
    texts = {name: path.read_text(encoding="utf-8") for name, path in paths}
    return {name: read_module(name, text) for name, text in texts.items()}


def module_name(path: Path) -> str:
    """The name of the module in a file; that of an `__init__` is its folder's."""
    return ".".join(path.with_suffix("").parts).removesuffix("__init__").rstrip(".")


def package(app: Sphinx) -> dict[str, Module]:
    """Every module of the package that the book describes."""
    return read_package(Path(app.srcdir, PACKAGE))


def module_of(app: Sphinx, qualified: str | None) -> Module | None:
    """A module by the name that Python has for it."""
    modules = package(app).values()
    return next((each for each in modules if each.qualified == qualified), None)


def full_name(module: Module, name: str) -> str:
    """The name of an entry in Sphinx's index."""
    return f"{module.qualified}.{name}"


def home_of(
    modules: dict[str, Module], dotted: str
) -> tuple[Module, Entry | None] | None:
    """Where a dotted name of the package is defined, whoever hands it on; a module has
    no entry.
    """
    path = dotted.removeprefix(PACKAGE).removeprefix(".")
    owner, _, name = path.rpartition(".")
    if owner in modules:
        if name in modules[owner].entries:
            return modules[owner], modules[owner].entries[name]
        origin = modules[owner].imports.get(name, "")
        if origin.startswith(f"{PACKAGE}.") and origin != dotted:
            return home_of(modules, origin)
    return (modules[path], None) if path in modules else None
