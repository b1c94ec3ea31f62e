"""Train on Multi30k as Wu and others (2021) did; book/runs/multi30k-PAIR.json.

python bench/multi30k.py [--pair en-de] [--out runs/multi30k]

The recipe is the preset `multi30k`, the beam is theirs, 5. They divide scores by the
length; our penalty has another form, so that its alpha is chosen on the validation set.
It takes hours on two cores; called again after an interruption, it goes on from the
last checkpoint.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import records

from aiayn.commands import score
from aiayn.fast_paths import keep_heap
from aiayn.training import recipe, train_model
from aiayn.training.progress import Progress
from aiayn.translation import SearchConfig

SPLIT, FORM = "test_2016_flickr", "tokenised-lowercased"
ALPHAS = (0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8)


def curve(metrics: Path) -> list[tuple[int, float]]:
    """Steps, and the perplexity on the validation set that they had led to."""
    rows = [
        json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()
    ]
    return [
        (row["step"], row["validation_perplexity"])
        for row in rows
        if "validation_perplexity" in row
    ]


def bleu_of(
    run: Path, alpha: float, split: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `aiayn evaluate` finds on a part of the corpus, and BLEU by form."""
    record = score(
        run, SearchConfig(beam=5, alpha=alpha), tests=(None, None, split), forms=True
    )
    (found,) = record["bleu"].values()
    return record, found


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pair", choices=["en-de", "en-fr"], default="en-de")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/multi30k"), help="-PAIR is added to it"
    )
    arguments = parser.parse_args()
    keep_heap()
    run = arguments.out.with_name(f"{arguments.out.name}-{arguments.pair}")
    train_model(
        recipe("multi30k"),
        "multi30k",
        arguments.pair,
        run,
        resume=run.exists(),
        progress=Progress(),
    )
    points = curve(run / "metrics.jsonl")
    valid = {alpha: bleu_of(run, alpha, "val")[1][FORM]["value"] for alpha in ALPHAS}
    alpha = max(valid, key=valid.__getitem__)
    record, found = bleu_of(run, alpha, SPLIT)
    findings = {
        "equals": (
            f"aiayn train --data multi30k --pair {arguments.pair} --config multi30k"
            " --out RUN"
            f" && aiayn evaluate RUN --split {SPLIT} --beam 5 --alpha {alpha} --forms"
        ),
        "alpha": alpha,
        "bleu_on_val_by_alpha": {
            str(each): round(value, 2) for each, value in valid.items()
        },
        "minutes": round(record["minutes"], 1),
        "steps": max(step for step, _ in points),
        "checkpoints": record["checkpoints"],
        "bleu": {form: round(each["value"], 2) for form, each in found.items()},
        "measured": {
            name: {key: round(each[key], 2) for key in ("value", "low", "high")}
            for name, each in record["measured"].items()
        },
        "signatures": (
            {form: each["signature"] for form, each in found.items()}
            | {"chrF": record["measured"]["chrF"]["signature"]}
        ),
        "curve": points,
    }
    records.write(f"multi30k-{arguments.pair}", findings)


if __name__ == "__main__":
    main()
