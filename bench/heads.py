"""Run chapter 8 on several trainings of the laboratory's model, and write book/runs/heads.json.

python bench/heads.py [--seeds 1 2 3]
"""

import argparse
import json
from pathlib import Path

import nbformat
import records
from nbclient import NotebookClient

from aiayn.fast_paths import keep_heap
from aiayn.laboratory_model import laboratory_model

CHAPTER = Path(__file__).resolve().parent.parent / "book" / "08-attention-visualizations.ipynb"


def run(seed: int) -> dict[str, object]:
    """What the chapter finds for each of its claims if its model was trained with this seed."""
    laboratory_model(seed)
    chapter = nbformat.read(CHAPTER, as_version=4)
    (cell,) = [cell for cell in chapter.cells if "= laboratory_model()" in cell.source]
    cell.source = cell.source.replace("laboratory_model()", f"laboratory_model({seed})")
    chapter.cells.append(nbformat.v4.new_code_cell("print(json.dumps(here))"))
    NotebookClient(  # a claim that stands otherwise on record raises, and that is no reason to stop
        chapter,
        kernel_name="python3",
        timeout=None,
        allow_errors=True,
        resources={"metadata": {"path": CHAPTER.parent}},
    ).execute()
    return {"seed": seed, "claims": json.loads(chapter.cells[-1].outputs[0].text)}


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    keep_heap()
    records.write("heads", {"runs": [run(seed) for seed in arguments.seeds]})


if __name__ == "__main__":
    main()
