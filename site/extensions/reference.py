"""The reference as text: a page of reStructuredText for each module, from its
signatures and docstrings.

Sphinx's own Python domain draws the signatures and keeps the index of names, and its
napoleon reads the docstrings. What is left to do here is to hand them over: signatures
as the authors wrote them, fields of dataclasses with the comments behind them, and the
way to the chapter and to the source.
"""

import ast
import re
from collections.abc import Iterator
from copy import deepcopy
from inspect import cleandoc
from textwrap import indent

from modules import Entry, Module, comment, home_of
from sphinx.ext.napoleon import Config, NumpyDocstring

NAPOLEON = Config(
    # Types of parameters are words for people ("list of int"), not names.
    napoleon_use_param=False,
    napoleon_use_rtype=False,
    napoleon_custom_sections=[("Attributes", "params_style")],
)
# A string in their brackets is no annotation.
SHAPED = {"Float", "Int", "Integer", "Bool", "Literal"}
LONGEST_VALUE = 72
RECORDS = {"NamedTuple"}  # bases whose fields make the constructor, as for a dataclass


class Readable(ast.NodeTransformer):
    """An annotation as a reader wants it: no quotes around names, nothing for the
    command line alone.
    """

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str):
            return ast.parse(node.value, mode="eval").body
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        kind = ast.unparse(node.value).rpartition(".")[2]
        if kind in SHAPED:
            return node
        if kind == "Annotated" and isinstance(node.slice, ast.Tuple):
            return self.visit(node.slice.elts[0])
        if kind == "Positional":
            return self.visit(node.slice)
        self.generic_visit(node)
        return node


def readable(annotation: ast.expr) -> str:
    """The text of an annotation."""
    return ast.unparse(Readable().visit(deepcopy(annotation)))


def signature(function: ast.FunctionDef, bound: bool = False) -> str:
    """What stands behind a function's name; of a `bound` one without its first
    parameter.
    """
    arguments = deepcopy(function.args)
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg) and argument.annotation:
            argument.annotation = Readable().visit(argument.annotation)
    if bound:
        del (arguments.posonlyargs or arguments.args)[0]
    returns = f" -> {readable(function.returns)}" if function.returns else ""
    return f"({ast.unparse(arguments)}){returns}"


def names_of(decorated: ast.ClassDef | ast.FunctionDef) -> set[str]:
    """The last words of its decorators' names, as `dataclass`, `property`."""
    written = [ast.unparse(each) for each in decorated.decorator_list]
    return {each.partition("(")[0].rpartition(".")[2] for each in written}


