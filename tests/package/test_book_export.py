"""The exporter, claims and charts: what their chapter promises, and each message an
author may meet.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import aiayn
from aiayn.book import claim
from aiayn.book.__main__ import main, project
from aiayn.book.cells import BookError, ExportedCell
from aiayn.book.charts import PALETTE, chart_bundle, rounded
from aiayn.book.export import build, export_book
from aiayn.book.modules import check_names

ROOT = Path(__file__).resolve().parents[2]
GREET = (
    'def greet(name: str) -> str:\n    """Say hello in German."""\n'
    '    return f"Guten Tag, {name}!"'
)
Write = Callable[..., Path]


def cell(
    identifier: str, source: str, *tags: str, kind: str = "code"
) -> dict[str, Any]:
    lines = source.splitlines(keepends=True)  # as Jupyter stores it
    return {
        "id": identifier,
        "cell_type": kind,
        "metadata": {"tags": list(tags)},
        "source": lines,
    }


def notebook(*cells: dict[str, Any], module: str | None = "greeting") -> dict[str, Any]:
    metadata = {"aiayn": {"module": module} if module else {}}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": metadata,
        "cells": list(cells),
    }


TITLE = cell("title", "# A greeting\n\nSome words.", kind="markdown")
GREETING = notebook(
    TITLE, cell("greet", GREET, "export"), cell("experiment", "greet('Ada')")
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project without chapters and without a package."""
    (tmp_path / "book" / "data").mkdir(parents=True)
    (tmp_path / "_toc.yml").touch()
    (tmp_path / "pyproject.toml").touch()
    names = ["greeting", "numbers", "words", "words.greeting", "more", "__init__"]
    names += [name.replace("-", "_") for name in SHAPES]
    lines = [f'"{name}" = "What {name} is for."\n' for name in names]
    (tmp_path / "book" / "data" / "package.toml").write_text(
        f"[modules.All]\n{''.join(lines)}"
    )
    return tmp_path


@pytest.fixture
def write(root: Path) -> Write:
    """Writes a chapter: a notebook's dictionary, or text that is none."""

    def write(name: str, content: dict[str, Any] | str | bytes) -> Path:
        path = root / "book" / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        text = json.dumps(content) if isinstance(content, dict) else content
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120
    )


def ruff(*arguments: str) -> None:
    config = ["--no-cache", "--config", str(ROOT / "pyproject.toml")]
    result = run("-m", "ruff", *arguments, *config, cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


# What is written


def test_a_module_says_where_it_comes_from(root: Path, write: Write) -> None:
    write("01-greeting", GREETING)
    assert export_book(root) == ["aiayn/greeting.py"]
    assert (root / "aiayn" / "greeting.py").read_text() == (
        "# Made by `make export` from book/01-greeting.ipynb\n"
        '"""What greeting is for."""\n\n\n'
        f"# book/01-greeting.ipynb, cell greet\n{GREET}\n"
    )


def test_a_module_may_say_what_it_is_for(root: Path, write: Write) -> None:
    said = f'"""Greets people.\n\n    greet("Ada")\n\nThat is all.\n"""\n\n{GREET}'
    write(
        "01-greeting",
        notebook(TITLE, cell("greet", said, "export"), cell("pi", "PI = 3", "export")),
    )
    export_book(root)
    text = (root / "aiayn" / "greeting.py").read_text()
    about = ast.get_docstring(ast.parse(text))
    assert about == 'Greets people.\n\n    greet("Ada")\n\nThat is all.'
    assert text.count("Greets people") == 1
    assert f"# book/01-greeting.ipynb, cell greet\n{GREET}\n" in text


def test_a_second_export_writes_nothing_and_changes_no_byte(
    root: Path, write: Write
) -> None:
    write("01-greeting", GREETING)
    export_book(root)
    path = root / "aiayn" / "greeting.py"
    before, written = path.read_bytes(), path.stat().st_mtime_ns
    assert export_book(root) == [] == export_book(root, check=True)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, written)
    path.unlink()
    export_book(root)
    assert path.read_bytes() == before
    assert os.listdir(root / "aiayn") == ["greeting.py"]


