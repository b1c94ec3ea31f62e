"""Play chapter 1's game of recall with five seeds, and write book/runs/recall.json.

python bench/recall.py        # a few minutes on one thread

The game, the players and their training are the chapter's own cells. Each has the four
facts of the chapter; the RNN without attention also plays with a single one, to tell
the distance of a fact from their number. What is done stays in runs/recall until the
record is written: called again after an interruption, it goes on.
"""

import json
from itertools import product
from typing import Any

import nbformat
import records
import torch
import torch.nn.functional as F

from aiayn.data.io import write_atomically
from aiayn.model import Transformer, TransformerConfig
from aiayn.model.baselines.recurrent import RecurrentConfig, RecurrentModel
from aiayn.training.optimizer import make_optimizer, set_rate

SEEDS = [1, 2, 3, 4, 5]
# Each with so many facts.
GAMES = [("Transformer", 4), ("RNN with attention", 4), ("RNN", 4), ("RNN", 1)]
CHAPTER = records.RUNS.parent / "1-paper/1-introduction.ipynb"
WORK = records.RUNS.parent.parent / "runs" / "recall"
NEEDED: list[Any] = [
    torch,
    Transformer,
    TransformerConfig,
    RecurrentConfig,
    RecurrentModel,
]
NEEDED += [make_optimizer, set_rate]


def chapter() -> dict[str, Any]:
    """The names that the chapter's cells define."""
    found: dict[str, Any] = {each.__name__: each for each in NEEDED} | {"F": F}
    cells = {
        cell.id: cell.source for cell in nbformat.read(CHAPTER, as_version=4).cells
    }
    for name in ("game", "learn", "players"):
        exec(compile(cells[name], f"cell {name}", "exec"), found)
    return found


def main() -> None:
    """Play what has not been played, and write the record."""
    torch.set_num_threads(1)
    WORK.mkdir(parents=True, exist_ok=True)
    play, runs = chapter()["play"], []
    for (name, load), seed in product(GAMES, SEEDS):
        path = WORK / f"{name.replace(' ', '-')}-{load}-{seed}.json"
        if not path.exists():
            shares = {
                str(k): round(share, 4) for k, share in play(name, load, seed).items()
            }
            found = {"model": name, "load": load, "seed": seed, "right": shares}
            write_atomically(path, json.dumps(found).encode())
        runs.append(json.loads(path.read_text(encoding="utf-8")))
    records.write("recall", {"runs": runs})


if __name__ == "__main__":
    main()
