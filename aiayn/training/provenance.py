# Made by `make export` from book/3-workshop/08-ablations-and-statistics.ipynb
"""By which command, when, where and from which commit a record was made."""

# book/3-workshop/08-ablations-and-statistics.ipynb, cell provenance
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch


def device_name(device: str | None = None) -> str:
    """The GPU, or the kind of processor if there is none, or if `device` is one."""
    gpu = torch.cuda.is_available() if device is None else device.startswith("cuda")
    return torch.cuda.get_device_name(device) if gpu else platform.machine()


def checked_out() -> str | None:
    """The commit that is checked out, if the package is in a checkout of the book."""
    spec = find_spec("aiayn")
    root = Path(spec.origin).parents[1] if spec and spec.origin else Path()
    if not (root / ".git").exists():
        return None
    git = subprocess.run(
        ["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True
    )
    return git.stdout.strip() or None


def current_provenance(command: Sequence[str] | None = None) -> dict[str, Any]:
    """What made a record, where and when: `command`, or the one that runs now."""
    program = Path(sys.argv[0]).name
    if program == "__main__.py":  # started as python -m aiayn
        program = "aiayn"
    return {
        "command": shlex.join([program, *sys.argv[1:]] if command is None else command),
        "machine": f"{device_name()}, {os.cpu_count()} processors",
        "commit": checked_out(),
        "date": date.today().isoformat(),
        "torch": torch.__version__,
    }
