"""Train on Multi30k as Wu and others (2021) did, score the test set, and write book/runs/multi30k-PAIR.json.

python bench/multi30k.py [--pair en-de] [--out runs/multi30k]

The recipe is the preset `multi30k`; the search is theirs, a beam of 5 whose scores are divided by length. It
takes hours on two cores; called again after an interruption, it goes on from the last checkpoint.
"""

import argparse
import json
from pathlib import Path

import records

from aiayn.fast_paths import keep_heap
from aiayn.launch import score
from aiayn.training import recipe, train
from aiayn.translation import SearchConfig

SPLIT = "test_2016_flickr"


def curve(metrics: Path) -> list[tuple[int, float]]:
    """Steps, and the perplexity on the validation set that they had led to."""
    rows = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    return [(row["step"], row["validation_perplexity"]) for row in rows if "validation_perplexity" in row]


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pair", choices=["en-de", "en-fr"], default="en-de")
    parser.add_argument("--out", type=Path, default=Path("runs/multi30k"), help="-PAIR is added to it")
    arguments = parser.parse_args()
    keep_heap()
    run = arguments.out.with_name(f"{arguments.out.name}-{arguments.pair}")
    train(recipe("multi30k"), "multi30k", arguments.pair, run, resume=run.exists())
    points = curve(run / "metrics.jsonl")
    record = score(run, SearchConfig(beam=5, alpha=1.0), tests=(None, None, SPLIT), forms=True)
    (found,) = record["bleu"].values()
    findings = {
        "equals": f"aiayn train --data multi30k --pair {arguments.pair} --config multi30k --out RUN && "
        f"aiayn evaluate RUN --split {SPLIT} --beam 5 --alpha 1 --forms",
        "minutes": round(record["minutes"], 1),
        "steps": max(step for step, _ in points),
        "checkpoints": record["checkpoints"],
        "bleu": {form: round(each["value"], 2) for form, each in found.items()},
        "signatures": {form: each["signature"] for form, each in found.items()},
        "curve": points,
    }
    records.write(f"multi30k-{arguments.pair}", findings)


if __name__ == "__main__":
    main()
