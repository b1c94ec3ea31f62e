"""How this book works (preface).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/00-how-this-book-works.ipynb
"""

__all__ = [
    "patch",
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


# book/00-how-this-book-works.ipynb, cell classes-imports
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


# book/00-how-this-book-works.ipynb, cell patch
def patch(method: Any) -> Any:
    """Add a method to a class of an earlier cell; the exporter writes it into the class's body.

    The class is the annotation of the first parameter: `self: Greeter`, or `cls: type[Greeter]` for a class
    method. A static method has none, and says `@patch(Greeter)`. Other decorators stand below this one.
    A cell may run again: its method takes the place of the one before.

    Returns
    -------
    Any
        What the name meant before: a method hides no variable of the notebook, as it hides none in a module.

    Raises
    ------
    TypeError
        If the class is not named so.
    """
    if isinstance(method, type):
        return partial(add_method, method)
    function = inspect.unwrap(getattr(method, "fget", None) or getattr(method, "func", method))
    first = next(iter(inspect.signature(function).parameters.values()), None)
    owner = first.annotation if first and not isinstance(method, staticmethod) else inspect.Parameter.empty
    if get_origin(owner) is type:
        (owner,) = get_args(owner)
    if owner is inspect.Parameter.empty or not isinstance(owner, type):
        raise TypeError(f"{function.__name__}: no class; write self: TheClass, or @patch(TheClass)")
    return add_method(owner, method)


def add_method(owner: type, method: Any) -> Any:
    """Add to a class what is made of a function; return what the function's name meant before."""
    function = inspect.unwrap(getattr(method, "fget", None) or getattr(method, "func", method))
    setattr(owner, function.__name__, method)
    if hasattr(method, "__set_name__"):  # as a cached property wants it
        method.__set_name__(owner, function.__name__)
    abc.update_abstractmethods(owner)
    return function.__globals__.get(function.__name__)


# book/00-how-this-book-works.ipynb, cell method
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Method:
    """A method that a cell adds to a class of an earlier cell."""

    cell: Piece  # where it stands in the chapter
    owner: str  # the class
    name: str
    source: str  # as a function, without `@patch` and without the annotation that names the class
    early: frozenset[str]  # names that Python looks up when it makes the class: in annotations, for example


def is_patch(decorator: ast.expr) -> bool:
    """Whether a decorator is `@patch` or `@patch(SomeClass)`."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(function, ast.Name) and function.id == "patch"


def owner_of(function: Function, origin: str) -> str:
    """The name of the class to which `@patch` adds a method."""
    decorator, *others = function.decorator_list
    if not is_patch(decorator):
        raise BookError(f"{origin}: put @patch above the other decorators of {function.name!r}")
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
            f"{origin}: @patch does not say to which class {function.name!r} belongs; annotate its first "
            "parameter, as self: Greeter or cls: type[Greeter], or write @patch(Greeter)"
        )
    return named.id


# book/00-how-this-book-works.ipynb, cell split
def split(piece: Piece) -> tuple[str, list[Method]]:
    """What a cell leaves in its place, and the methods that it adds to classes."""
    lines, methods = piece.source.split("\n"), list[Method]()
    for node in reversed(ast.parse(piece.source).body):  # from below, so that line numbers stay right
        if not isinstance(node, Function) or not any(map(is_patch, node.decorator_list)):
            continue
        owner, decorator = owner_of(node, piece.origin), node.decorator_list[0]
        assert decorator.end_lineno is not None and node.end_lineno is not None
        parameters = [*node.args.posonlyargs, *node.args.args]
        if not isinstance(decorator, ast.Call):
            first = parameters[0]
            text = lines[first.lineno - 1].encode()  # whose offsets are in bytes
            text = text[: first.col_offset] + first.arg.encode() + text[first.end_col_offset :]
            lines[first.lineno - 1] = text.decode()
            first.annotation = None
        start, end = decorator.lineno - 1, node.end_lineno
        while start and lines[start - 1].startswith("#"):  # what is said about the method goes with it
            start -= 1
        while end < len(lines) and lines[end].startswith(" "):
            end += 1
        source = "\n".join(lines[start : decorator.lineno - 1] + lines[decorator.end_lineno : end])
        node.body, node.decorator_list = [], node.decorator_list[1:]
        early = frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name))
        methods.insert(0, Method(piece, owner, node.name, source, early))
        while start and not lines[start - 1]:
            start -= 1
        del lines[start:end]
    return "\n".join(lines).strip("\n"), methods


# book/00-how-this-book-works.ipynb, cell in-class
def in_class(method: Method, width: int) -> list[str]:
    """The lines of a method as they stand in the body of a class, which are at most so wide."""

    def on_one_line(found: re.Match[str]) -> str:
        line = "".join(found.groups())
        return line if len(line) + 4 <= width else found[0]

    three_lines = r"^((?:async )?def \w+\()\n +([^#\n]*[^#,\n])\n(\).*:)$"
    source = re.sub(three_lines, on_one_line, method.source, count=1, flags=re.MULTILINE)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    inside = {row for token in tokens for row in range(token.start[0] + 1, token.end[0] + 1)}  # of strings
    (function,) = ast.parse(source).body
    if isinstance(function, Function) and ast.get_docstring(function) is not None:
        docstring = function.body[0]
        inside -= {*range(docstring.lineno, (docstring.end_lineno or 0) + 1)}
    lines = []
    for number, line in enumerate(source.split("\n"), start=1):
        lines.append(line if number in inside or not line else f"    {line}")
        if len(line) <= width < len(lines[-1]):
            raise BookError(
                f"{method.cell.origin}: a line of {method.name!r} has {len(line)} columns; in the class, 4 "
                f"columns further to the right, it is longer than {width}: {line.strip()}"
            )
    return lines


# book/00-how-this-book-works.ipynb, cell with-method
def with_method(piece: Piece, method: Method, comment: bool, width: int) -> Piece:
    """The piece with the method at the end of its class, below a comment that names the method's cell.

    Raises
    ------
    BookError
        If the class has such a name already, or no room for a method.
    """
    lines = piece.source.split("\n")
    body = next(n for n in reversed(ast.parse(piece.source).body) if named_class(n) == method.owner)
    assert isinstance(body, ast.ClassDef) and body.end_lineno is not None
    if method.name in bound_names("\n".join(map(ast.unparse, body.body))):
        raise BookError(f"{method.cell.origin}: {method.owner} has {method.name!r} already")
    first = body.body[0]
    if lines[first.lineno - 1].encode()[: first.col_offset].strip():
        raise BookError(f"{piece.origin}: {method.owner} goes on in a later cell; give it a docstring")
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


# book/00-how-this-book-works.ipynb, cell join-classes
def join_classes(module: list[Piece], width: int) -> list[Piece]:
    """The pieces of a module, with every method in the class to which a later cell adds it.

    Raises
    ------
    BookError
        If there is no such class, or the method cannot stand there.
    """
    joined, methods, last = list[Piece](), list[Method](), dict[str, Piece]()
    for piece in module:
        rest, added = split(piece)
        for method in added:
            classes = [{named_class(node) for node in ast.parse(each.source).body} for each in joined]
            home = max((k for k, names in enumerate(classes) if method.owner in names), default=None)
            if home is None:
                raise BookError(
                    f"{piece.origin}: adds {method.name!r} to {method.owner}, which no earlier exported cell "
                    f"of aiayn.{piece.module} defines; a class can go on only in its own module"
                )
            comment = last.get(method.owner) != piece
            joined[home] = with_method(joined[home], method, comment, width)
            last[method.owner] = piece
        methods += added
        if rest or not added:
            joined.append(replace(piece, source=rest))
    check_order(joined, methods)
    return joined


def check_order(joined: list[Piece], methods: list[Method]) -> None:
    """Raise a BookError where a class needs a name, for a method's sake, that is defined after it."""
    every, known = {name for piece in joined for name in bound_names(piece.source)}, set[str]()
    for node in (node for piece in joined for node in ast.parse(piece.source).body) if methods else []:
        for method in (method for method in methods if method.owner == named_class(node)):
            for name in sorted(method.early & (every - known)):
                raise BookError(
                    f"{method.cell.origin}: {method.name!r} goes into the class {method.owner}, where {name} "
                    "is not yet defined; define it before, or if it is an annotation, put it in quotes"
                )
        known.update(bound_names(ast.unparse(node)))