def test_cells_without_the_tag_stay_in_the_chapter(root: Path, write: Write) -> None:
    write("01-greeting", GREETING)
    write("02-only-prose", notebook(TITLE, cell("play", "1 + 1"), module=None))
    assert list(build(root)) == [Path("aiayn/greeting.py")]
    assert "Ada" not in build(root)[Path("aiayn/greeting.py")]


def test_one_chapter_may_export_two_modules(root: Path, write: Write) -> None:
    pi = cell("pi", "PI = 3", "export:numbers")
    write("01-greeting", notebook(TITLE, cell("greet", GREET, "export"), pi))
    assert export_book(root) == ["aiayn/greeting.py", "aiayn/numbers.py"]


def test_a_chapter_may_lie_in_a_folder(root: Path, write: Write) -> None:
    write("1-part/01-greeting", GREETING)
    assert export_book(root) == ["aiayn/greeting.py"]
    text = (root / "aiayn" / "greeting.py").read_text()
    assert "# book/1-part/01-greeting.ipynb, cell greet\n" in text


@pytest.mark.parametrize(
    "name", [".ipynb_checkpoints/01-greeting", ".01-greeting", "_build/01-greeting"]
)
def test_hidden_and_built_notebooks_are_no_chapters(
    root: Path, write: Write, name: str
) -> None:
    write(name, "{ not json")
    write("01-greeting", GREETING)
    assert export_book(root) == ["aiayn/greeting.py"]


SHAPES = {
    "imports-then-constant": ["import math", "TAU = 2 * math.pi"],
    "imports-then-comment": [
        "import math",
        "# The circle's constant.\nTAU = 2 * math.pi",
    ],
    "imports-then-function": [
        "import math",
        "def tau() -> float:\n    return 2 * math.pi",
    ],
    "imports-then-class": [
        "import math",
        "@staticmethod\nclass Tau:\n    value = 2 * math.pi",
    ],
    "constants": [
        "ONE = 1",
        "TWO = ONE + ONE",
        "def three() -> int:\n    return ONE + TWO",
        "FOUR = 4",
    ],
    "nothing-public": ["def _one() -> int:\n    return 1"],
    "only-a-comment": ["# To be written.", "ONE = 1"],
    "only-imports": ["from aiayn.greeting import greet as greet"],
    "program": [
        'def main() -> None:\n    print("Guten Tag")',
        'if __name__ == "__main__":\n    main()',
    ],
}


@pytest.mark.parametrize("check", ["check", "format --check"])
def test_every_shape_of_module_passes_ruff(
    root: Path, write: Write, check: str
) -> None:
    for name, sources in SHAPES.items():
        module = "__init__" if name == "only-imports" else name.replace("-", "_")
        cells = [
            cell(f"cell-{number}", source, "export")
            for number, source in enumerate(sources)
        ]
        write(name, notebook(TITLE, *cells, module=module))
    assert len(export_book(root)) == len(SHAPES)
    ruff(*check.split(), str(root / "aiayn"))


# What is removed, and what is not


def test_a_module_that_no_chapter_exports_any_more_is_removed(
    root: Path, write: Write
) -> None:
    chapter = write("01-greeting", GREETING)
    export_book(root)
    chapter.unlink()
    (difference,) = export_book(root, check=True)
    assert f"-{GREET.splitlines()[0]}" in difference
    assert (root / "aiayn" / "greeting.py").exists()
    assert export_book(root) == ["aiayn/greeting.py"]
    assert not (root / "aiayn" / "greeting.py").exists()


@pytest.mark.parametrize("name", ["greeting", "by_hand"])
def test_a_module_made_by_hand_is_left_alone_and_named(
    root: Path, write: Write, name: str
) -> None:
    write("01-greeting", GREETING)
    (root / "aiayn").mkdir()
    (root / "aiayn" / f"{name}.py").write_text("WORK = 'of many hours'\n")
    with pytest.raises(
        BookError,
        match=rf"^aiayn/{name}\.py: not generated from a chapter; move it out",
    ):
        export_book(root)
    assert [path.name for path in (root / "aiayn").iterdir()] == [f"{name}.py"]


