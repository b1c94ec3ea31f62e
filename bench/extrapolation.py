"""Train chapter 3.5's small models on short rows, test them on rows thrice as long.

python bench/extrapolation.py [--lengths 16 32] [--seeds 1 2 3 4 5]

The models and their training are the chapter's own cells. book/runs/extrapolation.json
is written after each run; those that it has are not made again.
"""

import argparse
import json
from pathlib import Path

import nbformat
import records

import aiayn.model.positions as positions

CHAPTER = (
    Path(__file__).resolve().parent.parent
    / "book"
    / "1-paper/3-5-positional-encoding.ipynb"
)
CELLS = ["word-model", "train", "two-back", "long-models"]
RECORD = records.RUNS / "extrapolation.json"


def chapter() -> dict[str, object]:
    """What the chapter's cells define."""
    cells = {
        cell.id: cell.source for cell in nbformat.read(CHAPTER, as_version=4).cells
    }
    names: dict[str, object] = dict(vars(positions))
    for name in CELLS:
        exec(cells[name], names)
    return names


def main() -> None:
    """Make the runs that are missing, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[16, 32])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    arguments = parser.parse_args()
    names = chapter()
    runs = (
        json.loads(RECORD.read_text(encoding="utf-8"))["runs"]
        if RECORD.exists()
        else []
    )
    done = {(run["length"], run["seed"], run["positions"]) for run in runs}
    for length in arguments.lengths:
        for seed in arguments.seeds:
            for kind in names["KINDS"]:
                if (length, seed, kind) in done:
                    continue
                curve = [
                    round(right, 4)
                    for right in names["right_by_position"](kind, seed, length)
                ]
                runs.append(
                    {"length": length, "seed": seed, "positions": kind, "right": curve}
                )
                records.write("extrapolation", {"runs": runs})


if __name__ == "__main__":
    main()
