"""The rooms of the package, their floors, and the law that no import goes up."""

from itertools import pairwise
from pathlib import Path

import pytest
from test_book import ROOT, TITLE, Write, cell, notebook, root, run, write

from aiayn.book import BookError, build, export, read_book
from aiayn.book_cells import Piece
from aiayn.book_rooms import arrows, check_rooms, floors, listed_rooms, listing

__all__ = ["root", "write"]  # fixtures

Modules = dict[str, list[Piece]]


def modules(sources: dict[str, str]) -> Modules:
    """Modules of one cell each, from their sources."""
    return {
        name: [Piece(Path("book/01.ipynb"), "cell", name, sources[name])]
        for name in sources
    }


def imports_of(source: str, module: str = "laboratory.pair") -> set[str]:
    """The rooms that a module imports in a small package."""
    others = dict.fromkeys(
        ["__init__", "data", "model", "laboratory.__init__", "laboratory.words"], ""
    )
    return {other for _, _, other in arrows(modules({**others, module: source}))}


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("import aiayn.data", {"data"}),
        ("import aiayn.data as data, os", {"data"}),
        ("import aiayn.data.corpora", {"data"}),
        ("from aiayn.data import load", {"data"}),
        ("from aiayn.data.corpora import load", {"data"}),
        ("from aiayn import data, model", {"data", "model"}),
        ("from aiayn import train", {"__init__"}),
        ("import aiayn", {"__init__"}),
        ("from aiayn.laboratory.words import NOUNS", set()),
        ("from .words import NOUNS", set()),
        ("from . import words", set()),
        ("from .. import data", {"data"}),
        ("from ..model import Transformer", {"model"}),
        ("from .. import train", {"__init__"}),
        ("from ... import data", set()),
        ("def f():\n    from aiayn.model import Transformer", {"model"}),
        (
            (
                "class C:\n    def f(self):\n        if self:\n"
                "            import aiayn.data"
            ),
            {"data"},
        ),
        (
            "try:\n    from ..data import load\nexcept ImportError:\n    load = None",
            {"data"},
        ),
        ("if TYPE_CHECKING:\n    from aiayn.data import Pairs", set()),
        (
            (
                "if typing.TYPE_CHECKING:\n    from aiayn.data import Pairs\n"
                "else:\n    import aiayn.model"
            ),
            {"model"},
        ),
        ("if not TYPE_CHECKING:\n    import aiayn.model", {"model"}),
        (
            (
                "if x:\n    pass\nelif TYPE_CHECKING:\n    import aiayn.data\n"
                "else:\n    import aiayn.model"
            ),
            {"model"},
        ),
        ("import torch\nfrom datasets import data\nimport aiaynx.data", set()),
        ("text = 'from aiayn.data import load'", set()),
    ],
)
def test_which_rooms_a_cell_imports(source: str, rooms: set[str]) -> None:
    assert imports_of(source) == rooms


@pytest.mark.parametrize(
    ("module", "source", "rooms"),
    [
        ("laboratory.__init__", "from .words import NOUNS", set()),
        ("laboratory.__init__", "from ..data import load", {"data"}),
        ("__init__", "from .data import load", {"data"}),
        ("__init__", "from . import model", {"model"}),
        ("model", "from .data import load", {"data"}),
        ("model", "from .laboratory.words import NOUNS", {"laboratory"}),
    ],
)
def test_relative_imports_of_other_modules(
    module: str, source: str, rooms: set[str]
) -> None:
    assert imports_of(source, module) == rooms


# The map


def test_floors_are_the_longest_ways_down() -> None:
    house = {"a": set[str](), "b": {"a"}, "c": {"a", "b"}, "d": {"a"}, "e": set[str]()}
    assert floors(house) == ([["a", "e"], ["b", "d"], ["c"]], [])


def test_circles_are_told_and_the_rest_is_still_sorted() -> None:
    house = {
        "a": {"b"},
        "b": {"c"},
        "c": {"a"},
        "top": {"a"},
        "x": {"y", "top"},
        "y": {"x"},
    }
    stories, circles = floors(house)
    assert sorted(room for rooms in stories for room in rooms) == sorted(house)
    for circle in circles:
        assert circle[0] == circle[-1]
        assert all(after in house[before] for before, after in pairwise(circle))
    assert {frozenset(circle) for circle in circles} == {
        frozenset("abc"),
        frozenset("xy"),
    }
    assert [k for k, rooms in enumerate(stories) if "a" in rooms] < [
        k for k, rooms in enumerate(stories) if "top" in rooms
    ]


def test_the_map_has_a_line_for_each_room() -> None:
    sources = {
        "data": "",
        "laboratory.words": "",
        "laboratory.corpus": "from aiayn.data import load",
    }
    sources["training"] = "from .data import load\nfrom .laboratory.corpus import pairs"
    house = modules(sources)
    assert listing(house) == (
        "floor 0\n  data\n"
        "floor 1\n  laboratory: data\n"
        "floor 2\n  training: data, laboratory"
    )
    circle = listing(house | modules({"data": "def f():\n    from . import training"}))
    assert circle.splitlines()[-1].startswith("a circle: ")
    assert listing({}) == ""


