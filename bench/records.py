"""What every record in book/runs says of itself: the command, the machine, the commit,
the day. And how the training that it is of went, if that is through.
"""

import json
import os
import platform
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from aiayn.data.io import write_atomically
from aiayn.training.metrics_log import Metrics
from aiayn.training.provenance import current_provenance
from aiayn.training.trained_run import TrainedRun

RUNS = Path(__file__).resolve().parent.parent / "book" / "runs"


def processor() -> str:
    """The name that the processor gives itself, or else its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    wanted = ("model name", "cpu family", "model")
    found = (line.partition(":") for line in lines)
    parts = {name.strip(): value.strip() for name, _, value in found}
    name, *numbers = (parts.get(each, "") for each in wanted)
    family = " (family {}, model {})".format(*numbers) if all(numbers) else ""
    return f"{name}{family}" if name else platform.machine()


def check_peers() -> None:
    """End with a word on what to do if a program that is measured against is not
    installed.
    """
    if missing := [
        name for name in ("ctranslate2", "transformers") if find_spec(name) is None
    ]:
        sys.exit(
            f"{', '.join(missing)}: not installed; first pip install -e '.[bench]'"
        )


# When the program starts: commits may come while it runs. `command` is kept as it was
# typed; `command_today` is changed when a script or an option gets another name.
MADE = current_provenance(["python", *sys.argv])
START = {"command": MADE["command"], "command_today": MADE["command"]} | MADE


def machine() -> str:
    """What measures: processor, cores, and the threads that PyTorch has."""
    threads = torch.get_num_threads()
    return f"{processor()}, {os.cpu_count()} cores, {threads} threads"


def validations(run: Path) -> dict[int, float]:
    """Perplexity on the validation set by step, of a training that is through.

    One that a signal ended is not: it has saved its last step, and not validated it.
    """
    step, found = TrainedRun.read(run).description.step, Metrics(run).validations()
    if step not in found:
        sys.exit(f"{run}: interrupted after step {step}; the same command goes on")
    return found


def write(name: str, findings: dict[str, Any], where: str | None = None) -> None:
    """Write book/runs/NAME.json, whole or not at all, and print it."""
    text = json.dumps(
        START | {"machine": where or machine()} | findings, indent=1, ensure_ascii=False
    )
    write_atomically(RUNS / f"{name}.json", f"{text}\n".encode())
    print(text)
