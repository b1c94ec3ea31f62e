"""From cells to a package.

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-4-from-cells-to-a-package.ipynb
"""

__all__ = [
    "imported",
    "arrows",
    "floors",
    "listing",
    "DESCRIPTION",
    "listed_rooms",
    "check_rooms",
]


# book/11-4-from-cells-to-a-package.ipynb, cell rooms-imports
import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

from aiayn.book_cells import BookError, Piece


# book/11-4-from-cells-to-a-package.ipynb, cell imported
def imported(piece: Piece) -> Iterator[str]:
    """The full names of what a cell imports, but not under `if TYPE_CHECKING`."""

    def visit(node: ast.AST) -> Iterator[ast.AST]:
        yield node
        children: Iterator[ast.AST] = ast.iter_child_nodes(node)
        test = ast.unparse(node.test) if isinstance(node, ast.If) else ""
        if isinstance(node, ast.If) and test.split(".")[-1] == "TYPE_CHECKING":
            children = iter(node.orelse)
        for child in children:
            yield from visit(child)

    for node in visit(ast.parse(piece.source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # One dot is the module's folder, each further dot the folder around it.
            around = ["aiayn", *piece.module.split(".")]
            base = around[: -node.level] if node.level else []
            base += [node.module] if node.module else []
            yield from (".".join([*base, alias.name]) for alias in node.names)


def arrows(modules: dict[str, list[Piece]]) -> Iterator[tuple[Piece, str, str]]:
    """Every import from room to room: the cell, its room, and the imported room."""
    rooms = {name.partition(".")[0] for name in modules}
    for piece in (piece for module in modules.values() for piece in module):
        for name in imported(piece):
            package, room, *_ = f"{name}.".split(".")
            other = room if room in rooms else "__init__"  # from aiayn import train
            own = piece.module.partition(".")[0]
            if package == "aiayn" and other in rooms and other != own:
                yield piece, own, other


# book/11-4-from-cells-to-a-package.ipynb, cell floors
def floors(imports: dict[str, set[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """Rooms by floor, the lowest first; and circles, where each room imports the next.

    Arrows within a circle do not count for the floors.
    """
    below = {room: sorted(others) for room, others in sorted(imports.items())}
    circles: list[list[str]] = []
    while True:
        try:
            order = list(graphlib.TopologicalSorter(below).static_order())
        except graphlib.CycleError as error:
            circle = error.args[1][::-1]
            circles.append(circle)
            for room in circle:
                below[room] = [other for other in below[room] if other not in circle]
        else:
            break
    height: dict[str, int] = {}
    for room in order:
        height[room] = 1 + max((height[other] for other in below[room]), default=-1)
    numbers = range(max(height.values()) + 1)
    stories = [sorted(room for room in order if height[room] == k) for k in numbers]
    return stories, circles


def listing(modules: dict[str, list[Piece]]) -> str:
    """The rooms, floor by floor, each with those that it imports; then the circles."""
    imports: dict[str, set[str]] = {name.partition(".")[0]: set() for name in modules}
    for _, room, other in arrows(modules):
        imports[room].add(other)
    stories, circles = floors(imports) if imports else ([], [])
    lines = []
    for number, rooms in enumerate(stories):
        lines += [f"floor {number}"]
        for room in rooms:
            lines.append(f"  {room}: {', '.join(sorted(imports[room]))}".rstrip(": "))
    lines += [f"a circle: {' imports '.join(circle)}" for circle in circles]
    return "\n".join(lines)


# book/11-4-from-cells-to-a-package.ipynb, cell rooms-law
DESCRIPTION = Path("book", "package.yml")


def listed_rooms(root: Path) -> list[str]:
    """The rooms that `book/package.yml` lists, lowest first; none without a list."""
    path = root / DESCRIPTION
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    text = re.sub(r"(?m)(^|\s)#.*", "", text)
    found = re.search(r"^rooms:(.*(?:\n(?:[ \t\]-].*)?)*)", text, re.MULTILINE)
    listed = found[1] if found else ""
    if not re.fullmatch(r"[\s\w,\[\]-]*", listed):
        fault = "rooms: wanted is a list of names without dots"
        raise BookError(f"{DESCRIPTION.as_posix()}: {fault}")
    return re.findall(r"\w+", listed)


def check_rooms(modules: dict[str, list[Piece]], listed: list[str]) -> None:
    """Raise a BookError for an import that goes up in this list, the lowest first."""
    where, rooms = DESCRIPTION.as_posix(), {name.partition(".")[0] for name in modules}
    for number, room in enumerate(listed):
        fault = "is listed twice" if room in listed[:number] else ""
        if room not in rooms:
            fault = "is a room to which no chapter exports"
        if fault:
            raise BookError(f"{where}: rooms: {room!r} {fault}")
    for piece, room, other in arrows(modules):
        if {room, other} <= {*listed} and listed.index(other) > listed.index(room):
            raise BookError(
                f"{piece.origin}: an import that goes up: it brings {other} into "
                f"{room}, and {where} lists {room} below {other}"
            )
