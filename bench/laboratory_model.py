"""Train the laboratory's model with several seeds, score it, and write book/runs/laboratory-model.json.

python bench/laboratory_model.py [--seeds 1 2 3]
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from aiayn.data import write_atomically
from aiayn.fast_paths import keep_heap
from aiayn.laboratory_model import laboratory_model, scores
from aiayn.translation import Translator

RECORD = Path(__file__).resolve().parent.parent / "book" / "runs" / "laboratory-model.json"
PAIRS = 1000


def run(seed: int) -> dict[str, float]:
    """Train with an empty cache, the corpus drawn too; then translate."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["AIAYN_CACHE"] = cache
        began = time.monotonic()
        translator = Translator(*laboratory_model(seed))
        minutes = (time.monotonic() - began) / 60
    found = {name: round(score, 4) for name, score in scores(translator, PAIRS).items()}
    return {"seed": seed, "minutes": round(minutes, 2), **found}


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    keep_heap()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    record = {
        "command": "python " + " ".join(sys.argv),
        "machine": f"{platform.machine()}, {torch.get_num_threads()} threads",
        "commit": commit.stdout.strip(),
        "date": datetime.date.today().isoformat(),
        "torch": torch.__version__,
        "pairs": PAIRS,
        "runs": [run(seed) for seed in arguments.seeds],
    }
    text = json.dumps(record, indent=1)
    write_atomically(RECORD, (text + "\n").encode())
    print(text)


if __name__ == "__main__":
    main()
