"""An exercise is a box, a cell to fill in, the solution folded in code and in words,
and a check.

The check is tried on right and wrong answers, for which tests/exercises/ has a file for
each chapter. That it fails as long as the cell is not filled in is shown where the
chapters run, too.
"""

import ast
import re
from pathlib import Path
from typing import Any

import exercise_answers
import nbformat
import pytest
from test_notebooks import BOOK, CHAPTERS, chapter_name, tags

PARTS = ("exercise", "solution", "check")
ANSWERS = [
    (path.relative_to(exercise_answers.FOLDER).with_suffix("").as_posix(), a)
    for path in sorted(exercise_answers.FOLDER.glob("*/*.py"))
    for a in exercise_answers.read_answers(path)
]


# The one page is an overview, to read without a stop; the other is half a page.
WITHOUT = {"0-start/1-one-page", "0-start/4-prerequisites"}


@pytest.fixture(
    scope="module",
    params=[path for path in CHAPTERS if chapter_name(path) not in WITHOUT],
    ids=chapter_name,
)
def cells(request: pytest.FixtureRequest) -> list[Any]:
    path: Path = request.param
    return nbformat.read(path, as_version=4).cells


@pytest.fixture(scope="module")
def places(cells: list[Any]) -> list[int]:
    """Where the parts of the chapter's exercises stand, in order."""
    return [place for place, cell in enumerate(cells) if set(PARTS) & set(tags(cell))]


@pytest.fixture(scope="module")
def exercises(cells: list[Any], places: list[int]) -> list[tuple[Any, Any, Any]]:
    """The three code cells of each exercise."""
    return [
        tuple(cells[place] for place in places[start : start + 3])
        for start in range(0, len(places), 3)
    ]


def names(source: str) -> set[str]:
    """What a cell defines, by def, by class and by assignment."""
    found = set()
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            found.add(statement.name)
        elif isinstance(statement, ast.Assign):
            targets = [
                node for target in statement.targets for node in ast.walk(target)
            ]
            found |= {node.id for node in targets if isinstance(node, ast.Name)}
    return found


def signature(statement: ast.stmt) -> str:
    """The head of a function, or of a class and of what it defines."""
    if isinstance(statement, ast.FunctionDef):
        result = ast.unparse(statement.returns) if statement.returns else ""
        return f"def {statement.name}({ast.unparse(statement.args)}) -> {result}"
    assert isinstance(statement, ast.ClassDef)
    bases = ", ".join(map(ast.unparse, statement.bases))
    methods = [
        signature(part) for part in statement.body if isinstance(part, ast.FunctionDef)
    ]
    return "\n".join([f"class {statement.name}({bases})", *methods])


def is_left_open(statement: ast.stmt) -> bool:
    """Whether the reader is to write it: `…` stands where its value or its body will
    be.
    """
    if isinstance(statement, ast.ClassDef):
        return any(map(is_left_open, statement.body))
    value: ast.AST | None = getattr(statement, "value", None)
    if isinstance(statement, ast.FunctionDef):
        value = getattr(statement.body[-1], "value", None)
    return isinstance(value, ast.Constant) and value.value is ...


def test_a_chapter_has_at_least_two(exercises: list[tuple[Any, Any, Any]]) -> None:
    assert len(exercises) >= 2