def test_files_that_are_no_modules_are_left_alone(root: Path, write: Write) -> None:
    write("01-greeting", GREETING)
    (root / "aiayn" / "inner").mkdir(parents=True)
    for name in ("py.typed", ".hidden.py", "inner/table.csv"):
        (root / "aiayn" / name).touch()
    assert export_book(root) == ["aiayn/greeting.py"]
    assert (root / "aiayn" / "py.typed").exists()
    assert (root / "aiayn" / "inner" / "table.csv").exists()


def test_a_dot_in_the_tag_makes_a_folder(root: Path, write: Write) -> None:
    parts = [
        cell("greet", GREET, "export:words.greeting"),
        cell("names", GREET, "export:words.__init__"),
    ]
    write("01-greeting", notebook(TITLE, *parts))
    assert export_book(root) == ["aiayn/words/__init__.py", "aiayn/words/greeting.py"]
    assert export_book(root, check=True) == []
    write("01-greeting", notebook(TITLE, *parts[:1]))
    assert export_book(root) == ["aiayn/words/__init__.py"]
    assert not (root / "aiayn" / "words" / "__init__.py").exists()


def test_a_fault_anywhere_writes_nothing(root: Path, write: Write) -> None:
    write("01-greeting", GREETING)
    write("02-broken", "{")
    with pytest.raises(BookError):
        export_book(root)
    assert not (root / "aiayn").exists()


# What an author may get wrong


def chapter(source: str, *tags: str, module: str | None = "greeting") -> dict[str, Any]:
    return notebook(TITLE, cell("greet", source, *tags), module=module)


NEARLY = {"exprot": "export", "Export": "export", "exprt:charts": "export:"}
NEARLY |= {"claims:3-a": "claim:", "remove_cell": "remove-cell"}
NEARLY |= {"nbval-ignore-outputs": "nbval-ignore-output"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<<<<<<< HEAD", "not a notebook (JSONDecodeError"),
        ("[1, 2]", "not a notebook (TypeError"),
        ("{}", "not a notebook (KeyError('nbformat')"),
        ('{"nbformat": 3}', "notebook format 3; save it as format 4.5"),
        (
            {**GREETING, "cells": [TITLE, {"cell_type": "code", "source": ""}]},
            "cell number 2 has no id",
        ),
        (
            notebook(cell("greet", "# A greeting", "export", kind="markdown")),
            "only code can be exported, and this cell is markdown",
        ),
        *(
            (chapter(GREET, tag), f"unknown tag {tag!r}; did you mean {near!r}?")
            for tag, near in NEARLY.items()
        ),
        *(
            (chapter(GREET, *tags, module=module), "an exported cell goes to one ")
            for module, *tags in (
                (None, "export"),
                ("a..b", "export"),
                ("a.1", "export"),
                ("a", "export:"),
                ("a", "export", "export:b"),
            )
        ),
        *(
            (chapter(source, "export"), f"line {line}: does not parse: ")
            for source, line in (
                ("x = 1\ndef greet(name)\n    pass", 2),
                ("%timeit 1", 1),
                ("!ls", 1),
                ("\n\nreturn 1", 3),
            )
        ),
        (
            chapter(GREET, "export:salute"),
            "book/data/package.toml does not say what aiayn.salute is for;"
            ' add a line: "salute" = "…"',
        ),
    ],
)
def test_what_an_author_may_get_wrong(
    root: Path, write: Write, content: Any, message: str
) -> None:
    write("01-greeting", content)
    with pytest.raises(BookError) as error:
        export_book(root)
    where, said = "book/01-greeting.ipynb", str(error.value)
    places = (f"{where}: ", f"{where}, cell greet: ", f"{where}, cell greet, ")
    assert said.startswith(tuple(place + message for place in places))


@pytest.mark.parametrize("tag", ["export", "export:greeting"])
def test_two_chapters_for_one_module(root: Path, write: Write, tag: str) -> None:
    write("01-greeting", GREETING)
    write("02-rival", notebook(cell("again", GREET, tag)))
    with pytest.raises(BookError) as error:
        export_book(root)
    assert str(error.value) == (
        "book/02-rival.ipynb, cell again: exports to aiayn.greeting, "
        "as book/01-greeting.ipynb, cell greet does; one module comes from one chapter"
    )


