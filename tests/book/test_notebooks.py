"""Every notebook is run whole, opens the same way, renders on GitHub and Colab, has
more text than code.
"""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest
import set_url
import yaml
from markdown_it import MarkdownIt

ROOT = set_url.ROOT
BOOK = ROOT / "book"
COLAB = set_url.current().replace(
    "https://github.com/", "https://colab.research.google.com/github/"
)
CLAIMS = {
    claim["id"]
    for claim in yaml.safe_load(
        (BOOK / "data" / "claims.yml").read_text(encoding="utf-8")
    )
}
LONG_CELLS = Path(__file__).parents[1] / "long_cells.json"
INSTALL = f"""\
import importlib.util
import sys

if "google.colab" in sys.modules and importlib.util.find_spec("aiayn") is None:
    source = "git+{set_url.current()}"
    get_ipython().run_line_magic("pip", f"install --quiet {{source}}")"""


def pages(entry: Any) -> list[str]:
    """Every page that a table of contents names, in order."""
    if isinstance(entry, list):
        return [page for item in entry for page in pages(item)]
    if isinstance(entry, dict):
        own = [entry[key] for key in ("root", "file") if key in entry]
        return own + [page for value in entry.values() for page in pages(value)]
    return []


PAGES = pages(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))
NOTEBOOKS = [path for page in PAGES if (path := ROOT / f"{page}.ipynb").exists()]
HOW_TOS = [path for path in NOTEBOOKS if path.parent.name == "how-to"]
CHAPTERS = [path for path in NOTEBOOKS if path not in HOW_TOS]


def chapter_name(path: Path) -> str:
    """The name of a chapter: its path in the book, as `1-paper/3-2-attention`."""
    return path.relative_to(BOOK).with_suffix("").as_posix()


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=chapter_name)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture(scope="module")
def cells(path: Path) -> list[Any]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    return notebook.cells


@pytest.fixture(scope="module")
def code(cells: list[Any]) -> list[Any]:
    return [cell for cell in cells if cell.cell_type == "code"]


def tags(cell: Any) -> list[str]:
    return cell.metadata.get("tags", [])


