"""The notebooks as one archive: whole, the same bytes each time, and enough to read the
book with.
"""

import re
import zipfile
from pathlib import Path

import nbformat
import notebooks_zip
from test_notebooks import BOOK, NOTEBOOKS, chapter_name


def test_it_holds_the_chapters_and_what_they_need(tmp_path: Path) -> None:
    notebooks_zip.pack(tmp_path / "new" / "book.zip")
    with zipfile.ZipFile(tmp_path / "new" / "book.zip") as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path)
    folder = tmp_path / notebooks_zip.TOP
    notebooks = {
        path.relative_to(folder).with_suffix("").as_posix()
        for path in folder.rglob("*.ipynb")
    }
    assert notebooks == set(map(chapter_name, NOTEBOOKS))
    assert {path.name for path in folder.glob("runs/*")} == {
        path.name for path in BOOK.glob("runs/*.json")
    }
    assert "MIT" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert "{address}" not in (folder / "README.md").read_text(encoding="utf-8")
    for path in folder.rglob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            links = re.findall(r"\]\((?!https:)([\w./-]+\.\w+)", cell.source)
            for link in links if cell.cell_type == "markdown" else []:
                assert (path.parent / link).is_file(), f"{path.name}: {link}"


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "1.zip", tmp_path / "2.zip"
    notebooks_zip.pack(first)
    notebooks_zip.pack(second)
    assert first.read_bytes() == second.read_bytes()
