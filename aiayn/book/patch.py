# Made by `make export` from book/3-workshop/01-exporter.ipynb
"""Joins the methods of a class that stand in several cells."""

# book/3-workshop/01-exporter.ipynb, cell classes-imports
import abc
import ast
import inspect
import re
from dataclasses import dataclass, replace
from itertools import groupby
from textwrap import indent
from typing import Any

from aiayn.book.cells import BookError, ExportedCell, bound_names


# book/3-workshop/01-exporter.ipynb, cell patch
def patch(method: Any) -> Any:
    """Add a method to a class of an earlier cell; the exporter moves it into the class.

    The class is the annotation of `self`, as in `def greet(self: Greeter)`. Other
    decorators come below this one. A cell may run again: its method takes the place of
    the one before.

    Returns
    -------
    Any
        What the name meant before: a method hides no variable of the notebook, as it
        hides none in a module.

    Raises
    ------
    TypeError
        If `self` is not annotated with a class.
    """
    function = inspect.unwrap(getattr(method, "fget", method))  # of a property
    owner = inspect.get_annotations(function).get("self")
    if not isinstance(owner, type):
        raise TypeError(f"{function.__name__}: no class; write self: TheClass")
    setattr(owner, function.__name__, method)
    abc.update_abstractmethods(owner)
    return function.__globals__.get(function.__name__)


# book/3-workshop/01-exporter.ipynb, cell method
@dataclass(frozen=True)
class Method:
    """A method that a cell adds to a class of an earlier cell."""

    owner: str  # the class
    name: str
    source: str  # as a function, without `@patch` and the annotation of `self`
    early: frozenset[str]  # names that are looked up when the class is made


def method_of(function: ast.FunctionDef, text: str, origin: str) -> Method:
    """The method that a function with `@patch` is; `text` is its source."""
    match function.args.args:
        case [ast.arg(arg="self", annotation=ast.Name(id=owner)) as first, *_] if (
            ast.unparse(function.decorator_list[0]) == "patch"
        ):
            first.annotation = None
        case _:
            raise BookError(
                f"{origin}: @patch does not say to which class {function.name!r} "
                "belongs; put it above other decorators, and annotate self, as "
                "self: Greeter"
            )
    text = re.sub("@patch\n", "", text, count=1)
    text = re.sub(rf"\bself: {owner}\b", "self", text, count=1)
    function.body, function.decorator_list = [], function.decorator_list[1:]
    names = (each.id for each in ast.walk(function) if isinstance(each, ast.Name))
    return Method(owner, function.name, text, frozenset(names))


# book/3-workshop/01-exporter.ipynb, cell split
def split(exported: ExportedCell) -> tuple[str, list[Method]]:
    """What a cell leaves in its place, and the methods that it adds to classes.

    A comment goes with the statement below it.
    """
    nodes, lines = ast.parse(exported.source).body, exported.source.split("\n")
    rest, methods, start = "", list[Method](), 0
    for node in nodes:
        end = len(lines) if node is nodes[-1] else node.end_lineno
        text = "\n".join(lines[start:end])
        decorators = getattr(node, "decorator_list", [])
        if isinstance(node, ast.FunctionDef) and "patch" in map(
            ast.unparse, decorators
        ):
            methods.append(method_of(node, text.strip("\n"), exported.origin))
        else:
            rest += f"{text}\n"
        start = end or 0
    return (rest.strip("\n") if methods else exported.source), methods


# book/3-workshop/01-exporter.ipynb, cell in-class
def statements(source: str) -> list[str]:
    """The statements of a function, but for the first, which may be its docstring."""
    nodes = ast.walk(ast.parse(source))
    function = next(node for node in nodes if isinstance(node, ast.FunctionDef))
    return [ast.unparse(each) for each in function.body[1:]]


def in_class(method: Method, width: int, origin: str) -> str:
    """The text of a method in the body of a class, where lines are at most so wide."""

    def on_one_line(found: re.Match[str]) -> str:
        line = "".join(found.groups())
        return line if len(line) + 4 <= width else found[0]

    three_lines = r"^(def \w+\()\n +([^#\n]*[^#,\n])\n(\).*:)$"
    source = re.sub(three_lines, on_one_line, method.source, count=1, flags=re.M)
    text = indent(source, "    ")
    for line in text.split("\n"):
        if len(line) > width:
            raise BookError(
                f"{origin}: in the class, 4 columns further to the right, a line of "
                f"{method.name!r} is longer than {width}: {line.strip()}"
            )
    if statements(source) != statements(f"if True:\n{text}"):
        fault = f"{method.name!r} has a string of several lines; make it a constant"
        raise BookError(f"{origin}: {fault}")
    return text


# book/3-workshop/01-exporter.ipynb, cell with-method
def named_class(exported: ExportedCell, name: str) -> ast.ClassDef | None:
    """The class of this name that a cell defines, if any."""
    for node in ast.parse(exported.source).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    return None


def with_text(exported: ExportedCell, owner: str, text: str) -> ExportedCell:
    """The cell with more text at the end of a class."""
    lines, body = exported.source.split("\n"), named_class(exported, owner)
    assert body is not None and body.end_lineno is not None
    lines.insert(body.end_lineno, f"\n{text}")
    return replace(exported, source="\n".join(lines))


# book/3-workshop/01-exporter.ipynb, cell join-classes
def join_classes(module: list[ExportedCell], width: int) -> list[ExportedCell]:
    """The cells of a module, with each method in the class that it is added to.

    Raises
    ------
    BookError
        If there is no such class, or the method cannot stand there.
    """
    joined = list[ExportedCell]()
    for exported in module:
        rest, methods = split(exported)
        for owner, group in groupby(methods, key=lambda method: method.owner):
            added = list(group)
            homes = [k for k, each in enumerate(joined) if named_class(each, owner)]
            if not homes:
                raise BookError(
                    f"{exported.origin}: adds {added[0].name!r} to {owner}, which no "
                    f"earlier exported cell of aiayn.{exported.module} defines; a "
                    "class can go on only in its own module"
                )
            home = homes[-1]
            later = {owner}.union(*(bound_names(p.source) for p in joined[home + 1 :]))
            for method in added:
                for name in sorted(method.early & later):
                    raise BookError(
                        f"{exported.origin}: {method.name!r} goes into the class "
                        f"{owner}, where {name} is not yet defined; define it before, "
                        "or if it is an annotation, put it in quotes"
                    )
            texts = [in_class(method, width, exported.origin) for method in added]
            text = "\n\n".join([f"    # {exported.origin}\n{texts[0]}", *texts[1:]])
            joined[home] = with_text(joined[home], owner, text)
        if rest or not methods:
            joined.append(replace(exported, source=rest))
    return joined
