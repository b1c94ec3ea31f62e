# Made by `make export` from book/5-launch/1-launch.ipynb
"""Starts the workers of a training run, watches them and restarts them."""

# book/5-launch/1-launch.ipynb, cell launch-imports
import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable
from hashlib import sha256
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from aiayn.complexity.flops import PAPER_RUNS
from aiayn.errors import InputError

PORT = 29500  # ours, where an address has none (torchrun's c10d takes 29400)
# Of a machine, perhaps with a port.
ADDRESS = r"(\w[\w.-]*|\[[\da-fA-F:.]+\])(:\d{1,5})?"
# In which interrupted workers may save: a checkpoint of big has 2.6 GB.
SHUTDOWN_SECONDS = 120
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    # Before PyTorch 2.12 it is always 30.
    "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": str(SHUTDOWN_SECONDS),
}


# book/5-launch/1-launch.ipynb, cell rendezvous-endpoint
def rendezvous_endpoint(address: str | None, machines: int) -> str:
    """Where machines meet, with a port; an `InputError` if that is no address."""
    if not address:
        give = "give the address of one of them, where all meet"
        raise InputError(f"{machines} machines: {give}")
    if not (parts := re.fullmatch(ADDRESS, address)):
        advice = f"give a machine's name, with a port or not: node1:{PORT}"
        raise InputError(f"address {address!r}: {advice}")
    return address if parts[2] else f"{address}:{PORT}"


# book/5-launch/1-launch.ipynb, cell torchrun-command
def torchrun_command(
    program: list[str],
    workers: int,
    machines: int = 1,
    address: str | None = None,
    restarts: int = 0,
    name: str = "aiayn",
) -> list[str]:
    """The command, the same on each machine, that starts `program` once per worker.

    Parameters
    ----------
    program : list of str
        What each worker runs, such as `["-m", "aiayn", "train", …]`, or a script and
        its arguments.
    workers : int
        On each machine: one for every GPU.
    machines : int
        How many machines take part.
    address : str, optional
        Where several machines meet: one of them, with a port if it is not to be 29500.
    restarts : int
        How often all workers are started again after one has failed.
    name : str
        By which machines that meet at one address are told from others.

    Raises
    ------
    InputError
        If several machines have no address, or a number makes no sense.
    """
    if not (1 <= workers <= 1000 and 1 <= machines <= 10_000 and 0 <= restarts <= 1000):
        numbers = f"workers={workers}, machines={machines}, restarts={restarts}"
        raise InputError(f"{numbers}: 1 to 1,000, 1 to 10,000, 0 to 1,000 are wanted")
    rendezvous = ["--standalone"]
    if machines > 1:
        endpoint = rendezvous_endpoint(address, machines)
        rendezvous = ["--nnodes", str(machines), "--rdzv-backend", "c10d"]
        rendezvous += ["--rdzv-id", name, "--rdzv-endpoint", endpoint]
    counts = ["--nproc-per-node", str(workers), "--max-restarts", str(restarts)]
    return ["torchrun", *rendezvous, *counts, *program]


# book/5-launch/1-launch.ipynb, cell name-of
def rendezvous_id(out: Path) -> str:
    """The name by which the machines of a run meet: another for each run."""
    return f"aiayn-{sha256(os.fsencode(out)).hexdigest()[:12]}"


# book/5-launch/1-launch.ipynb, cell reason
FAILURE = re.compile(r"rank +: (\d+) \(local_rank: \d+\)\s+exitcode +: (-?\d+) ")
REFUSED = re.compile(r"failed \(exitcode: 2\) local_rank")  # before a restart
# The exit code of a worker that misses another one: a restart may help.
EXIT_WORKER_LOST = 75


