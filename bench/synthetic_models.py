"""Train `synthetic-en-de` with several seeds; book/runs/synthetic-models.json.

python bench/synthetic_models.py [--seeds 1 2 3]

A run has BLEU on test, novel and long, chrF beside it (`test_chrf`), and the shares of
right pronouns; `spread` has each one's mean over the seeds and its standard deviation.
"""

import argparse
import os
import tempfile
import time
from statistics import mean, stdev

import records

from aiayn.device import keep_heap
from aiayn.metrics.bleu import bootstrap_scores
from aiayn.shipped import cached_model, scores
from aiayn.synthetic import sample
from aiayn.training import recipe
from aiayn.translation import Translator

PAIRS = 1000


def chrf(translator: Translator, split: str) -> float:
    """Of as many pairs as BLEU is."""
    pairs = sample(PAIRS, split=split)
    found = bootstrap_scores(
        translator([pair.source for pair in pairs]), [pair.target for pair in pairs]
    )
    return found["chrF"].value


def run(seed: int) -> dict[str, float]:
    """Train with an empty cache, the corpus drawn too; then translate."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["AIAYN_CACHE"] = cache
        began = time.monotonic()
        translator = Translator(*cached_model(recipe("synthetic", seed=seed), "en-de"))
        minutes = (time.monotonic() - began) / 60
    found = scores(translator, PAIRS)
    found |= {
        f"{split}_chrf": chrf(translator, split) for split in ("test", "novel", "long")
    }
    return {"seed": seed, "minutes": round(minutes, 2)} | {
        name: round(each, 4) for name, each in found.items()
    }


def spread(runs: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Of each measure the mean over the seeds, and the standard deviation."""
    names = [name for name in runs[0] if name not in ("seed", "minutes")]
    values = {name: [run[name] for run in runs] for name in names}
    return {
        name: {"mean": round(mean(v), 4), "sd": round(stdev(v), 4)}
        for name, v in values.items()
    }


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    keep_heap()
    runs = [run(seed) for seed in arguments.seeds]
    over_seeds = {"spread": spread(runs)} if len(runs) > 1 else {}
    records.write("synthetic-models", {"pairs": PAIRS, "runs": runs} | over_seeds)


if __name__ == "__main__":
    main()
