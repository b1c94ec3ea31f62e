"""What every record says of how it was made."""

import platform
import sys
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import aiayn.training.provenance
from aiayn.training.provenance import current_provenance


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["/usr/bin/aiayn", "estimate", "--gpu", "A 1"], "aiayn estimate --gpu 'A 1'"),
        (["/somewhere/aiayn/__main__.py", "sweep"], "aiayn sweep"),  # python -m aiayn
        (["bench/heads.py"], "heads.py"),
    ],
)
def test_the_command_that_runs(
    monkeypatch: pytest.MonkeyPatch, words: list[str], command: str
) -> None:
    monkeypatch.setattr(sys, "argv", words)
    assert current_provenance()["command"] == command
    given = current_provenance(["aiayn", "launch", "a b"])
    assert given["command"] == "aiayn launch 'a b'"


def test_where_and_when(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    found = current_provenance()
    assert list(found) == ["command", "machine", "commit", "date", "torch"]
    assert found["machine"].startswith(f"{platform.machine()}, ")
    assert found["machine"].endswith(" processors")
    assert found["date"] == date.today().isoformat()
    assert found["torch"] == torch.__version__


def test_the_commit_only_in_a_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commit = current_provenance()["commit"]
    assert commit is None or (
        len(commit) == 40 and set(commit) <= set("0123456789abcdef")
    )
    installed = SimpleNamespace(origin=str(tmp_path / "aiayn" / "__init__.py"))
    monkeypatch.setattr(aiayn.training.provenance, "find_spec", lambda _: installed)
    assert current_provenance()["commit"] is None