def test_the_map_is_the_same_every_time() -> None:
    """Circles are not found in an order that changes from one run of Python to the
    next.
    """
    code = (
        "from aiayn.book_rooms import floors; "
        "print(floors({'a': {'b', 'c'}, 'b': {'a', 'd'}, 'c': {'a', 'b'}, 'd': {'c'}}))"
    )
    assert len({run("-c", code, cwd=ROOT).stdout for _ in range(2)}) == 1


def test_the_command_prints_the_map(root: Path, write: Write) -> None:
    write(
        "01-data", notebook(TITLE, cell("load", "PAIRS = 1", "export"), module="data")
    )
    source = "from aiayn.data import PAIRS\n\nBOTH = 2 * PAIRS"
    write("02-model", notebook(TITLE, cell("both", source, "export"), module="model"))
    result = run("-m", "aiayn.book", "rooms", cwd=root / "book")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "floor 0\n  data\nfloor 1\n  model: data\n"


def test_our_own_house_has_no_circle() -> None:
    text = listing(read_book(ROOT))
    assert "circle" not in text
    assert "\n  __main__: " in text.rpartition("floor")[2]


# The law


def house(root: Path, write: Write, law: str, data: str = "PAIRS = 1") -> None:
    """Two rooms, `model` and `data`, of which the first imports the second; and a list
    of rooms.
    """
    write("01-data", notebook(TITLE, cell("load", data, "export"), module="data"))
    source = "from aiayn.data import PAIRS\n\nBOTH = 2 * PAIRS"
    write(
        "02-model",
        notebook(
            TITLE, cell("both", source, "export:model.transformer"), module="data"
        ),
    )
    (root / "book" / "package.yml").write_text(law)


UP = "def f() -> None:\n    from aiayn.model.transformer import BOTH\n\n    print(BOTH)"


@pytest.mark.parametrize("check", [False, True])
def test_an_import_that_goes_up_is_refused_by_name(
    root: Path, write: Write, check: bool
) -> None:
    house(root, write, "rooms: [model, data]\n")
    with pytest.raises(BookError) as error:
        export(root, check)
    assert str(error.value) == (
        "book/02-model.ipynb, cell both: an import that goes up:"
        " it brings data into model, and book/package.yml lists model below data"
    )
    assert not (root / "aiayn").exists()


def test_an_import_within_a_function_is_refused_too(root: Path, write: Write) -> None:
    house(root, write, "rooms: [data, model]\n", UP)
    with pytest.raises(
        BookError,
        match=r"^book/01-data.ipynb, cell load: .* it brings model into data, ",
    ):
        export(root)
    house(root, write, "rooms: [data, model]\n", UP.replace("aiayn.model", ".model"))
    with pytest.raises(
        BookError,
        match=r"^book/01-data.ipynb, cell load: .* it brings model into data, ",
    ):
        export(root)


def test_imports_that_go_down_and_those_for_types_are_allowed(
    root: Path, write: Write
) -> None:
    types = (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n"
        "    from aiayn.model.transformer import BOTH\n\nPAIRS = 1"
    )
    house(root, write, "rooms: [data, model]\n", types)
    assert export(root) == ["aiayn/data.py", "aiayn/model/transformer.py"]
    assert export(root, check=True) == []


@pytest.mark.parametrize(
    "law", ["", "rooms: []\n", "rooms:\n", "rooms: [data]\n", "modules:\n  x: y\n"]
)
def test_a_room_that_is_not_listed_is_free(root: Path, write: Write, law: str) -> None:
    house(root, write, law, UP)  # even a circle
    assert len(build(root)) == 2


@pytest.mark.parametrize(
    ("law", "fault"),
    [
        ("rooms: [data, modle]", "'modle' is a room to which no chapter exports"),
        ("rooms: [data, model, data]", "'data' is listed twice"),
        ("rooms: [data, model.transformer]", "wanted is a list of names without dots"),
        ("rooms: {data: 1}", "wanted is a list of names without dots"),
    ],
)
def test_a_list_that_cannot_be_right(
    root: Path, write: Write, law: str, fault: str
) -> None:
    house(root, write, law)
    with pytest.raises(BookError) as error:
        export(root)
    assert str(error.value) == f"book/package.yml: rooms: {fault}"


@pytest.mark.parametrize(
    "text",
    [
        "rooms: [errors, model, __main__]",
        "rooms: [errors, model,\n  __main__]\nmodules:\n  x: y",
        (
            "front:\n  Data: [rooms]\n\n"
            "rooms:  # lowest first\n- errors\n# then\n- model  # as\n- __main__\n"
        ),
        "rooms:\n\n  - errors\n  - model\n\n  - __main__\n\nmodules:\n  - data\n",
        "# rooms: [data]\nrooms: [\n  errors,\n  model, __main__,\n]\nlast: 1",
    ],
)
def test_every_way_to_write_a_list(root: Path, text: str) -> None:
    (root / "book" / "package.yml").write_text(text)
    assert listed_rooms(root) == ["errors", "model", "__main__"]


def test_the_list_of_our_own_house_holds() -> None:
    listed = listed_rooms(ROOT)
    check_rooms(read_book(ROOT), listed)
    assert len(listed) != 1  # a list of one room says nothing
