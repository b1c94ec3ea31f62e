"""Answers to exercises, right ones and wrong ones, tried on the checks of the chapters.

tests/exercises/PART/CHAPTER.py holds the answers. Each begins at a line such as

    # %% exercise 1, wrong: forgets the scaling

and takes the place of the exercise's stub. A wrong one makes the check raise an
AssertionError that says why, or the error that its title names in parentheses. Of the
chapter only those cells run that the exercises read from, and an exported cell not even
then: what it defines comes from the package. What stands before the first answer runs
before the first exercise, in place of cells that bind the same names.
"""

import ast
import builtins
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat

from aiayn.book.cells import bound_names, target_module, used_names

FOLDER = Path(__file__).parent / "exercises"
TITLE = re.compile(r"^# %% exercise (\d+), (wrong|right): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """What somebody could write into the stub of an exercise."""

    exercise: int  # its number in the chapter
    right: bool
    words: str  # what is special about it
    source: str

    @property
    def error(self) -> str:
        """The error that a wrong answer meets."""
        said = re.search(r"\((\w+Error)\)$", self.words)
        return said[1] if said else "AssertionError"


@dataclass(frozen=True)
class Exercise:
    """An exercise, and what its chapter has defined when the reader comes to it."""

    stub: str
    solution: str
    check: str
    namespace: dict[str, Any]

    def try_out(self, answer: str) -> None:
        """Run the stub, the answer and the check; raises what the check raises."""
        namespace = dict(self.namespace)
        for name, source in (
            ("stub", self.stub),
            ("answer", answer),
            ("check", self.check),
        ):
            exec(compile(source, name, "exec"), namespace)


def read_answers(path: Path) -> list[Answer]:
    """The answers in a file, in order."""
    _, *parts = TITLE.split(path.read_text(encoding="utf-8"))
    return [
        Answer(int(number), kind == "right", words, source)
        for number, kind, words, source in zip(*[iter(parts)] * 4, strict=True)
    ]


def imports(cell: Any, module: str | None) -> str | None:
    """An import of what an exported cell defines; None for any other cell."""
    name = target_module(cell.metadata.get("tags", []), module, cell.id)
    if name is None:
        return None
    home = import_module(f"aiayn.{name}")
    names = [n for n in bound_names(cell.source) if hasattr(home, n)]
    return f"from aiayn.{name} import {', '.join(names)}" if names else "pass"


def free_names(source: str) -> set[str]:
    """The names that a cell reads, and that other cells have to bind."""
    bound, free, later = set[str](), set(), set()

    def visit(*nodes: ast.AST | None) -> None:
        for node in filter(None, nodes):
            match node:
                case ast.FunctionDef() | ast.ClassDef() | ast.Lambda():
                    later.update(used_names(ast.unparse(node)))  # when it is called
                    bound.update([] if isinstance(node, ast.Lambda) else [node.name])
                case (
                    ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()
                ):
                    free.update(used_names(ast.unparse(node)) - bound)
                case ast.Import() | ast.ImportFrom():
                    bound.update(bound_names(ast.unparse(node)))
                case ast.Name(id=name, ctx=ast.Load()):
                    free.update({name} - bound)
                case ast.Name(id=name):
                    bound.add(name)
                case ast.Assign(targets=targets, value=value):
                    visit(value, *targets)
                case ast.AugAssign(target=target_module, value=value):
                    names = {
                        node.id
                        for node in ast.walk(target_module)
                        if isinstance(node, ast.Name)
                    }
                    free.update(names - bound)
                    visit(value, target_module)
                case ast.For(
                    target=target_module, iter=values, body=body, orelse=orelse
                ):
                    visit(values, target_module, *body, *orelse)
                case _:
                    visit(*ast.iter_child_nodes(node))

    visit(ast.parse(source))
    return (free | later - bound) - set(dir(builtins))


def needed(
    sources: list[str], asked: list[tuple[int, str]], given: set[str]
) -> set[int]:
    """Which of the sources have to run before others can; `asked`: a place and the
    source there.
    """
    bound = [set(bound_names(source)) for source in sources]
    waiting, found = list(asked), set[int]()
    while waiting:
        place, source = waiting.pop()
        for name in free_names(source) - given:
            # Mostly it was bound before; a function may read what comes after it.
            places = [*range(place - 1, -1, -1), *range(place + 1, len(sources))]
            home = next((p for p in places if name in bound[p]), None)
            if home is not None and home not in found:
                found.add(home)
                waiting.append((home, sources[home]))
    return found


@cache
def exercises(chapter: Path) -> list[Exercise]:
    """The exercises of a chapter, in order."""
    notebook = nbformat.read(chapter, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    module = notebook.metadata.get("aiayn", {}).get("module")
    sources = [imports(cell, module) or cell.source for cell in code]
    path = FOLDER / chapter.parent.name / f"{chapter.stem}.py"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    head = TITLE.split(text)[0]
    checks = [
        k for k, cell in enumerate(code) if "check" in cell.metadata.get("tags", [])
    ]
    # Stub, solution and check are the three cells in a row.
    asked = [(checks[0] - 2, head)]
    asked += [(k - 2, "\n".join(sources[k - 2 : k + 1])) for k in checks]
    for answer in read_answers(path) if text else []:
        k = checks[answer.exercise - 1] - 2
        asked.append((k, f"{sources[k]}\n{answer.source}"))
    run = needed(sources, asked, set(bound_names(head)) - free_names(head))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    found = []
    for k, source in enumerate(sources[: checks[-1] + 1]):
        if k + 2 == checks[0]:
            exec(compile(head, path.name, "exec"), namespace)
        if k + 2 in checks:
            found.append(
                Exercise(source, sources[k + 1], sources[k + 2], dict(namespace))
            )
        if k in run:
            exec(compile(source, f"{chapter.stem}, {code[k].id}", "exec"), namespace)
    return found
