"""From cells to a package.

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-4-from-cells-to-a-package.ipynb
"""

__all__ = [
    "patch",
    "function_of",
    "add_method",
    "Function",
    "Method",
    "is_patch",
    "owner_of",
    "split",
    "in_class",
    "with_method",
    "named_class",
    "join_classes",
    "check_order",
]


# book/11-4-from-cells-to-a-package.ipynb, cell classes-imports
import abc
import ast
import inspect
import io
import re
import tokenize
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args, get_origin

from aiayn.book_cells import BookError, Piece, bound_names


# book/11-4-from-cells-to-a-package.ipynb, cell patch
def patch(method: Any) -> Any:
    """Add a method to a class of an earlier cell; the exporter moves it into the class.

    The class is the annotation of the first parameter: `self: Greeter`, or
    `cls: type[Greeter]` for a class method. A static method has none, and says
    `@patch(Greeter)`. Other decorators come below this one.
    A cell may run again: its method takes the place of the one before.

    Returns
    -------
    Any
        What the name meant before: a method hides no variable of the notebook, as it
        hides none in a module.

    Raises
    ------
    TypeError
        If the class is not named so.
    """
    if isinstance(method, type):
        return partial(add_method, method)
    function = function_of(method)
    first = next(iter(inspect.signature(function).parameters.values()), None)
    owner: Any = inspect.Parameter.empty
    if first and not isinstance(method, staticmethod):
        owner = first.annotation
    if get_origin(owner) is type:
        (owner,) = get_args(owner)
    if owner is inspect.Parameter.empty or not isinstance(owner, type):
        fault = "no class; write self: TheClass, or @patch(TheClass)"
        raise TypeError(f"{function.__name__}: {fault}")
    return add_method(owner, method)


# book/11-4-from-cells-to-a-package.ipynb, cell add-method
def function_of(method: Any) -> Any:
    """The function that a method, a property or a cached property is made of."""
    function = getattr(method, "fget", None) or getattr(method, "func", method)
    return inspect.unwrap(function)


def add_method(owner: type, method: Any) -> Any:
    """Add a method to a class; return what the name of its function meant before."""
    function = function_of(method)
    setattr(owner, function.__name__, method)
    if hasattr(method, "__set_name__"):  # as a cached property wants it
        method.__set_name__(owner, function.__name__)
    abc.update_abstractmethods(owner)
    return function.__globals__.get(function.__name__)


# book/11-4-from-cells-to-a-package.ipynb, cell method
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Method:
    """A method that a cell adds to a class of an earlier cell."""

    cell: Piece  # where it stands in the chapter
    owner: str  # the class
    name: str
    source: str  # as a function, without `@patch` and the annotation of `self`
    early: frozenset[str]  # names that are looked up when the class is made


