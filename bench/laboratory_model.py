"""Train the laboratory's model with several seeds, score it, and write book/runs/laboratory-model.json.

python bench/laboratory_model.py [--seeds 1 2 3]
"""

import argparse
import os
import tempfile
import time

import records

from aiayn.fast_paths import keep_heap
from aiayn.laboratory_model import laboratory_model, scores
from aiayn.translation import Translator

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
    records.write("laboratory-model", {"pairs": PAIRS, "runs": [run(seed) for seed in arguments.seeds]})


if __name__ == "__main__":
    main()