@pytest.mark.parametrize(
    "source",
    [
        "x = missing",
        "def f():\n    return missing",
        "def f(x=missing): ...",
        "def f(x: missing): ...",
        "def f() -> missing: ...",
        "class C(missing): ...",
        "class C:\n    x: missing",
        "class C:\n    def f(self):\n        return [missing(x) for x in self]",
        "@missing\ndef f(): ...",
        "f = lambda x: missing",
        "def f():\n    global missing\n    return missing",
        "x = [missing for y in range(3) if y]",
    ],
)
def test_a_name_that_the_module_does_not_have(
    root: Path, write: Write, source: str
) -> None:
    experiment = cell("experiment", "missing = 1")
    write("01-greeting", notebook(TITLE, experiment, cell("use", source, "export")))
    with pytest.raises(
        BookError,
        match=r"^book/01-greeting\.ipynb, cell use: uses 'missing', which no exported ",
    ):
        export_book(root)
    imports = cell("imports", "import missing", "export")
    write("01-greeting", notebook(TITLE, imports, cell("use", source, "export")))
    assert export_book(root) == ["aiayn/greeting.py"]


@pytest.mark.parametrize(
    "source",
    [
        "def f(x, *y, z=1, **w):\n    return x, y, z, w",
        "def f(xs):\n    return [x for x in xs if (y := x)], y",
        "def f():\n    def g():\n        return h\n    h = 1\n    return g",
        "class C:\n a = 1\n b = a\n def f(self): return super().__init__(), __class__",
        "def f():\n try: import os\n except OSError as e: raise e\n return os",
        "for i in range(3):\n with open(__file__) as f: print(i, f, __name__)",
        "try:\n    import fast\nexcept ImportError:\n    fast = None\nprint(fast)",
        "from __future__ import annotations\n\nx: int = len(__doc__)",
        "import os.path\n\nprint(os)",
        'def f(x: "batch n d_model") -> "b": ...',
        "if (n := 1) > 0:\n    (a, [b, *c]) = n\n    print(a, b, c)",
    ],
)
def test_no_false_alarm(source: str) -> None:
    check_names([ExportedCell(Path("book/01.ipynb"), "use", "greeting", source)])


# The command


