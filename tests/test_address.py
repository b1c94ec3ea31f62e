"""The repository's address stands in pyproject.toml; every place agrees, and one
command changes them all.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import address
import pytest

HERE = address.current()
OWNER, NAME = HERE.removeprefix("https://github.com/").split("/")
NAMES = "|".join(sorted({re.escape(NAME), "aiayn"}))
REPOSITORY = re.compile(
    rf"(?:github\.com|\.google\.com/github)/([\w.-]+/(?:{NAMES}))(?![\w-])"
)
PAGES = re.compile(rf"([\w-]+\.github\.io/(?:{NAMES}))(?![\w-])")


def test_every_place_names_the_same_repository() -> None:
    wrong = []
    for path in address.files():
        text = path.read_text(encoding="utf-8", errors="replace")
        named = {*REPOSITORY.findall(text), *PAGES.findall(text)} - {
            f"{OWNER}/{NAME}",
            f"{OWNER}.github.io/{NAME}",
        }
        wrong += [f"{path.relative_to(address.ROOT)}: {name}" for name in sorted(named)]
    assert not wrong, f"the address is {HERE}; run `make address`"


@pytest.mark.parametrize("name", ["README.md", "CITATION.cff", "_config.yml"])
def test_the_address_stands_where_readers_look(name: str) -> None:
    assert HERE in (address.ROOT / name).read_text(encoding="utf-8")


def test_one_command_changes_the_address(tmp_path: Path) -> None:
    new = "https://github.com/some-one/their-copy"
    near = f"also{OWNER}/{NAME} {OWNER}/{NAME}-2 {OWNER}/other"  # other repositories
    notebook = (
        f'{{"cells": ["{HERE}",'
        f' "/github/{OWNER}/{NAME}/blob/main/book/x.ipynb"],\t"kept  so": "ü"}}'
    )
    files = {
        "pyproject.toml": f'[project.urls]\nRepository = "{HERE}"\n',
        "chapter.ipynb": notebook,
        "README.md": (
            f"{HERE}/actions git+{HERE}.git"
            f" https://{OWNER}.github.io/{NAME}/ {near}\r\n"
        ),
    }
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff" + HERE.encode())
    (tmp_path / "tools").mkdir()
    shutil.copy(address.__file__, tmp_path / "tools")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)

    def move(url: str) -> dict[str, str]:
        subprocess.run(
            [sys.executable, "tools/address.py", url], cwd=tmp_path, check=True
        )
        return {name: (tmp_path / name).read_bytes().decode() for name in files}

    after = move(new + ".git")
    assert after["pyproject.toml"] == f'[project.urls]\nRepository = "{new}"\n'
    assert after["chapter.ipynb"] == notebook.replace(
        f"{OWNER}/{NAME}", "some-one/their-copy"
    )
    pages = "https://some-one.github.io/their-copy/"
    assert after["README.md"] == f"{new}/actions git+{new}.git {pages} {near}\r\n"
    assert (tmp_path / "picture.png").read_bytes().endswith(HERE.encode())
    assert move(HERE) == files


@pytest.mark.parametrize(
    "url",
    ["", "github.com/o/r", "https://github.com/o", "https://github.com/o/r/tree/main"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    done = subprocess.run(
        [sys.executable, address.__file__, url], capture_output=True, text=True
    )
    assert done.returncode != 0 and done.stderr.startswith("usage: make address URL=")
