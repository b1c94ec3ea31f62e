"""Whether averaging checkpoints and beam search each help, on Multi30k.

python bench/averaging.py [--seeds 1 2 3 ...] [--minutes 9] [--out runs/averaging]

A model for each seed (English to German, the preset `small`, 1,800 steps, a checkpoint
every 60) translates the test set and the validation set, 2,014 sentences: greedily and
with a beam of 4, with the last checkpoint and with the mean of the last five. Nothing
was chosen on either set for this. The effect of the beam is what it adds to the mean,
that of the mean what it adds to the beam. That each helps holds if, over all seeds,
all four gains (BLEU and chrF) lie above 0 by their paired intervals (95%), fails if one
lies below 0, and is undecided else. Five seeds left it open; five more were added, and
whatever the ten say stands. The gate: mean and beam together reach 30 BLEU on
the test set with every seed. Called again after its minutes, a training goes on from
where it was; seeds that the record has are not trained again. The record is
book/runs/averaging-and-beam.json.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import records

from aiayn.data import load_pairs
from aiayn.decoding import SearchConfig
from aiayn.device import keep_heap
from aiayn.metrics.bleu import bootstrap_scores
from aiayn.training import recipe, train_model
from aiayn.training.progress import Progress
from aiayn.training.trained_run import TrainedRun
from aiayn.translation import Translator

STEPS, APART, LAST = 1800, 60, 5
RECORD = records.RUNS / "averaging-and-beam.json"
SPLITS = ("test_2016_flickr", "val")
EFFECTS = {
    "beam, on the mean": ("mean, beam 4", "mean, greedy"),
    "mean, with a beam": ("mean, beam 4", "last, beam 4"),
    "beam, on the last": ("last, beam 4", "last, greedy"),
    "mean, greedy": ("mean, greedy", "last, greedy"),
}


def effects_of(run: Path) -> dict[str, Any]:
    """The scores of the four systems, and what each change adds."""
    sets = [load_pairs("multi30k", "en-de", split) for split in SPLITS]
    german, n = [line for pairs in sets for line in pairs.target], len(sets[0])
    answers: dict[str, list[str]] = {}
    for name, average in (("last", 1), ("mean", LAST)):
        for kind, beam in (("greedy", 1), ("beam 4", 4)):
            translator = Translator.load(run, average, SearchConfig(beam=beam))
            answers[f"{name}, {kind}"] = [
                text for pairs in sets for text in translator(pairs.source)
            ]
    systems = {
        name: {
            "test": bootstrap_scores(texts[:n], german[:n])["BLEU"].value,
            **{
                metric: found.value
                for metric, found in bootstrap_scores(texts, german).items()
            },
        }
        for name, texts in answers.items()
    }
    effects = {
        name: {
            metric: asdict(found)
            for metric, found in bootstrap_scores(
                answers[one], german, baseline=answers[other]
            ).items()
        }
        for name, (one, other) in EFFECTS.items()
    }
    return {"sentences": len(german), "systems": systems, "effects": effects}


def recorded() -> list[dict[str, Any]]:
    """What the record has, a part for each seed."""
    if not RECORD.exists():
        return []
    runs: list[dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))["runs"]
    return runs


def run_of(seed: int, out: Path, minutes: float | None) -> dict[str, Any] | None:
    """Train with a seed and compare the four systems; None if time is up before."""
    saved = {"steps": APART, "average": LAST, "keep": LAST, "sparse": True}
    config = recipe(
        "small",
        checkpoints={**saved, "minutes": 10.0},
        steps=STEPS,
        seed=seed,
        minutes=minutes,
    )
    resume = out.exists()
    train_model(config, "multi30k", "en-de", out, resume=resume, progress=Progress())
    run = TrainedRun.read(out, 1)
    if run.description.step != STEPS:
        return None
    return {"seed": seed, "minutes": run.description.minutes, **effects_of(out)}


def main() -> None:
    """Train seed after seed, so many minutes each; record those that are through."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(1, 11)))
    parser.add_argument("--out", type=Path, default=Path("runs/averaging"))
    parser.add_argument("--minutes", type=float, help="of training, in this call")
    arguments = parser.parse_args()
    keep_heap()
    for seed in arguments.seeds:
        if any(run["seed"] == seed for run in recorded()):
            continue
        found = run_of(seed, arguments.out / f"seed-{seed}", arguments.minutes)
        if found is not None:
            runs = sorted([*recorded(), found], key=lambda run: int(run["seed"]))
            about = {"steps": STEPS, "checkpoints": LAST}
            records.write(RECORD.stem, about | {"runs": runs})


if __name__ == "__main__":
    main()
