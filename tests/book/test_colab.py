"""Chapters run in Colab, at night all of them: alone in an empty folder, with nothing
but the wheel and what Colab has.

Colab itself cannot be had here. What stands in for it is a new environment with Colab's
versions, as far as the index of packages has them; a stub of `google.colab`, by which
chapters know where they are; and a `%pip` that takes the repository's address and
installs the wheel built from it.
"""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import venv
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
import set_url
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook
from run_in_colab import Run, refuse_stub, run_alone
from test_notebooks import INSTALL, NOTEBOOKS, chapter_name

pytestmark = pytest.mark.colab

ROOT = set_url.ROOT
# What Colab had in August 2026, without vl-convert, which it lacks. Its torch was 2.11;
# the one of constraints.txt stands in, because indexes have it without CUDA.
PINNED = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
TORCH = next(line for line in PINNED if line.startswith("torch=="))
COLAB = [TORCH, "numpy==2.1.*", "altair==5.5.*", "transformers==4.57.*", "ipykernel"]
# Run by IPython when a kernel starts. A line magic of this name is all that the install
# cell needs of Colab.
STARTUP = """\
import subprocess, sys
import google.colab

def pip(line):
    with open({log!r}, "a") as log:
        print(line, file=log)
    install = [sys.executable, "-m", "pip", "install", "--quiet", {wheel!r}]
    subprocess.run(install, check=True)

get_ipython().register_magic_function(pip, "line", "pip")
"""