def test_the_command(
    root: Path,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("01-greeting", GREETING)
    result = run("-m", "aiayn.book", "export", cwd=root / "book")
    assert (result.returncode, result.stdout, result.stderr) == (
        0,
        "aiayn/greeting.py\n",
        "",
    )

    def check(*flags: str) -> tuple[int, str, str]:
        """The same in this process: exit code, output, complaint."""
        monkeypatch.setattr(sys, "argv", ["aiayn.book", "export", *flags])
        code = 0
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        return code, *capsys.readouterr()

    monkeypatch.chdir(root)
    assert check("--check") == (0, "the package is what the book says\n", "")

    path = root / "aiayn" / "greeting.py"
    path.write_text(path.read_text().replace("Guten Tag", "Hallo"))
    edited = path.read_text()
    code, out, complaint = check("--check")
    assert code == 1
    assert '-    return f"Hallo, {name}!"\n+    return f"Guten Tag, {name}!"\n' in out
    fault = "the package is not what the book says: run `make export`"
    assert complaint == f"aiayn.book: {fault}\n"
    assert path.read_text() == edited

    write("01-greeting", chapter(GREET, "exprot"))
    where = "book/01-greeting.ipynb, cell greet"
    fault = f"{where}: unknown tag 'exprot'; did you mean 'export'?"
    assert check() == (2, "", f"aiayn.book: {fault}\n")


def test_the_exporter_needs_nothing_but_python(root: Path, write: Write) -> None:
    """A chapter with a fault that shows on import must not keep its own mending from
    being exported.
    """
    write("01-greeting", GREETING)
    # With -S not even torch is to be had.
    result = run("-S", "-m", "aiayn.book", "export", cwd=root)
    assert (result.returncode, result.stdout, result.stderr) == (
        0,
        "aiayn/greeting.py\n",
        "",
    )


def test_outside_a_book(tmp_path: Path) -> None:
    with pytest.raises(
        BookError, match=r"no book here or above \(no folder with _toc.yml and book/\)$"
    ):
        project(tmp_path)


def test_importing_the_package_brings_no_notebook_software() -> None:
    heavy = ["altair", "vl_convert", "IPython", "ipykernel", "pandas", "matplotlib"]
    found = f"print([name for name in {heavy} if name in sys.modules])"
    code = f"from aiayn import *\nimport aiayn.book, aiayn.book.charts, sys; {found}"
    result = run("-W", "error", "-c", code, cwd=ROOT)
    assert (result.stdout, result.stderr) == ("[]\n", "")


# The public names


def test_a_public_name_is_imported_on_its_first_use() -> None:
    code = """\
import sys, aiayn
print("torch" in sys.modules, "aiayn.errors" in sys.modules, "train" in dir(aiayn))
print(aiayn.InputError.__module__, "torch" in sys.modules)
from aiayn import train
print(train.__module__, aiayn.train is train, "torch" in sys.modules)"""
    result = run("-c", code, cwd=ROOT)
    assert result.stdout == (
        "False False True\naiayn.errors False\naiayn.translation.api True True\n"
    )


def test_every_public_name_is_there_and_no_other() -> None:
    tree = ast.parse((ROOT / "aiayn" / "__init__.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    homes = {each.name: node.module for node in imports for each in node.names}
    for name in aiayn.__all__:
        value = getattr(aiayn, name)
        module = f"aiayn.{name}" if isinstance(value, ModuleType) else homes[name]
        assert aiayn._MODULES[name] == module  # as type checkers see it
        # Else `import aiayn.name` would put a module into the place of a function.
        is_module = find_spec(f"aiayn.{name}") is not None
        assert is_module == isinstance(value, ModuleType)
    assert set(aiayn.__all__) == {*aiayn._MODULES} <= {*dir(aiayn)}
    with pytest.raises(AttributeError, match=r"^module 'aiayn' has no attribute 'tr'$"):
        aiayn.tr  # noqa: B018
    with pytest.raises(ImportError, match=r"^cannot import name 'tr' from 'aiayn'"):
        exec("from aiayn import tr")


# Claims


def test_a_claim_that_is_what_the_book_says(capsys: pytest.CaptureFixture[str]) -> None:
    claim("3.2.1-c", holds=True, figure="variance 64.1", evidence="proof")
    claim("2-b", holds=False, evidence="toy", expected=False)
    claim("2-a", holds=False, evidence="proof", expected=False)
    claim("3.2.1-d", holds=False, evidence="simulation", expected=False)
    claim("7-a", holds=None, evidence="synthetic corpus", expected=None)
    assert capsys.readouterr().out == (
        "✓ Claim 3.2.1-c holds (proof): variance 64.1\n"
        "✗ Claim 2-b does not hold here (toy)\n"
        "✗ Claim 2-a does not hold (proof)\n"
        "✗ Claim 3.2.1-d does not hold here (simulation)\n"
        "? Claim 7-a undecided (synthetic corpus)\n"
    )


STATES = {True: "holds", False: "does not hold here", None: "undecided"}


@pytest.mark.parametrize(
    ("holds", "expected"),
    [(one, other) for one in STATES for other in STATES if one is not other],
)
def test_a_claim_that_is_not(
    capsys: pytest.CaptureFixture[str], holds: bool | None, expected: bool | None
) -> None:
    found = rf"^Claim 2-b {STATES[holds]} \(toy\): 1 < 2; the book says otherwise$"
    with pytest.raises(AssertionError, match=found):
        claim("2-b", holds=holds, figure="1 < 2", evidence="toy", expected=expected)
    assert capsys.readouterr().out == ""


def test_a_claim_in_a_notebook_leaves_a_line_and_a_record() -> None:
    program = """\
import json
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from aiayn.book import claim
InteractiveShell.instance()
with capture_output() as captured:
    claim("2-b", holds=True, figure="⟨1.7⟩ < 2 & more", evidence="toy")
(output,) = captured.outputs
print(json.dumps([output.data, output.metadata]))"""
    result = run("-c", program, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    data, metadata = json.loads(result.stdout)
    assert data["text/plain"] == "✓ Claim 2-b holds (toy): ⟨1.7⟩ < 2 & more"
    html = (
        '<div class="aiayn-claim">✓ <b>Claim 2-b</b> holds (toy):'
        " ⟨1.7⟩ &lt; 2 &amp; more</div>"
    )
    assert data["text/html"] == html
    record = {
        "claim": "2-b",
        "state": "holds",
        "evidence": "toy",
        "figure": "⟨1.7⟩ < 2 & more",
    }
    assert metadata == {"aiayn": record}


# Charts


def spec(nudge: float = 0.0) -> dict[str, Any]:
    words = [("cat", 0.817574476 + nudge), ("mat", 0.182425524 - nudge)]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": "Two bars: the cat's is four times as high as the mat's.",
        "data": {
            "values": [{"word": word, "weight": weight} for word, weight in words]
        },
        "mark": "bar",
        "encoding": {
            "x": {"field": "word", "type": "nominal"},
            "y": {"field": "weight", "type": "quantitative"},
        },
    }


def test_a_chart_is_the_same_bytes_again_whatever_its_last_digits() -> None:
    bundle = chart_bundle(spec())
    assert set(bundle) == {
        "application/vnd.vegalite.v6+json",
        "image/png",
        "text/plain",
    }
    assert bundle["text/plain"] == spec()["description"]
    for again in (spec(), spec(nudge=1e-8)):
        assert json.dumps(chart_bundle(again)) == json.dumps(bundle)
    with pytest.raises(ValueError, match=r"this chart has no description"):
        chart_bundle({**spec(), "description": ""})


def test_altair_charts_are_the_same_bytes_again() -> None:
    """Altair numbers the views of a chart itself, and must not count on from chart to
    chart.
    """
    program = """\
import json
import altair as alt
from aiayn.book.charts import enable_charts
enable_charts()
def chart():
    data = alt.Data(values=[{"x": 1, "y": 0.25}])
    base = alt.Chart(data).mark_point().encode(x="x:Q", y="y:Q")
    slider = alt.param("shift", value=0, bind=alt.binding_range(min=-1, max=1))
    described = (base + base.mark_line()).add_params(slider)
    described = described.properties(description="One point.")
    return json.dumps(alt.renderers.get()(described.to_dict()), sort_keys=True)
assert chart() == chart()
stored = json.loads(chart())
assert stored["text/plain"] == "One point."
assert stored["application/vnd.vegalite.v6+json"]["config"]["axis"]["grid"] is False"""
    result = run("-W", "error", "-c", program, cwd=ROOT)
    assert (result.returncode, result.stderr) == (0, "")


def test_in_colab_charts_are_stored_by_its_own_renderer() -> None:
    program = """\
import sys, types
sys.modules["google.colab"] = types.ModuleType("google.colab")
import altair as alt
from aiayn.book.charts import enable_charts
enable_charts()
print(alt.renderers.active, alt.theme.active)"""
    result = run("-W", "error", "-c", program, cwd=ROOT)
    assert (result.stdout, result.stderr) == ("default aiayn\n", "")


def test_rounding_reaches_every_float_and_nothing_else() -> None:
    kept = {"n": 123456, "s": "0.123456", "t": True, "none": None}
    given = {"a": [0.123456, {"b": 123456.0}], "e": 1.23456e-9, **kept}
    assert rounded(given) == {"a": [0.1235, {"b": 123500.0}], "e": 1.235e-9, **kept}


def contrast(one: str, other: str) -> float:
    """The WCAG's contrast ratio of two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [
            p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        ]
        return sum(
            weight * p
            for weight, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
        )

    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colour", PALETTE)
def test_colours_stand_out_in_both_themes(colour: str) -> None:
    assert contrast(colour, "#ffffff") > 2 and contrast(colour, "#121212") > 2


def test_another_jupyter_book_is_refused_in_one_line(tmp_path: Path) -> None:
    """Its second version is another program, of the same name."""
    (tmp_path / "jupyter_book").mkdir()
    (tmp_path / "jupyter_book" / "__init__.py").touch()
    tool = Path(__file__).parents[2] / "tools" / "site.py"
    found = subprocess.run(
        [sys.executable, str(tool), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 1 and found.stderr.count("\n") == 1
    assert found.stderr.startswith("the site needs jupyter-book 1 (No module named")