def by_number(page: str) -> list[str | int]:
    """For sorting: page 10 comes after page 9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", page)]


def test_the_contents_are_in_the_order_of_the_folders() -> None:
    """The table of contents names every page once: the front page, then the others as
    their folders and numbers have them.
    """
    found = sorted(
        (
            page.relative_to(ROOT).with_suffix("").as_posix()
            for page in BOOK.rglob("*.*")
            if page.suffix in (".ipynb", ".md")
            and not any(part.startswith(".") for part in page.relative_to(BOOK).parts)
        ),
        key=by_number,
    )
    found.remove("book/index")
    # The others are written by the site's build.
    tracked = [page for page in PAGES if not page.startswith("api/")]
    assert tracked == ["book/index", *found]


def test_it_was_run_whole_and_in_order(code: list[Any]) -> None:
    run = [cell for cell in code if "skip-execution" not in tags(cell)]
    assert [cell.execution_count for cell in run] == list(range(1, len(run) + 1))


def test_it_ran_without_errors_and_warnings(code: list[Any]) -> None:
    allowed = {"raises-exception", "nbval-raises-exception"}
    for cell in code:
        for output in cell.outputs:
            assert output.output_type != "error" or allowed & set(tags(cell)), cell.id
            assert output.get("name") != "stderr", f"{cell.id}: {output.text}"


def test_cells_have_ids_of_their_own(cells: list[Any]) -> None:
    ids = [cell.id for cell in cells]
    assert len(ids) == len(set(ids))


def test_it_opens_with_the_install_cell_and_the_title(
    path: Path, cells: list[Any]
) -> None:
    install, title = cells[:2]
    assert (install.cell_type, install.source, tags(install)) == (
        "code",
        INSTALL,
        ["remove-cell"],
    )
    assert install.outputs == []
    assert title.cell_type == "markdown" and title.source.startswith("# ")
    assert f"({COLAB}/blob/main/book/{chapter_name(path)}.ipynb)" in title.source, (
        "the Colab badge leads to another file"
    )


def test_code_cells_are_short(path: Path, code: list[Any]) -> None:
    """But for those that were wrapped to 88 columns and wait to be split: these are
    listed with their lines, may not grow, and leave the list once they are short.
    """
    waiting = json.loads(LONG_CELLS.read_text(encoding="utf-8")).get(
        chapter_name(path), {}
    )
    # An exported class or function cannot be cut in two, and its docstring belongs to
    # the package.
    long = {
        cell.id: n
        for cell in code
        if (n := len(cell.source.splitlines()))
        > (45 if "export" in "".join(cell.metadata.get("tags", [])) else 30)
    }
    assert long == waiting


def test_there_is_more_prose_than_code(cells: list[Any], code: list[Any]) -> None:
    words = sum(
        len(cell.source.split()) for cell in cells if cell.cell_type == "markdown"
    )
    lines = sum(len(cell.source.splitlines()) for cell in code)
    assert words >= 1.5 * lines, f"{words} words to {lines} lines of code"


def test_how_to_pages_are_short_and_no_chapters(
    path: Path, cells: list[Any], code: list[Any]
) -> None:
    """They use the package and write nothing of it; the last line leads to where the
    book explains it.
    """
    if path not in HOW_TOS:
        return
    prose = [cell.source for cell in cells if cell.cell_type == "markdown"]
    assert prose[0].startswith("# How to ")
    assert sum(len(text.split()) for text in prose) < 400
    assert not [cell.id for cell in code if "export" in "".join(tags(cell))]
    assert re.search(r"\]\(\.\./\d-[\w-]+/[\w-]+\.ipynb\)", prose[-1].splitlines()[-1])


def test_the_readme_names_every_how_to_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [f"{chapter_name(path)}.ipynb" for path in HOW_TOS] == re.findall(
        r"\(book/(how-to/[\w-]+\.ipynb)\)", readme
    )


def test_claims_exist(cells: list[Any]) -> None:
    claimed = {
        tag.removeprefix("claim:")
        for cell in cells
        for tag in tags(cell)
        if tag.startswith("claim:")
    }
    assert claimed <= CLAIMS


def test_every_viewer_can_render_the_prose(cells: list[Any]) -> None:
    """GitHub and Colab show MyST's own syntax raw: ```{note}, :::note and {doc}`…`."""
    for cell in cells:
        if cell.cell_type != "markdown":
            continue
        for token in MarkdownIt().parse(cell.source):
            assert not token.info.startswith("{"), f"{cell.id}: ```{token.info}"
            parts = token.children or []
            assert not any(part.content.startswith(":::") for part in parts), cell.id
            for before, after in pairwise(parts):
                role = after.type == "code_inline" and re.search(
                    r"\{[\w:.+-]+\}$", before.content
                )
                assert not role, f"{cell.id}: {before.content}`{after.content}`"


def test_a_misread_box_names_who_misreads(cells: list[Any]) -> None:
    boxes = [
        part
        for cell in cells
        for part in cell.source.split("\n\n")
        if part.startswith("> **Misread.**")
    ]
    assert all("](http" in box for box in boxes)


def test_the_first_hour_leads_from_page_to_page() -> None:
    """Each page of its path ends with a link to the next."""
    path = ["index.md", "0-start/1-one-page.ipynb", "0-start/2-playground.md"]
    path += ["1-paper/3-0-model-architecture.ipynb"]
    for name, following in pairwise(path):
        text = (BOOK / name).read_text(encoding="utf-8")
        if name.endswith(".ipynb"):
            text = nbformat.reads(text, as_version=4).cells[-1].source
        last = text.strip().split("\n\n")[-1]
        links = [(BOOK / name).parent / to for to in re.findall(r"\]\(([^)]+)\)", last)]
        assert (BOOK / following).resolve() in [link.resolve() for link in links], name
