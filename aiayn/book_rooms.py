"""How this book works (preface).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/00-how-this-book-works.ipynb
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


# book/00-how-this-book-works.ipynb, cell rooms-imports
import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

from aiayn.book_cells import BookError, Piece


# book/00-how-this-book-works.ipynb, cell imported
def imported(piece: Piece) -> Iterator[str]:
    """The full names of what a cell imports, in its functions too, but not under `if TYPE_CHECKING`."""

    def visit(node: ast.AST) -> Iterator[ast.AST]:
        yield node
        types_only = isinstance(node, ast.If) and ast.unparse(node.test).split(".")[-1] == "TYPE_CHECKING"
        for child in node.orelse if isinstance(node, ast.If) and types_only else ast.iter_child_nodes(node):
            yield from visit(child)

    for node in visit(ast.parse(piece.source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # One dot is the folder of the module, each further dot the folder around it.
            around = ["aiayn", *piece.module.split(".")][: -node.level] if node.level else []
            base = [*around, *([node.module] if node.module else [])]
            yield from (".".join([*base, alias.name]) for alias in node.names)


def arrows(modules: dict[str, list[Piece]]) -> Iterator[tuple[Piece, str, str]]:
    """Every import from room to room: the cell, its room, and the room that it imports."""
    rooms = {name.partition(".")[0] for name in modules}
    for piece in (piece for module in modules.values() for piece in module):
        for name in imported(piece):
            package, room, *_ = f"{name}.".split(".")
            other = room if room in rooms else "__init__"  # from aiayn import train: what the front door has
            own = piece.module.partition(".")[0]
            if package == "aiayn" and other in rooms and other != own:
                yield piece, own, other


# book/00-how-this-book-works.ipynb, cell floors
def floors(imports: dict[str, set[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """Rooms by floor, the ground floor first; and circles, each as rooms of which one imports the next.

    Arrows within a circle do not count for the floors.
    """
    below = {room: sorted(others) for room, others in sorted(imports.items())}
    circles: list[list[str]] = []
    while True:
        try:
            order = list(graphlib.TopologicalSorter(below).static_order())
        except graphlib.CycleError as error:
            circles.append(error.args[1][::-1])
            for room in circles[-1]:
                below[room] = [other for other in below[room] if other not in circles[-1]]
        else:
            break
    height: dict[str, int] = {}
    for room in order:
        height[room] = 1 + max((height[other] for other in below[room]), default=-1)
    stories = [sorted(room for room in order if height[room] == k) for k in range(max(height.values()) + 1)]
    return stories, circles


def listing(modules: dict[str, list[Piece]]) -> str:
    """The rooms of a package, floor by floor, each with the rooms that it imports; then its circles."""
    imports: dict[str, set[str]] = {name.partition(".")[0]: set() for name in modules}
    for _, room, other in arrows(modules):
        imports[room].add(other)
    stories, circles = floors(imports) if imports else ([], [])
    lines = []
    for number, rooms in enumerate(stories):
        lines += [f"floor {number}"]
        lines += [f"  {room}: {', '.join(sorted(imports[room]))}".rstrip(": ") for room in rooms]
    return "\n".join(lines + [f"a circle: {' imports '.join(circle)}" for circle in circles])


# book/00-how-this-book-works.ipynb, cell rooms-law
DESCRIPTION = Path("book", "package.yml")


def listed_rooms(root: Path) -> list[str]:
    """The rooms that `book/package.yml` lists, the lowest first; none if it has no such list."""
    path = root / DESCRIPTION
    text = re.sub(r"(?m)(^|\s)#.*", "", path.read_text(encoding="utf-8") if path.exists() else "")
    found = re.search(r"^rooms:(.*(?:\n(?:[ \t\]-].*)?)*)", text, re.MULTILINE)
    listed = found[1] if found else ""
    if not re.fullmatch(r"[\s\w,\[\]-]*", listed):
        raise BookError(f"{DESCRIPTION.as_posix()}: rooms: wanted is a list of names without dots")
    return re.findall(r"\w+", listed)


def check_rooms(modules: dict[str, list[Piece]], listed: list[str]) -> None:
    """Raise a BookError for an import that goes up, by this list of rooms; its first is the lowest."""
    where, rooms = DESCRIPTION.as_posix(), {name.partition(".")[0] for name in modules}
    for number, room in enumerate(listed):
        if room not in rooms or room in listed[:number]:
            fault = "is listed twice" if room in rooms else "is a room to which no chapter exports"
            raise BookError(f"{where}: rooms: {room!r} {fault}")
    for piece, room, other in arrows(modules):
        if {room, other} <= {*listed} and listed.index(other) > listed.index(room):
            raise BookError(
                f"{piece.origin}: an import that goes up: it brings {other} into {room}, and {where} lists "
                f"{room} below {other}"
            )
