"""What every record in book/runs says of itself: the command, the machine, the commit, the day."""

import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from aiayn.data.files import write_atomically

RUNS = Path(__file__).resolve().parent.parent / "book" / "runs"


def processor() -> str:
    """The name that the processor gives itself; where it gives none, its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = {line.partition(":")[2].strip() for line in lines if line.startswith("model name")}
    return ", ".join(sorted(names)) or platform.machine()


def check_peers() -> None:
    """End with a word on what to do if a program that is measured against is not installed."""
    if missing := [name for name in ("ctranslate2", "transformers") if find_spec(name) is None]:
        sys.exit(f"{', '.join(missing)}: not installed; first pip install -e '.[bench]'")


def head() -> str:
    """The commit that is checked out."""
    try:
        found = subprocess.run(["git", "-C", RUNS, "rev-parse", "HEAD"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.decode().strip()


COMMIT = head()  # when the program starts: others may come while it runs


def provenance(machine: str | None = None) -> dict[str, Any]:
    """Where, when and by what the figures beside this came about."""
    return {
        "command": "python " + shlex.join(sys.argv),
        "machine": machine or f"{processor()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads",
        "commit": COMMIT,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "torch": torch.__version__,
    }


def write(name: str, findings: dict[str, Any], machine: str | None = None) -> None:
    """Write book/runs/NAME.json, whole or not at all, and print it."""
    text = json.dumps(provenance(machine) | findings, indent=1, ensure_ascii=False)
    write_atomically(RUNS / f"{name}.json", f"{text}\n".encode())
    print(text)
