"""Race recurrent, convolutional and attentive models of equal size, and write book/runs/comparison.json.

python bench/comparison.py --record [--seeds 1 2 3]               # the better part of an hour on quiet cores
python bench/comparison.py --models rnn --seeds 1 --steps 200     # a trial: printed, not written

Every model is trained on the laboratory by its own recipe. Its checkpoints, each with the minutes that led to
it, translate the same sentences; what it is in the end is the mean of its last checkpoints. What is done
stays in runs/comparison until the record is whole: called again after an interruption, it goes on.
"""

import argparse
import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import records

from aiayn.data.files import write_atomically
from aiayn.fast_paths import keep_heap
from aiayn.laboratory import Pair, sample
from aiayn.laboratory_model import scores
from aiayn.table3.rows import parameters
from aiayn.training import recipe, train_model
from aiayn.training.checkpoint import list_checkpoints
from aiayn.training.metrics import Metrics
from aiayn.training.progress import Progress
from aiayn.training.trained_run import TrainedRun
from aiayn.translation import SearchConfig, Translator, bleu

MODELS = ["rnn", "rnn-additive", "conv", "laboratory"]
EVERY, GOAL = 200, 90  # steps between two checkpoints; BLEU to be reached
CURVE, FINAL = 200, 500  # sentences translated at each checkpoint, and of each split at the end
LENGTHS = [(1, 6), (7, 9), (10, 12), (13, 15), (16, 18), (19, 21), (22, 24)]  # 18 is the longest in training
WORK = records.RUNS.parent.parent / "runs" / "comparison"


def quality(translator: Translator, pairs: list[Pair]) -> float:
    """BLEU on these pairs."""
    return round(bleu(translator([pair.source for pair in pairs]), [pair.target for pair in pairs])[0], 2)


def curve(folder: Path) -> list[dict[str, float]]:
    """What each checkpoint was worth, and the minutes that led to it."""
    test, points, perplexities = sample(CURVE, split="test"), [], Metrics(folder).validations()
    for checkpoint in list_checkpoints(folder):
        run = TrainedRun.read(checkpoint, average=1)
        step, minutes = run.description.step or 0, run.description.minutes or 0.0
        greedy = Translator(*run.load(), SearchConfig(beam=1))
        points.append(
            {
                "step": step,
                "minutes": round(minutes, 3),
                "perplexity": round(perplexities[step], 4),
                "bleu": quality(greedy, test),
            }
        )
    return points


def by_length(translator: Translator) -> dict[str, float]:
    """BLEU by the tokens of the source, from the splits test and long together."""
    pairs, found = sample(FINAL, split="test") + sample(FINAL, split="long"), {}
    for low, high in LENGTHS:
        if chosen := [pair for pair in pairs if low <= len(pair.source_tokens) <= high]:
            found[f"{low}–{high}"] = quality(translator, chosen)
    return found


def run(name: str, seed: int, steps: int | None, folder: Path) -> dict[str, Any]:
    """Train in `folder`, from where it was interrupted if it was, then measure."""
    done = folder / "found.json"
    if done.exists():
        found: dict[str, Any] = json.loads(done.read_text(encoding="utf-8"))
        return found
    config = recipe(name, seed=seed, checkpoint_steps=EVERY, keep=1000)
    config = replace(config, steps=steps or config.steps)
    train_model(config, "laboratory", "en-de", folder, resume=True, progress=Progress())
    points, translator = curve(folder), Translator.load(folder)
    found = {"model": name, "seed": seed, "parameters": parameters(config.model), "steps": config.steps}
    found |= {"minutes": points[-1]["minutes"]}
    found |= {name: round(score, 4) for name, score in scores(translator, FINAL).items()}
    found |= {"by_length": by_length(translator), "curve": points}
    write_atomically(done, json.dumps(found).encode())
    return found


def main() -> None:
    """Write the record, or print what a trial found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write book/runs/comparison.json")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, help="so few, for a trial")
    arguments = parser.parse_args()
    if arguments.record and (arguments.steps is not None or arguments.models != MODELS):
        parser.error("a record is of all models and all steps: leave --models and --steps away")
    keep_heap()
    jobs = [(name, seed) for seed in arguments.seeds for name in arguments.models]
    with tempfile.TemporaryDirectory() as trial:
        work = WORK if arguments.record else Path(trial)
        runs = [run(name, seed, arguments.steps, work / f"{name}-{seed}") for name, seed in jobs]
    runs.sort(key=lambda run: MODELS.index(run["model"]))
    if arguments.record:
        records.write("comparison", {"goal": GOAL, "sentences": CURVE, "runs": runs})
        shutil.rmtree(WORK)
    else:
        print(json.dumps(runs, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
