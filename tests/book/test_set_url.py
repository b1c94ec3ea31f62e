"""The repository's address stands in pyproject.toml; every place agrees, and one
command changes them all.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import set_url

HERE = set_url.current()
OWNER, NAME = HERE.removeprefix("https://github.com/").split("/")
NAMES = "|".join(sorted({re.escape(NAME), "aiayn"}))
REPOSITORY = re.compile(
    rf"(?:github\.com|\.google\.com/github)/([\w.-]+/(?:{NAMES}))(?![\w-])"
)
PAGES = re.compile(rf"([\w-]+\.github\.io/(?:{NAMES}))(?![\w-])")


def test_every_place_names_the_same_repository() -> None:
    wrong = []
    for path in set_url.files():
        text = path.read_text(encoding="utf-8", errors="replace")
        named = {*REPOSITORY.findall(text), *PAGES.findall(text)} - {
            f"{OWNER}/{NAME}",
            f"{OWNER}.github.io/{NAME}",
        }
        wrong += [f"{path.relative_to(set_url.ROOT)}: {name}" for name in sorted(named)]
    assert not wrong, f"the address is {HERE}; run `make set-url`"


@pytest.mark.parametrize("name", ["README.md", "CITATION.cff", "_config.yml"])
def test_the_address_stands_where_readers_look(name: str) -> None:
    assert HERE in (set_url.ROOT / name).read_text(encoding="utf-8")


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
    shutil.copy(set_url.__file__, tmp_path / "tools")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)

    def move(url: str) -> dict[str, str]:
        subprocess.run(
            [sys.executable, "tools/set_url.py", url], cwd=tmp_path, check=True
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
        [sys.executable, set_url.__file__, url], capture_output=True, text=True
    )
    assert done.returncode != 0 and done.stderr.startswith("usage: make set-url URL=")


@pytest.mark.parametrize(
    "remote",
    [
        "https://github.com/someone/their-copy",
        "https://x-access-token:abc@github.com/someone/their-copy.git",
        "git@github.com:someone/their-copy.git",
    ],
)
def test_the_first_push_sets_the_address_once(tmp_path: Path, remote: str) -> None:
    """What `.github/workflows/set-url.yml` does, in a clone without this address."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"],
        cwd=set_url.ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (set_url.ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(set_url.ROOT / name, tmp_path / name)
    placeholder = "https://github.com/OWNER/aiayn"
    tool = [sys.executable, "tools/set_url.py"]
    for command in (
        ["git", "init", "--quiet"],
        [*tool, placeholder],
        ["git", "remote", "add", "origin", remote],
        [*tool, "--first"],
        ["git", "remote", "set-url", "origin", "https://github.com/other/fork"],
        [*tool, "--first"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    left = subprocess.run(
        ["grep", "-rlE", "--exclude-dir=.git", r"\bOWNER(/aiayn|\.github\.io)", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert set(left) <= {"./tests/book/test_set_url.py"}  # this very text
    for name in ("README.md", "pyproject.toml", "CITATION.cff", "_config.yml"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "github.com/someone/their-copy" in text and "other/fork" not in text
