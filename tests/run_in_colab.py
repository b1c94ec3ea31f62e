"""Run a notebook as a stranger would who opens it in Colab: alone in an empty folder,
top to bottom.

Where a chapter has an exercise, the reader meets a cell with a stub (tagged
`exercise`), one with the solution (`solution`) and one that checks (`check`). Whoever
runs the book sees only that the solution passes; here the stub is put back, and the
check has to refuse it.
"""

import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell

# Asked of the kernel when the chapter is through. Processor time, of the kernel and of
# what it started: unlike the time on the wall it does not depend on what else the
# machine is doing.
LAST = """\
import os, aiayn
print(aiayn.__file__, sum(os.times()[:4]))"""


@dataclass(frozen=True)
class Run:
    """What is known of a run when it is over."""

    package: Path  # where it had aiayn from
    cpu: float  # seconds
    wall: float  # seconds
    refused: int  # checks of exercises that refused the stub
    text: str  # everything that was printed


def printed(cells: list[Any]) -> str:
    """What cells wrote to standard output and standard error."""
    outputs = [
        output for cell in cells if cell.cell_type == "code" for output in cell.outputs
    ]
    return "".join(output.text for output in outputs if output.output_type == "stream")


async def refuse_stub(client: NotebookClient, cells: list[Any], number: int) -> None:
    """Put the stub of an exercise back, see its check (cell `number`) refuse it, and
    restore the solution.
    """
    before = {
        tag: k for k in range(number) for tag in cells[k].metadata.get("tags", [])
    }
    assert {"exercise", "solution"} <= before.keys(), (
        f"{cells[number].id}: a check without stub or solution"
    )
    await client.async_execute_cell(cells[before["exercise"]], before["exercise"])
    try:
        await client.async_execute_cell(cells[number], number)
    except CellExecutionError:
        await client.async_execute_cell(cells[before["solution"]], before["solution"])
    else:
        raise AssertionError(f"{cells[number].id}: the check accepts the stub")


async def run_alone(notebook: Path, kernels: Path, environment: dict[str, str]) -> Run:
    """Run a copy of `notebook` with the kernel `alone`, whose specification is in
    `kernels`.
    """
    start, refused = time.perf_counter(), 0
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as sockets,
    ):
        chapter = nbformat.read(shutil.copy(notebook, folder), as_version=4)
        cells = [*chapter.cells, new_code_cell(LAST, id="last")]
        for cell in cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        chapter.cells = cells
        client = NotebookClient(
            chapter,
            km=AsyncKernelManager(
                kernel_name="alone",
                kernel_spec_manager=KernelSpecManager(
                    kernel_dirs=[str(kernels)], ensure_native_kernel=False
                ),
                # Of ports, two that start at the same moment could pick the same one.
                transport="ipc",
                ip=os.path.join(sockets, "kernel"),
            ),
            timeout=600,
            resources={"metadata": {"path": folder}},
        )
        async with client.async_setup_kernel(env=environment, cleanup_kc=True):
            for number, cell in enumerate(cells):
                if "check" in cell.metadata.get("tags", []):
                    # Before the check itself runs, which so finds and leaves what a
                    # reader would have.
                    await refuse_stub(client, cells, number)
                    refused += 1
                await client.async_execute_cell(cell, number)
    package, cpu = printed(cells[-1:]).rsplit(maxsplit=1)
    return Run(
        Path(package),
        float(cpu),
        time.perf_counter() - start,
        refused,
        printed(cells[:-1]),
    )
