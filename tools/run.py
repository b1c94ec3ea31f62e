"""Run a chapter and write it with its outputs: python tools/run.py NOTEBOOK OUTPUT.

The two may be the same. ALL in the environment may list all chapters, for the number of
this one. It is `jupyter execute` with three things that that cannot do: the output may
lie elsewhere while the chapter runs in its own folder, no timings are written, and the
metadata stay as they were.
"""

import copy
import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config


def run(notebook: Path, output: Path) -> None:
    """Run `notebook` and write it to `output`, whole or not at all."""
    chapter = nbformat.read(notebook, as_version=4)
    metadata = copy.deepcopy(chapter.metadata)
    # The kernel is spoken to through sockets in a folder of its own: chapters that
    # start at the same moment cannot pick the same port.
    with tempfile.TemporaryDirectory() as sockets:
        NotebookClient(
            chapter,
            kernel_name="python3",
            timeout=None,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": notebook.parent}},
            config=Config(
                {"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}}
            ),
        ).execute()
    chapter.metadata = metadata
    partial = output.with_name(f".{output.name}.partial")
    nbformat.write(chapter, partial)
    os.replace(partial, output)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    chapters = os.environ.get("ALL", str(source)).split()
    place = f"{chapters.index(str(source)) + 1} of {len(chapters)}"
    start = time.perf_counter()
    try:
        run(source, target)
    except CellExecutionError as error:
        sys.exit(f"{source}: a cell failed\n{error}")
    print(f"{place:>8}  {source}: {time.perf_counter() - start:.0f} s", flush=True)