def first_failure(output: str) -> tuple[int, str] | None:
    """Exit code of the worker that torchrun saw fail first, and a line about it."""
    _, found, root = output.rpartition("Root Cause (first observed failure)")
    root_cause = FAILURE.search(root) if found else None
    if root_cause is None:
        return None
    who, code = f"rank {root_cause[1]}", int(root_cause[2])
    if code >= 0:
        return code, f"{who}: ended with exit code {code}; its output says more"
    names = {each.value: each.name for each in signal.Signals}
    cause = ", perhaps for lack of memory" if code == -signal.SIGKILL else ""
    return code, f"{who}: killed by {names.get(-code, f'signal {-code}')}{cause}"


def failure_reason(lines: Iterable[str]) -> str:
    """Why workers failed: what one said, how one ended, or the end of the output."""
    last = [line.rstrip() for line in lines if line.strip()]
    failure = first_failure("\n".join(last))
    said = [line[7:] for line in last if line.startswith("aiayn: ")]
    said = [line for line in said if not line.startswith("warning: ")]
    # Any other code is not that of who said it.
    if said and (failure is None or failure[0] in (2, EXIT_WORKER_LOST)):
        return said[0]
    if failure:
        return failure[1]
    if any("RendezvousTimeout" in line or "RendezvousConn" in line for line in last):
        asked = "does the same command run on each, and does each reach --address?"
        return f"the machines did not all meet: {asked}"
    return "the workers failed; the end of their output:\n" + "\n".join(last[-40:])


# book/5-launch/1-launch.ipynb, cell launch
def run_torchrun(command: list[str], show: bool = True) -> None:
    """Run a command of `torchrun_command` to its end; `show` its output as it comes.

    If this is interrupted, the workers save what they have, and end.

    Raises
    ------
    InputError
        If the workers fail; it says why.
    """
    # The torchrun of this Python.
    torchrun = [sys.executable, "-m", "torch.distributed.run", *command[1:]]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(
        torchrun, env=ENVIRONMENT | os.environ, start_new_session=True, **pipes
    )
    stdout: Any = process.stdout
    last: deque[str] = deque(maxlen=1000)
    # A progress bar comes as lines that end in a carriage return; newline="" leaves
    # them so.
    with process, TextIOWrapper(stdout, "utf-8", "replace", newline="") as output:
        try:
            for line in output:
                last.append(line)
                if show:
                    print(line, end="", flush=True)
                if REFUSED.search(line):  # or it starts all again, in vain
                    # At once its log, which says so, would swallow the signal.
                    threading.Timer(0.5, process.terminate).start()
        except BaseException:  # Ctrl-C, above all
            process.terminate()
            # The workers write until they have saved, and somebody has to read it.
            deque(output, maxlen=0)
            process.wait()
            raise
    if process.returncode:
        raise InputError(failure_reason(last))


# book/5-launch/1-launch.ipynb, cell paper-run
def paper_run(model: str, pair: str, out: Path) -> list[str]:
    """What `aiayn train` and `aiayn launch` have to be told for a cell of Table 2.

    Raises
    ------
    InputError
        If there is no such cell.
    """
    cells = {(run.model, run.pair): run for run in PAPER_RUNS}
    if (model, pair) not in cells:
        listed = ", ".join(" ".join(cell) for cell in cells)
        raise InputError(f"{model} {pair}: no cell of Table 2; there are {listed}")
    run = cells[model, pair]
    flags = {
        "--data": "wmt14",
        "--pair": pair,
        "--recipe": model,
        "--model.vocabulary-size": run.shape.vocabulary_size,
        # of the paper's ten minutes
        "--checkpoints.steps": round(600 / run.seconds),
        "--batches.micro-batches": 8,
        "--out": out,
    }
    if (model, pair) == ("big", "en-fr"):
        flags["--model.dropout"] = 0.1  # section 6.1
    if pair == "en-fr":
        flags["--batches.max-ratio"] = 1.5
    words = [str(word) for flag in flags.items() for word in flag]
    return [*words, "--checkpoints.sparse", "--compile", "--batches.skip-long"]