class Reference:
    """Writes the pages of a package's modules.

    `titles` are those of the chapters, by page; `sentences` say what each module is
    for.
    """

    def __init__(
        self,
        modules: dict[str, Module],
        titles: dict[str, str],
        sentences: dict[str, str],
    ) -> None:
        self.modules, self.titles, self.sentences = modules, titles, sentences

    def page(self, module: Module) -> str:
        """The page of a module."""
        own = {name: module.entries.get(name) for name in module.public}
        entries = sorted(filter(None, own.values()), key=lambda each: each.node.lineno)
        code = [entry for entry in entries if not entry.is_data]
        data = [entry for entry in entries if entry.is_data]
        handed_on = [name for name, entry in own.items() if entry is None]
        parts = [heading(module.qualified, "="), f".. py:module:: {module.qualified}"]
        parts += [self.sentences[module.name], self.places(module, None)]
        parts.append(self.table(module, [entry.name for entry in code] + handed_on))
        for title, chosen in (
            ("Classes and functions", code),
            ("Constants and types", data),
        ):
            if chosen:
                parts.append(heading(title, "-"))
                parts += [self.entry(module, entry) for entry in chosen]
        return ":orphan:\n\n" + "\n\n".join(parts) + "\n"

    def table(self, module: Module, names: list[str]) -> str:
        """Names that a module has, and the first words about each, linked to where it
        is described.
        """
        rows = []
        for name in names:
            origin = module.imports.get(name, f"{module.qualified}.{name}")
            home = home_of(self.modules, origin)
            assert home is not None, origin
            about, entry = home
            full = f"{about.qualified}.{entry.name}" if entry else about.qualified
            summary = first_words(entry.node) if entry else self.sentences[about.name]
            rows.append((f":py:obj:`{name} <{full}>`", summary))
        return names_table(rows)

    def places(self, module: Module, entry: Entry | None) -> str:
        """The line that leads to the chapter and to the source: to the cell of an
        entry, or to the top.
        """
        if module.chapter is None:
            return ""
        place = f"#cell-{entry.cell}" if entry else ""
        verb = "Explained in" if entry else "Written in"
        chapter = f"`{self.titles[module.chapter]} <../{module.chapter}.html{place}>`__"
        line = f"{verb} {chapter} · `Source <../{module.source_page}.html{place}>`__"
        if entry and isinstance(entry.node, ast.ClassDef) and entry.node.bases:
            bases = (f"``{ast.unparse(base)}``" for base in entry.node.bases)
            line += f" · a kind of {', '.join(bases)}"
        if entry is None and module.name:
            line += " · :doc:`All modules <index>`"
        return f".. rst-class:: aiayn-place\n\n{line}"

    def entry(self, module: Module, entry: Entry) -> str:
        """A class, a function or a constant."""
        node = entry.node
        if isinstance(node, ast.ClassDef):
            head = f".. py:class:: {node.name}{self.constructor(module, node)}"
            return self.class_body(module, entry, node, head)
        if isinstance(node, ast.FunctionDef):
            note = "For a ``with`` statement." * ("contextmanager" in names_of(node))
            head = f".. py:function:: {node.name}{signature(node)}"
            about = prose(docstring(node))
            return described(head, self.places(module, entry), about, note)
        head = f".. py:data:: {entry.name}"
        if isinstance(node, ast.AnnAssign):
            head += f"\n   :type: {readable(node.annotation)}"
        if value := short_value(entry):
            head += f"\n   :value: {value}"
        return described(head, self.places(module, entry), prose(entry.comment))

    def class_body(
        self, module: Module, entry: Entry, node: ast.ClassDef, head: str
    ) -> str:
        """A class with its methods."""
        text = docstring(node)
        fields = [
            f"{name} : {kind}\n    {note}"
            for name, kind, _, note in self.fields(module, node)
            if note
        ]
        if fields and "Attributes\n---" not in text:
            text += "\n\nAttributes\n----------\n" + "\n".join(fields)
        functions = (each for each in node.body if isinstance(each, ast.FunctionDef))
        methods = [self.method(each) for each in functions if docstring(each)]
        return described(head, self.places(module, entry), prose(text), *methods)

    def method(self, node: ast.FunctionDef) -> str:
        """A method or property."""
        kinds = names_of(node)
        options = "\n   :abstractmethod:" * ("abstractmethod" in kinds)
        if kinds & {"property", "cached_property"}:
            kind = f"\n   :type: {readable(node.returns)}" if node.returns else ""
            head = f".. py:property:: {node.name}{kind}{options}"
            return described(head, prose(docstring(node)))
        for name in kinds & {"classmethod", "staticmethod"}:
            options += f"\n   :{name}:"
        taken = signature(node, bound="staticmethod" not in kinds)
        head = f".. py:method:: {node.name}{taken}{options}"
        return described(head, prose(docstring(node)))

    def base(
        self, module: Module, node: ast.ClassDef
    ) -> tuple[Module, ast.ClassDef] | None:
        """The first of the package's classes that a class inherits from, if any."""
        for name in map(ast.unparse, node.bases):
            dotted = module.imports.get(name, f"{module.qualified}.{name}")
            home = home_of(self.modules, dotted)
            if home and home[1] and isinstance(home[1].node, ast.ClassDef):
                return home[0], home[1].node
        return None

    def fields(self, module: Module, node: ast.ClassDef) -> Iterator[tuple[str, ...]]:
        """Name, type, default and comment of a record's fields, its base's first."""
        inherited, own = self.base(module, node), dict[str, tuple[str, ...]]()
        for each in node.body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                note, name = comment(module.source, node.body, each), each.target.id
                kind, value = readable(each.annotation), default(each.value)
                own[name] = name, kind, value, note
        above = self.fields(*inherited) if inherited else ()
        yield from (field for field in above if field[0] not in own)
        yield from own.values()

    def constructor(self, module: Module, node: ast.ClassDef) -> str:
        """The parameters that a class is called with: `__init__`'s, or its fields."""
        if "dataclass" in names_of(node) or RECORDS & {*map(ast.unparse, node.bases)}:
            parameters = (
                f"{name}: {kind}{value and f' = {value}'}"
                for name, kind, value, _ in self.fields(module, node)
            )
            return f"({', '.join(parameters)})"
        for each in node.body:
            if isinstance(each, ast.FunctionDef) and each.name == "__init__":
                return signature(each, bound=True).removesuffix(" -> None")
        inherited = self.base(module, node)
        return self.constructor(*inherited) if inherited else ""


