"""A class that goes on in a later cell: at run time by `patch`, in the package by the
exporter.
"""

import abc
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from test_book_export import TITLE, Write, cell, notebook, root, ruff, run, write

from aiayn.book import patch
from aiayn.book.cells import BookError
from aiayn.book.export import export_book

__all__ = ["root", "write"]  # fixtures

GREETER = '''\
class Greeter:
    """Somebody who says hello."""

    def __init__(self, name: str) -> None:
        self.name = name'''
GREET = '''\
@patch
def greet(self: Greeter, other: str) -> str:
    """Say hello to somebody."""
    return f"{self.name}: hello, {other}!"'''
TITLED = '''\
@patch
@property
def title(self: Greeter) -> str:
    """How to address them."""
    return f"Gräfin {self.name}"'''
WHERE = "book/01-greeting.ipynb, cell"


def chapter(*later: str) -> dict[str, Any]:
    """A class, then these cells, whose ids are later-1, later-2, …"""
    cells = [
        cell(f"later-{k}", source, "export") for k, source in enumerate(later, start=1)
    ]
    return notebook(TITLE, cell("greeter", GREETER, "export"), *cells)


def exported(root: Path, write: Write, *later: str) -> str:
    """The pieces of the module that this chapter makes, without its head."""
    write("01-greeting", chapter(*later))
    export_book(root)
    text = (root / "aiayn" / "greeting.py").read_text()
    return text[text.index("# book/") :]


def loaded(root: Path) -> ModuleType:
    """The exported module."""
    path = root / "aiayn" / "greeting.py"
    module = ModuleType("greeting")
    exec(compile(path.read_text(), path, "exec"), module.__dict__)
    return module


# In the package


def test_a_method_goes_to_the_end_of_its_class(root: Path, write: Write) -> None:
    text = exported(root, write, "LIMIT = 3", GREET, TITLED)
    assert text == (
        f"# {WHERE} greeter\n"
        f"{GREETER}\n\n"
        f"    # {WHERE} later-2\n"
        "    def greet(self, other: str) -> str:\n"
        '        """Say hello to somebody."""\n'
        '        return f"{self.name}: hello, {other}!"\n\n'
        f"    # {WHERE} later-3\n"
        "    @property\n"
        "    def title(self) -> str:\n"
        '        """How to address them."""\n'
        '        return f"Gräfin {self.name}"\n\n\n'
        f"# {WHERE} later-1\n"
        "LIMIT = 3\n"
    )
    ada = loaded(root).Greeter("Ada")
    assert (ada.greet("you"), ada.title) == ("Ada: hello, you!", "Gräfin Ada")


def test_two_methods_of_one_cell_share_its_comment_and_the_rest_stays(
    root: Path, write: Write
) -> None:
    part = GREET.replace("greet", "part")
    later = f"COUNT = 1\n\n\n{GREET}\n\n\n# Said last.\n{part}\n\n\nLIMIT = 2"
    text = exported(root, write, later)
    assert text.count(f"    # {WHERE} later-1\n") == 1
    assert text.endswith(
        "    # Said last.\n"
        "    def part(self, other: str) -> str:\n"
        '        """Say hello to somebody."""\n'
        '        return f"{self.name}: hello, {other}!"\n\n\n'
        f"# {WHERE} later-1\n"
        "COUNT = 1\n\n\n"
        "LIMIT = 2\n"
    )