@dataclass(frozen=True)
class Colab:
    """An environment that looks like Colab from inside."""

    environment: Path
    folder: Path  # for all else: a home, the wheel, the kernel's specification

    @property
    def python(self) -> Path:
        return self.environment / ("Scripts" if os.name == "nt" else "bin") / "python"

    @property
    def log(self) -> Path:
        """What `%pip` was asked to do, a line each time."""
        return self.folder / "pip.log"

    def run(self, notebook: Path) -> Run:
        """Run a notebook there: nothing of this checkout and of its environment can be
        imported.
        """
        kept = {
            name: os.environ[name]
            for name in ("LANG", "SYSTEMROOT", "TMPDIR")
            if name in os.environ
        }
        home = str(self.folder / "home")
        # Where trained models are kept.
        cache = os.environ.get("AIAYN_CACHE") or str(Path.home() / ".cache" / "aiayn")
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        own = {
            "HOME": home,
            "USERPROFILE": home,
            "PATH": path,
            "AIAYN_CACHE": cache,
            "OMP_NUM_THREADS": "1",
        }
        return asyncio.run(run_alone(notebook, self.folder / "kernels", kept | own))

    def ask(self, *arguments: str) -> str:
        """What its Python prints."""
        done = subprocess.run([self.python, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def versions(self) -> dict[str, str]:
        """The packages that are installed."""
        return {
            row["name"]: row["version"]
            for row in json.loads(self.ask("-m", "pip", "list", "--format=json"))
        }


def environment(colab: Colab) -> None:
    """Make the environment, or bring back the one of an earlier run to what it was:
    torch is large.
    """
    recipe = json.dumps([sys.version, *COLAB])
    kept = colab.environment / "recipe.json"
    if (
        kept.exists()
        and (made := json.loads(kept.read_text(encoding="utf-8")))["recipe"] == recipe
    ):
        if added := colab.versions().keys() - made["packages"]:
            colab.ask("-m", "pip", "uninstall", "--quiet", "--yes", *added)
        return
    venv.create(colab.environment, clear=True, with_pip=True)
    colab.ask("-m", "pip", "install", "--quiet", *COLAB)
    stub = Path(
        colab.ask(
            "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"
        ).strip(),
        "google/colab",
    )
    stub.mkdir(parents=True)
    (stub / "__init__.py").touch()
    kept.write_text(
        json.dumps({"recipe": recipe, "packages": [*colab.versions()]}),
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Colab:
    """Colab as a reader finds it: without this book's package."""
    colab = Colab(ROOT / "_build" / "colab", tmp_path_factory.mktemp("colab"))
    environment(colab)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-qq",
        "--no-deps",
        "--wheel-dir",
        colab.folder,
        ROOT,
    ]
    subprocess.run(build, check=True)
    startup = STARTUP.format(
        log=str(colab.log), wheel=str(next(colab.folder.glob("aiayn-*.whl")))
    )
    command = [str(colab.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel = json.dumps(
        {"argv": command, "display_name": "alone", "language": "python"}
    )
    for name, text in {
        "home/.ipython/profile_default/startup/00-colab.py": startup,
        "kernels/alone/kernel.json": kernel,
    }.items():
        (colab.folder / name).parent.mkdir(parents=True)
        (colab.folder / name).write_text(text, encoding="utf-8")
    return colab


@pytest.fixture(scope="module")
def installed(
    bare: Colab, write: Callable[..., Path]
) -> tuple[Colab, dict[str, str], dict[str, str]]:
    """Colab after the install cell has run, twice, and the versions of its packages
    before and after.
    """
    before = bare.versions()
    bare.run(write(INSTALL, INSTALL))
    return bare, before, bare.versions()


@pytest.fixture(scope="module")
def colab(installed: tuple[Colab, object, object]) -> Colab:
    """Colab with the package, for chapters to run in."""
    return installed[0]


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write a notebook of the given cells, each a text or a text with tags."""

    def write(*cells: str | tuple[str, str]) -> Path:
        notebook = new_notebook()
        for cell in cells:
            source, *tags = cell if isinstance(cell, tuple) else (cell,)
            notebook.cells.append(
                new_code_cell(textwrap.dedent(source), metadata={"tags": tags})
            )
        path = tmp_path_factory.mktemp("made-up") / "made-up.ipynb"
        nbformat.write(notebook, path)
        return path

    return write


@pytest.fixture(scope="module")
def runs(
    request: pytest.FixtureRequest, colab: Colab
) -> Iterator[dict[Path, Future[Run]]]:
    """The runs of all chapters that were asked for: two at a time, or one beside what
    other workers of pytest do.
    """
    parameters = [
        item.callspec.params
        for item in request.session.items
        if hasattr(item, "callspec")
    ]
    asked = [chosen["chapter"] for chosen in parameters if "chapter" in chosen]
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    with ThreadPoolExecutor(2 if alone else 1) as pool:
        futures = {path: pool.submit(colab.run, path) for path in asked}
        yield futures
        for future in futures.values():
            future.cancel()
    rows = sorted(
        (future.result().cpu, path.stem)
        for path, future in futures.items()
        if not failed(future)
    )
    print(
        "\nseconds of processor time:",
        ", ".join(f"{name} {cpu:.0f}" for cpu, name in reversed(rows)),
    )


def failed(future: Future[Run]) -> bool:
    return future.cancelled() or future.exception() is not None


def test_the_install_cell_installs_once_and_changes_nothing_else(
    installed: tuple[Colab, dict[str, str], dict[str, str]],
) -> None:
    colab, before, after = installed
    assert colab.log.read_text() == f"install --quiet git+{set_url.current()}\n"
    assert "aiayn" not in before and "aiayn" in after
    assert {name: after[name] for name in before} == before, (
        "what Colab has is not to be replaced"
    )
    assert "vl-convert-python" not in after


def test_the_wheel_brings_the_package_its_types_and_the_results_that_chapters_read(
    bare: Colab,
) -> None:
    file = next(bare.folder.glob("*.whl"))
    assert file.stat().st_size < 16e6
    with zipfile.ZipFile(file) as wheel:
        names = {name for name in wheel.namelist() if name.startswith("aiayn/")}
    modules = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "aiayn").rglob("*.py")
    }
    results = {f"aiayn/runs/{path.name}" for path in (ROOT / "book" / "runs").iterdir()}
    trained = ROOT / "aiayn" / "weights"
    models = {
        path.relative_to(ROOT).as_posix()
        for path in trained.rglob("*")
        if path.is_file()
    }
    assert len(models) == 12  # of each of three: weights, settings, vocabulary, card
    scripts, tables = (
        {path.relative_to(ROOT).as_posix() for path in (ROOT / "aiayn").rglob(pattern)}
        for pattern in ("static/*", "*.tsv")
    )
    assert scripts and tables
    assert names == modules | results | models | scripts | tables | {"aiayn/py.typed"}


# One of each sort, of those that do not train for long; nightly, all.
FIRST = (
    "1-paper/3-2-attention",
    "1-paper/5-4-regularization",
    "3-workshop/11-trees-and-parsing",
    "how-to/2-fine-tune",
)


@pytest.mark.parametrize(
    "chapter",
    [
        path
        if chapter_name(path) in FIRST
        else pytest.param(path, marks=pytest.mark.nightly)
        for path in NOTEBOOKS
    ],
    ids=chapter_name,
)
def test_chapter(runs: dict[Path, Future[Run]], colab: Colab, chapter: Path) -> None:
    run = runs[chapter].result()
    assert run.package.is_relative_to(colab.environment)
    assert run.cpu < 60, f"{run.cpu:.0f} s; a chapter takes less than a minute"


STUB = ("def double(n):\n    ...", "exercise")
SOLUTION = ("def double(n):\n    return 2 * n", "solution")
CHECK = ("assert double(3) == 6", "check")


def test_a_stub_is_refused_and_the_solution_back_in_place(
    colab: Colab, write: Callable[..., Path]
) -> None:
    run = colab.run(write(STUB, SOLUTION, CHECK, "print(double(4))"))
    assert (run.refused, run.text) == (1, "8\n")


class Here:
    """Executes cells in this process."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    async def async_execute_cell(self, cell: Any, _: int) -> None:
        try:
            exec(cell.source, self.names)
        except Exception as error:
            raise CellExecutionError("", type(error).__name__, str(error)) from None


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ((STUB, SOLUTION, ("assert double", "check")), "accepts the stub"),
        ((SOLUTION, CHECK), "without stub or solution"),
    ],
)
def test_a_check_that_checks_nothing_is_found(
    write: Callable[..., Path], cells: tuple[tuple[str, str], ...], said: str
) -> None:
    chapter = nbformat.read(write(*cells), as_version=4)
    with pytest.raises(AssertionError, match=said):
        asyncio.run(refuse_stub(Here(), chapter.cells, len(cells) - 1))


def test_a_solution_that_fails_is_found(
    colab: Colab, write: Callable[..., Path]
) -> None:
    with pytest.raises(CellExecutionError):
        colab.run(write(STUB, ("def double(n):\n    return n", "solution"), CHECK))


def test_nothing_of_the_checkout_can_be_imported(
    colab: Colab, write: Callable[..., Path]
) -> None:
    """`tools` is in the checkout, pytest in its environment; and no chapter leans on
    what Colab lacks.
    """
    run = colab.run(
        write("""
            from importlib.util import find_spec
            lacking = ("pytest", "vl_convert", "jupyter_book", "set_url")
            print([name for name in lacking if find_spec(name)])
            import os
            print(os.listdir())
            """)
    )
    assert run.text == "[]\n['made-up.ipynb']\n"