# book/11-4-from-cells-to-a-package.ipynb, cell owner-of
def is_patch(decorator: ast.expr) -> bool:
    """Whether a decorator is `@patch` or `@patch(SomeClass)`."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(function, ast.Name) and function.id == "patch"


def owner_of(function: Function, origin: str) -> str:
    """The name of the class to which `@patch` adds a method."""
    decorator, *others = function.decorator_list
    if not is_patch(decorator):
        fault = f"put @patch above the other decorators of {function.name!r}"
        raise BookError(f"{origin}: {fault}")
    parameters = [*function.args.posonlyargs, *function.args.args]
    named = parameters[0].annotation if parameters else None
    if isinstance(decorator, ast.Call):
        named = next(iter(decorator.args), None)
    elif "staticmethod" in map(ast.unparse, others):
        named = None
    if isinstance(named, ast.Subscript) and ast.unparse(named.value) == "type":
        named = named.slice
    if not isinstance(named, ast.Name):
        raise BookError(
            f"{origin}: @patch does not say to which class {function.name!r} belongs; "
            "annotate its first parameter, as self: Greeter or cls: type[Greeter], "
            "or write @patch(Greeter)"
        )
    return named.id


# book/11-4-from-cells-to-a-package.ipynb, cell split
def split(piece: Piece) -> tuple[str, list[Method]]:
    """What a cell leaves in its place, and the methods that it adds to classes."""
    lines, methods = piece.source.split("\n"), list[Method]()
    for node in reversed(ast.parse(piece.source).body):  # upwards: line numbers stay
        if not (isinstance(node, Function) and any(map(is_patch, node.decorator_list))):
            continue
        owner, decorator = owner_of(node, piece.origin), node.decorator_list[0]
        assert decorator.end_lineno is not None and node.end_lineno is not None
        parameters = [*node.args.posonlyargs, *node.args.args]
        if not isinstance(decorator, ast.Call):
            first = parameters[0]
            line = lines[first.lineno - 1].encode()  # whose offsets are in bytes
            before, after = line[: first.col_offset], line[first.end_col_offset :]
            lines[first.lineno - 1] = (before + first.arg.encode() + after).decode()
            first.annotation = None
        start, end = decorator.lineno - 1, node.end_lineno
        while start and lines[start - 1].startswith("#"):  # its comment goes with it
            start -= 1
        while end < len(lines) and lines[end].startswith(" "):
            end += 1
        kept = lines[start : decorator.lineno - 1] + lines[decorator.end_lineno : end]
        node.body, node.decorator_list = [], node.decorator_list[1:]
        names = (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
        early, source = frozenset(names), "\n".join(kept)
        methods.insert(0, Method(piece, owner, node.name, source, early))
        while start and not lines[start - 1]:
            start -= 1
        del lines[start:end]
    return "\n".join(lines).strip("\n"), methods


# book/11-4-from-cells-to-a-package.ipynb, cell in-class
def in_class(method: Method, width: int) -> list[str]:
    """The lines of a method in the body of a class, which are at most so wide."""

    def on_one_line(found: re.Match[str]) -> str:
        line = "".join(found.groups())
        return line if len(line) + 4 <= width else found[0]

    three_lines = r"^((?:async )?def \w+\()\n +([^#\n]*[^#,\n])\n(\).*:)$"
    source = re.sub(three_lines, on_one_line, method.source, count=1, flags=re.M)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    inside = set[int]()  # the lines that begin in a string
    for token in tokens:
        inside.update(range(token.start[0] + 1, token.end[0] + 1))
    (function,) = ast.parse(source).body
    if isinstance(function, Function) and ast.get_docstring(function) is not None:
        docstring = function.body[0]
        inside -= {*range(docstring.lineno, (docstring.end_lineno or 0) + 1)}
    lines = []
    for number, line in enumerate(source.split("\n"), start=1):
        lines.append(line if number in inside or not line else f"    {line}")
        if len(line) <= width < len(lines[-1]):
            raise BookError(
                f"{method.cell.origin}: a line of {method.name!r} has {len(line)} "
                "columns; in the class, 4 columns further to the right, it is longer "
                f"than {width}: {line.strip()}"
            )
    return lines


# book/11-4-from-cells-to-a-package.ipynb, cell with-method
def with_method(piece: Piece, method: Method, comment: bool, width: int) -> Piece:
    """The piece with the method at the end of its class, below a comment with its cell.

    Raises
    ------
    BookError
        If the class has such a name already, or no room for a method.
    """
    lines = piece.source.split("\n")
    statements = reversed(ast.parse(piece.source).body)
    body = next(node for node in statements if named_class(node) == method.owner)
    assert isinstance(body, ast.ClassDef) and body.end_lineno is not None
    if method.name in bound_names("\n".join(map(ast.unparse, body.body))):
        fault = f"{method.owner} has {method.name!r} already"
        raise BookError(f"{method.cell.origin}: {fault}")
    first = body.body[0]
    if lines[first.lineno - 1].encode()[: first.col_offset].strip():
        fault = f"{method.owner} goes on in a later cell; give it a docstring"
        raise BookError(f"{piece.origin}: {fault}")
    end = body.end_lineno
    for number, line in enumerate(lines[end:], start=end + 1):
        if line.startswith(" "):  # a comment, the last words of the class
            end = number
        elif line:
            break
    origin = [f"    # {method.cell.origin}"] if comment else []
    lines[end:end] = ["", *origin, *in_class(method, width)]
    return replace(piece, source="\n".join(lines))


def named_class(node: ast.AST) -> str:
    """The name of a class; nothing for another statement."""
    return node.name if isinstance(node, ast.ClassDef) else ""


# book/11-4-from-cells-to-a-package.ipynb, cell join-classes
def join_classes(module: list[Piece], width: int) -> list[Piece]:
    """The pieces of a module, with each method in the class that it is added to.

    Raises
    ------
    BookError
        If there is no such class, or the method cannot stand there.
    """
    joined, methods, last = list[Piece](), list[Method](), dict[str, Piece]()
    for piece in module:
        rest, added = split(piece)
        for method in added:
            home = None
            for number, each in enumerate(joined):
                if method.owner in map(named_class, ast.parse(each.source).body):
                    home = number
            if home is None:
                raise BookError(
                    f"{piece.origin}: adds {method.name!r} to {method.owner}, which no "
                    f"earlier exported cell of aiayn.{piece.module} defines; a class "
                    "can go on only in its own module"
                )
            comment = last.get(method.owner) != piece
            joined[home] = with_method(joined[home], method, comment, width)
            last[method.owner] = piece
        methods += added
        if rest or not added:
            joined.append(replace(piece, source=rest))
    check_order(joined, methods)
    return joined


# book/11-4-from-cells-to-a-package.ipynb, cell check-order
def check_order(joined: list[Piece], methods: list[Method]) -> None:
    """Raise a BookError where a method's class needs a name defined after it."""
    every = {name for piece in joined for name in bound_names(piece.source)}
    known = set[str]()
    nodes = [node for piece in joined for node in ast.parse(piece.source).body]
    for node in nodes if methods else []:
        for method in (each for each in methods if each.owner == named_class(node)):
            for name in sorted(method.early & (every - known)):
                raise BookError(
                    f"{method.cell.origin}: {method.name!r} goes into the class "
                    f"{method.owner}, where {name} is not yet defined; define it "
                    "before, or if it is an annotation, put it in quotes"
                )
        known.update(bound_names(ast.unparse(node)))