SPLIT = "@patch\ndef greet(\n    self: Greeter, {}: int\n) -> int:\n    return 1"
LAYOUTS = {
    # 115 columns on one line, but 110 of them in the class.
    "joined": SPLIT.format("x" * 76),
    "wide": SPLIT.format("x" * 77),
    "kept": (
        "@patch\ndef greet(\n    self: Greeter,\n    other: str,\n) -> str:\n"
        "    return other"
    ),
    "docstring": '@patch\ndef greet(self: Greeter):\n    """Say.\n\n    More.\n    """',
    "comment": (
        "@patch\ndef greet(self: Greeter) -> int:\n"
        "    return 1  # at least\n    # and the last words"
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_passes_ruff(root: Path, write: Write, name: str) -> None:
    with (root / "pyproject.toml").open("a") as project:
        project.write("[tool.ruff]\nline-length = 110\n")
    text = exported(root, write, LAYOUTS[name])
    ruff("check", "--line-length", "110", str(root / "aiayn"))
    ruff("format", "--check", "--line-length", "110", str(root / "aiayn"))
    assert ("def greet(self, x" in text) == (name == "joined")


def test_a_class_need_not_be_the_last_of_its_cell(root: Path, write: Write) -> None:
    more = f"{GREETER}\n\n\ndef after() -> None:\n    pass"
    parts = [cell("greeter", more, "export"), cell("later", GREET, "export")]
    write("01-greeting", notebook(TITLE, *parts))
    export_book(root)
    text = (root / "aiayn" / "greeting.py").read_text()
    assert text.endswith('hello, {other}!"\n\n\ndef after() -> None:\n    pass\n')
    ruff("format", "--check", str(root / "aiayn"))


def test_a_traceback_leads_to_the_cell(root: Path, write: Write) -> None:
    exported(root, write, "@patch\ndef fail(self: Greeter) -> float:\n    return 1 / 0")
    with pytest.raises(ZeroDivisionError) as error:
        loaded(root).Greeter("Ada").fail()
    number = traceback.extract_tb(error.value.__traceback__)[-1].lineno
    lines = (root / "aiayn" / "greeting.py").read_text().splitlines()
    assert number and lines[number - 3 : number] == [
        f"    # {WHERE} later-1",
        "    def fail(self) -> float:",
        "        return 1 / 0",
    ]


def test_types_are_checked_in_the_exported_class(root: Path, write: Write) -> None:
    exported(root, write, GREET)
    (root / "use.py").write_text(
        'from greeting import Greeter\n\nGreeter("Ada").greet(1)\n'
    )
    (root / "mypy.ini").write_text("[mypy]\nstrict = True\ncache_dir = /dev/null\n")
    module = str(root / "aiayn" / "greeting.py")
    result = run("-m", "mypy", "--config-file", "mypy.ini", module, "use.py", cwd=root)
    (line,) = (line for line in result.stdout.splitlines() if ": error:" in line)
    assert (
        'Argument 1 to "greet" of "Greeter" has incompatible type "int"; expected "str"'
        in line
    )


# What an author may get wrong


NOT_HERE = (
    "which no earlier exported cell of aiayn.greeting defines;"
    " a class can go on only in its own module"
)
NAMELESS = (
    "@patch does not say to which class 'greet' belongs; put it above other decorators,"
    " and annotate self, as self: Greeter"
)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "@patch\ndef greet(self: Stranger): ...",
            f"adds 'greet' to Stranger, {NOT_HERE}",
        ),
        (
            "class New:\n    x = 1\n\n\n@patch\ndef greet(self: New): ...",
            f"adds 'greet' to New, {NOT_HERE}",
        ),
        ("@patch\ndef greet(self): ...", NAMELESS),
        ("@patch\ndef greet(): ...", NAMELESS),
        ("@patch\ndef greet(this: Greeter): ...", NAMELESS),
        ('@patch\ndef greet(self: "Greeter"): ...', NAMELESS),
        ("@property\n@patch\ndef greet(self: Greeter): ...", NAMELESS),
        (
            "@patch\ndef greet(self: Greeter):\n    return gone",
            "uses 'gone', which no exported cell ",
        ),
        (
            f"{GREET}\n\n\ndef use() -> str:\n    return greet(1)",
            "uses 'greet', which no exported cell ",
        ),
        (
            "@patch\ndef f(self: Greeter, it: Greeter): ...",
            "'f' goes into the class Greeter, where Greeter is not yet defined; define",
        ),
        (
            "@patch\ndef f(self: Greeter):\n    return " + "1 + " * 18 + "10",
            "in the class, 4 columns further to the right, a line of 'f' is longer ",
        ),
        (
            '@patch\ndef f(self: Greeter) -> str:\n    """S."""\n    return """a\nb"""',
            "'f' has a string of several lines; make it a constant",
        ),
    ],
)
def test_a_method_that_cannot_be_added(
    root: Path, write: Write, source: str, message: str
) -> None:
    write("01-greeting", chapter(source))
    with pytest.raises(BookError) as error:
        export_book(root)
    assert str(error.value).startswith(f"{WHERE} later-1: {message}")
    assert not (root / "aiayn").exists()


def test_a_name_that_is_defined_after_the_class(root: Path, write: Write) -> None:
    late = "class Late:\n    x = 1"
    later = "@patch\ndef f(self: Greeter, it: {0} = None) -> {0}:\n    return Late()"
    write("01-greeting", chapter(late, later.format("Late")))
    with pytest.raises(BookError, match=r"'f' .* Greeter, where Late is not yet defin"):
        export_book(root)
    exported(root, write, late, later.format('"Late"'))
    assert loaded(root).Greeter("Ada").f().x == 1


def test_a_class_of_another_chapter_is_closed(root: Path, write: Write) -> None:
    write("01-greeting", chapter())
    imports = cell("imports", "from aiayn.greeting import Greeter", "export")
    write(
        "02-more",
        notebook(TITLE, imports, cell("greet", GREET, "export"), module="more"),
    )
    with pytest.raises(
        BookError,
        match=r"^book/02-more.ipynb, cell greet: adds 'greet' to Greeter, which no ",
    ):
        export_book(root)


# In the notebook


class Greeter:
    def __init__(self, name: str) -> None:
        self.name = name


def test_at_run_time_it_is_the_same() -> None:
    space: dict[str, Any] = {"Greeter": Greeter, "patch": patch}
    for _ in range(2):  # a cell may run again
        exec(f"{GREET}\n\n\n{TITLED}", space)
        ada: Any = Greeter("Ada")
        assert (ada.greet("you"), ada.title) == ("Ada: hello, you!", "Gräfin Ada")


def test_a_method_hides_no_variable() -> None:
    space: dict[str, Any] = {"Greeter": Greeter, "patch": patch, "score": 17}
    exec("@patch\ndef score(self: Greeter) -> int:\n    return 1", space)
    assert space["score"] == 17 and space["Greeter"]("Ada").score() == 1


def test_an_abstract_method_may_come_later() -> None:
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self) -> float: ...

    class Square(Shape):
        pass

    @patch
    def area(self: Square) -> float:
        return 1.0

    assert Square().area() == 1.0


@pytest.mark.parametrize("first", ["self", "", "self: 'Greeter'", "self: int | str"])
def test_without_a_class_there_is_nothing_to_add_to(first: str) -> None:
    with pytest.raises(TypeError, match=r"^greet: no class; write self: TheClass$"):
        exec(f"@patch\ndef greet({first}): ...", {"patch": patch, "Greeter": Greeter})