def test_the_parts_follow_each_other(cells: list[Any], places: list[int]) -> None:
    """Box, cell to fill in, solution in code, solution in words, check."""
    found = [part for place in places for part in PARTS if part in tags(cells[place])]
    assert found == list(PARTS) * (len(places) // 3)
    boxes = sum(
        len(re.findall(r"^> \*\*Exercise \d", cell.source, re.MULTILINE))
        for cell in cells
    )
    assert boxes == len(places) // 3
    for number, (exercise, solution, check) in enumerate(
        zip(*[iter(places)] * 3, strict=True), start=1
    ):
        assert re.search(
            rf"^> \*\*Exercise {number}\.", cells[exercise - 1].source, re.MULTILINE
        )
        assert (solution, check) == (exercise + 1, exercise + 3)
        words = cells[solution + 1].source
        assert words.startswith("<details><summary>Solution in words</summary>\n\n"), (
            words
        )
        assert words.endswith("\n\n</details>")


def test_the_solution_gives_what_is_asked_for(
    exercises: list[tuple[Any, Any, Any]],
) -> None:
    for stub, solution, _ in exercises:
        asked = [
            statement
            for statement in ast.parse(stub.source).body
            if is_left_open(statement)
        ]
        assert asked, f"{stub.id} leaves nothing to do"
        given = ast.parse(solution.source).body
        for statement in asked:
            if isinstance(statement, ast.Assign):
                assert names(ast.unparse(statement)) <= names(solution.source), stub.id
            else:
                heads = [
                    signature(s)
                    for s in given
                    if isinstance(s, ast.FunctionDef | ast.ClassDef)
                ]
                assert signature(statement) in heads, stub.id


def test_the_check_knows_no_solution(exercises: list[tuple[Any, Any, Any]]) -> None:
    for stub, solution, check in exercises:
        assert not names(check.source) & (
            names(stub.source) | names(solution.source)
        ), check.id


def test_the_solution_is_folded(exercises: list[tuple[Any, Any, Any]]) -> None:
    """In Jupyter and Colab by its metadata, on the site by its tag."""
    for stub, solution, check in exercises:
        assert solution.source.startswith("# @title Solution\n"), solution.id
        assert solution.metadata.jupyter == {"source_hidden": True}, solution.id
        assert solution.metadata.cellView == "form", solution.id
        assert "hide-input" in tags(solution), solution.id
        assert not stub.outputs and not solution.outputs and check.outputs, check.id


def test_every_assertion_of_a_check_says_why(
    exercises: list[tuple[Any, Any, Any]],
) -> None:
    """What it got, what was expected, and a hint."""
    for _, _, check in exercises:
        for node in ast.walk(ast.parse(check.source)):
            assert not isinstance(node, ast.Assert) or node.msg, (
                f"{check.id}: {ast.unparse(node)}"
            )


def test_there_are_answers_to_every_exercise(
    request: pytest.FixtureRequest, exercises: list[Any]
) -> None:
    """At least three wrong ones, and a right one."""
    chapter = request.node.callspec.id
    if chapter not in {stem for stem, _ in ANSWERS}:
        pytest.skip(f"tests/exercises/{chapter}.py is still to be written")
    for number in range(1, len(exercises) + 1):
        right = [
            a.right for stem, a in ANSWERS if (stem, a.exercise) == (chapter, number)
        ]
        assert right.count(False) >= 3 and right.count(True) >= 1, (
            f"exercise {number} of {chapter}"
        )


@pytest.mark.parametrize(
    ("chapter", "answer"), ANSWERS, ids=lambda value: getattr(value, "words", value)
)
def test_the_check_tells_right_from_wrong(
    chapter: str, answer: exercise_answers.Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(BOOK)
    exercise = exercise_answers.exercises(BOOK / f"{chapter}.ipynb")[
        answer.exercise - 1
    ]
    if answer.right:
        exercise.try_out(answer.source)
        return
    with pytest.raises(Exception, match=r"\w") as caught:
        exercise.try_out(answer.source)
    assert type(caught.value).__name__ == answer.error, caught.value
    assert "\n" not in str(caught.value)


def test_a_check_says_what_it_found_and_what_it_expected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(BOOK)
    _, exercise = exercise_answers.exercises(BOOK / "3-workshop/13-training-api.ipynb")
    wrong = "def steps_until(share, warmup):\n    return warmup / share"
    with pytest.raises(AssertionError, match=r"the share is 0\.707, expected 0\.5: "):
        exercise.try_out(wrong)