def names_table(rows: list[tuple[str, str]], first: int = 28) -> str:
    """Links to names or modules, with words about each; the first column has that share
    of 100.
    """
    lines = "\n".join(f"   * - {link}\n     - {words}" for link, words in rows)
    options = f"   :class: aiayn-names\n   :widths: {first} {100 - first}"
    return f".. list-table::\n{options}\n\n{lines}" if rows else ""


def heading(text: str, line: str) -> str:
    """A title with the line below it."""
    return f"{text}\n{line * len(text)}"


def described(head: str, *body: str) -> str:
    """A directive with its content."""
    return head + "".join(f"\n\n{indent(part, '   ')}" for part in body if part)


def docstring(node: ast.stmt) -> str:
    """The docstring of a class or function."""
    if not isinstance(node, ast.ClassDef | ast.FunctionDef):
        return ""
    # A carriage return that was meant as its escape would break the line it stands in.
    return cleandoc((ast.get_docstring(node, clean=False) or "").replace("\r", r"\r"))


def first_words(node: ast.stmt) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(prose(docstring(node).partition("\n\n")[0]).split())


def default(value: ast.expr | None) -> str:
    """A field's default as a reader wants it: what `field(default_factory=…)` makes, or
    the value.
    """
    if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("field"):
        given = {each.arg: ast.unparse(each.value) for each in value.keywords}
        if factory := given.get("default_factory"):
            return f"{factory}()"
        return given.get("default", "")
    return ast.unparse(value) if value else ""


def short_value(entry: Entry) -> str:
    """A constant's value, if it fits on a line: the rest is for the source."""
    node = entry.node
    value = getattr(node, "value", None)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        names = [ast.unparse(name) for name in node.targets[0].elts]
        values = node.value.elts if isinstance(node.value, ast.Tuple) else None
        value = values[names.index(entry.name)] if values else None
    text = ast.unparse(value).replace("'", '"') if value else ""
    fits = len(text) <= LONGEST_VALUE and "\n" not in text and "\\" not in text
    return text if fits else ""


def prose(text: str) -> str:
    """A NumPy docstring as reStructuredText; in ours a backtick means code, and other
    signs mean nothing.
    """
    parts = re.split(r"`([^`]+)`", text)
    for number, part in enumerate(parts):
        if number % 2:
            parts[number] = f"``{part.strip()}``"
        else:
            plain = re.sub(r"([\\*|])|(?<=\w)(_)(?!\w)", r"\\\1\2", part)
            # A variable of the environment.
            parts[number] = re.sub(r"\$[A-Z_]+", r"``\g<0>``", plain)
    return str(NumpyDocstring("".join(parts), NAPOLEON))
