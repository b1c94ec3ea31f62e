"""The records in book/runs: what made them, in commands as they are today."""

import argparse
import importlib
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import records

from aiayn import __main__ as program
from aiayn.cli.parser import read_command

ROOT = Path(__file__).parents[2]


def commands(found: Any) -> Iterator[str]:
    """Every command in a record: today's, where it has been renamed since."""
    if isinstance(found, dict):
        if "command" in found:
            yield found.get("command_today", found["command"])
        found = list(found.values())
    if isinstance(found, list):
        for each in found:
            yield from commands(each)


COMMANDS = sorted(
    {
        (path.stem, part)
        for path in sorted(records.RUNS.glob("*.json"))
        for command in commands(json.loads(path.read_text(encoding="utf-8")))
        for part in command.split(" && ")
    }
)


class Parsed(Exception):
    """The arguments of a bench were read; it need not run."""


def parse_bench(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the arguments of a script in bench/, which are on `sys.argv`."""
    assert (ROOT / script).parent == ROOT / "bench"
    if "argparse" not in (ROOT / script).read_text(encoding="utf-8"):
        assert len(sys.argv) == 1, "it takes no arguments"
        return
    parse = argparse.ArgumentParser.parse_args

    def parse_only(parser: argparse.ArgumentParser, *given: Any) -> None:
        parse(parser, *given)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
    with pytest.raises(Parsed):
        importlib.import_module(Path(script).stem).main()


@pytest.mark.parametrize(("record", "command"), COMMANDS)
def test_the_command_of_a_record_can_be_given_today(
    record: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(command)
    if words[0] == "python":
        monkeypatch.setattr(sys, "argv", words[1:])
        parse_bench(words[1], monkeypatch)
    else:
        assert words[0] == "aiayn"
        monkeypatch.setattr(sys, "argv", words)
        read_command((getattr(program, words[1].replace("-", "_")),))
    if "--out" in words and (out := words[words.index("--out") + 1]).endswith(".json"):
        assert out == f"book/runs/{record}.json"


def commits(found: Any) -> Iterator[str]:
    """Every commit in a record."""
    if isinstance(found, dict):
        if "commit" in found:
            yield found["commit"]
        found = list(found.values())
    if isinstance(found, list):
        for each in found:
            yield from commits(each)


def git(*words: str) -> subprocess.CompletedProcess[str]:
    """Git, asked about this repository."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.skipif(
    git("rev-parse", "--is-shallow-repository").stdout.strip() != "false",
    reason="the history is not complete here",
)
def test_the_commit_of_a_record_is_in_the_history_or_said_to_be_unknown() -> None:
    made = {
        (path.stem, commit)
        for path in records.RUNS.glob("*.json")
        for commit in commits(json.loads(path.read_text(encoding="utf-8")))
    }
    unknown = {record for record, commit in made if commit == "unknown"}
    missing = {
        record
        for record, commit in made
        if commit != "unknown"
        and git("merge-base", "--is-ancestor", commit, "HEAD").returncode
    }
    assert not missing
    text = (ROOT / "book/reference/claims.md").read_text(encoding="utf-8")
    said = text[text.index("Five records are older") : text.index("Of their rules")]
    assert all(f"`{record}`" in said for record in unknown) and len(unknown) == 5


def test_a_new_record_has_the_command_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was typed, and what is changed when an option gets another name."""
    monkeypatch.setattr(records, "RUNS", tmp_path)
    records.write("made-up", {"sentences": 3})
    found = json.loads((tmp_path / "made-up.json").read_text(encoding="utf-8"))
    assert list(found)[:2] == ["command", "command_today"]
    assert found["command"] == found["command_today"] and found["sentences"] == 3
