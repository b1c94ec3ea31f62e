"""The repository's address stands in pyproject.toml; every other place agrees, and one command changes them all."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
OWNER, NAME = ADDRESS.removeprefix("https://github.com/").split("/")
NAMES = "|".join({re.escape(NAME), "aiayn"})
OWNERS = {
    "repository": re.compile(rf"(?:github\.com|colab\.research\.google\.com/github)/([\w.-]+/(?:{NAMES}))(?![\w-])"),
    "pages": re.compile(rf"([\w-]+\.github\.io/(?:{NAMES}))(?![\w-])"),
}
EXPECTED = {"repository": f"{OWNER}/{NAME}", "pages": f"{OWNER}.github.io/{NAME}"}


def git_files(root: Path) -> list[Path]:
    """The files of the working tree that git tracks or would track."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listing, cwd=root, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git working tree")
    return [root / name for name in done.stdout.split("\0") if name and (root / name).is_file()]


def test_every_place_names_the_same_repository() -> None:
    wrong = []
    for path in git_files(ROOT):
        text = path.read_text(encoding="utf-8", errors="replace")
        for kind, pattern in OWNERS.items():
            wrong += [f"{path.relative_to(ROOT)}: {m[1]}" for m in pattern.finditer(text) if m[1] != EXPECTED[kind]]
    assert not wrong, f"not {ADDRESS}; run `make address`: {wrong}"


@pytest.mark.parametrize("name", ["README.md", "CITATION.cff", "_config.yml"])
def test_the_address_stands_where_readers_look(name: str) -> None:
    assert ADDRESS in (ROOT / name).read_text(encoding="utf-8")


def test_one_command_changes_the_address(tmp_path: Path) -> None:
    old, new = ADDRESS, "https://github.com/some-one/their-copy"
    colab, pages = f"/github/{OWNER}/{NAME}/blob/main", f"https://{OWNER}.github.io/{NAME}/"
    notebook = f'{{"cells": ["{old}", "{colab}/book/x.ipynb"],\t"keep  these": "bytes – ü"}}'
    near = f"also{OWNER}/{NAME} {OWNER}/{NAME}-2 {OWNER}/other"  # other repositories
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "address.py", tmp_path / "tools")
    files = {
        "pyproject.toml": f'[project.urls]\nRepository = "{old}"\n',
        "chapter.ipynb": notebook,
        "README.md": f"{old}/actions git+{old}.git {pages} {near}\r\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff" + old.encode())
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    command = [sys.executable, "tools/address.py"]
    subprocess.run([*command, new], cwd=tmp_path, check=True)
    after = {name: (tmp_path / name).read_bytes().decode() for name in files}
    assert after["pyproject.toml"] == f'[project.urls]\nRepository = "{new}"\n'
    assert after["chapter.ipynb"] == notebook.replace(f"{OWNER}/{NAME}", "some-one/their-copy")
    pages = "https://some-one.github.io/their-copy/"
    assert after["README.md"] == f"{new}/actions git+{new}.git {pages} {near}\r\n"
    assert (tmp_path / "picture.png").read_bytes().endswith(old.encode())

    refused = subprocess.run([*command, "github.com/o/r"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode != 0 and refused.stderr.startswith("usage: make address URL=")
    subprocess.run([*command, old], cwd=tmp_path, check=True)
    assert {name: (tmp_path / name).read_bytes().decode() for name in files} == files
