"""Give chapter 2's single head more steps, and write book/runs/copier.json.

python bench/copier.py        # five minutes on one thread

One head copies four symbols, with the chapter's own cells, but for forty times as many
steps at a lower rate.
"""

from typing import Any

import nbformat
import records
import torch
import torch.nn.functional as F
from torch import nn

from aiayn.model import MultiHeadAttention

SEEDS, STEPS, RATE = [0, 1], 16_000, 3e-3
CHAPTER = records.RUNS.parent / "1-paper/2-background.ipynb"


def chapter() -> dict[str, Any]:
    """The names that the chapter's cells define."""
    found: dict[str, Any] = {"torch": torch, "nn": nn, "F": F}
    found["MultiHeadAttention"] = MultiHeadAttention
    cells = {
        cell.id: cell.source for cell in nbformat.read(CHAPTER, as_version=4).cells
    }
    for name in ("copier", "copied"):
        exec(compile(cells[name], f"cell {name}", "exec"), found)
    return found


def main() -> None:
    """Train, and write the record."""
    torch.set_num_threads(1)
    copied, runs = chapter()["copied"], []
    for seed in SEEDS:
        right = copied(1, 4, seed, STEPS, RATE)[0]
        runs.append({"heads": 1, "copies": 4, "seed": seed, "right": round(right, 4)})
    records.write("copier", {"steps": STEPS, "rate": RATE, "runs": runs})


if __name__ == "__main__":
    main()
