"""Whether averaging checkpoints and beam search each help, on Multi30k.

python bench/averaging.py [--minutes 9] [--out runs/averaging]

One model (English to German, the preset `small`, 1,800 steps, a checkpoint every 60)
translates the test set and the validation set, 2,014 sentences: greedily and with a
beam of 4, with the last checkpoint and with the mean of the last five. Nothing was
chosen on either set for this. It was written down before the training: the effect of
the beam is what it adds to the mean, that of the mean what it adds to the beam. That
each helps holds if both paired bootstrap intervals (95%, BLEU) lie above 0, fails if
one lies below 0, and is undecided else. The gate: mean and beam together reach 30 BLEU
on the test set. Called again after its minutes, the training goes on from where it was;
the record is book/runs/averaging-and-beam.json.
"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import records

from aiayn.data import load_pairs
from aiayn.fast_paths import keep_heap
from aiayn.training import recipe, train_model
from aiayn.training.progress import Progress
from aiayn.training.trained_run import TrainedRun
from aiayn.translation import SearchConfig, Translator
from aiayn.translation.bleu_scores import measure

STEPS, APART, LAST = 1800, 60, 5
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
            "test": measure(texts[:n], german[:n])["BLEU"].value,
            **{metric: found.value for metric, found in measure(texts, german).items()},
        }
        for name, texts in answers.items()
    }
    effects = {
        name: {
            metric: asdict(found)
            for metric, found in measure(
                answers[one], german, against=answers[other]
            ).items()
        }
        for name, (one, other) in EFFECTS.items()
    }
    return {"sentences": len(german), "systems": systems, "effects": effects}


def main() -> None:
    """Train on, for so many minutes; once trained, write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/averaging"))
    parser.add_argument("--minutes", type=float, help="of training, in this call")
    arguments = parser.parse_args()
    keep_heap()
    saved = {"steps": APART, "average": LAST, "keep": LAST, "sparse": True}
    config = recipe(
        "small",
        checkpoints={**saved, "minutes": 10.0},
        steps=STEPS,
        minutes=arguments.minutes,
    )
    train_model(
        config,
        "multi30k",
        "en-de",
        arguments.out,
        resume=arguments.out.exists(),
        progress=Progress(),
    )
    run = TrainedRun.read(arguments.out, 1)
    if run.description.step != STEPS:
        return
    found = {"steps": STEPS, "minutes": run.description.minutes, "checkpoints": LAST}
    records.write("averaging-and-beam", found | effects_of(arguments.out))


if __name__ == "__main__":
    main()
