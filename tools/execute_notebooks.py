"""Run chapters and write them with their outputs.

python tools/execute_notebooks.py NOTEBOOK ... [--to FOLDER] [--jobs N]

It is `jupyter execute` with four things that that cannot do: the output may lie in
another folder while the chapter runs in its own, several run side by side, no timings
are written, and the metadata stay as they were.
"""

import argparse
import asyncio
import copy
import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from kernel_pool import fork_kernels
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config


async def run(notebook: Path, output: Path) -> None:
    """Run `notebook` and write it to `output`, whole or not at all."""
    chapter = nbformat.read(notebook, as_version=4)
    metadata = copy.deepcopy(chapter.metadata)
    # The kernel is spoken to through sockets in a folder of its own: chapters that
    # start at the same moment cannot pick the same port.
    with tempfile.TemporaryDirectory() as sockets:
        manager = {"transport": "ipc", "ip": f"{sockets}/kernel"}
        await NotebookClient(
            chapter,
            kernel_name="python3",
            timeout=None,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": notebook.parent}},
            config=Config({"KernelManager": manager}),
        ).async_execute()
    chapter.metadata = metadata
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f".{output.name}.partial")
    nbformat.write(chapter, partial)
    os.replace(partial, output)


async def run_all(notebooks: list[Path], folder: Path, jobs: int) -> None:
    """Run them, as many at a time as there are jobs, until one fails."""
    free = asyncio.Semaphore(jobs)
    done = 0

    async def run_one(notebook: Path) -> None:
        nonlocal done
        async with free:
            start = time.perf_counter()
            try:
                await run(notebook, folder / notebook)
            except CellExecutionError as error:
                sys.exit(f"{notebook}: a cell failed\n{error}")
        done += 1
        place, seconds = f"{done} of {len(notebooks)}", time.perf_counter() - start
        print(f"{place:>8}  {notebook}: {seconds:.0f} s", flush=True)

    await asyncio.gather(*map(run_one, notebooks))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path)
    parser.add_argument("--to", type=Path, default=Path())
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    fork_kernels()
    asyncio.run(run_all(asked.notebooks, asked.to, asked.jobs))
