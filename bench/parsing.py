"""Train parsers of equal size, attentive and recurrent; book/runs/parsing.json.

python bench/parsing.py --record [--seeds 1 2 3]  # a quarter of an hour on two cores
python bench/parsing.py --seeds 1 --steps 100     # a trial: printed, not written

All learn by the recipe `parser` from synthetic trees, the same sentences in the
same order, as many steps. A process has one thread, and there is one for each core.
What is done stays in runs/parsing until the record is whole: called again after an
interruption, it goes on.
"""

import argparse
import json
import multiprocessing
import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import records
import torch

from aiayn.ablations.rows import parameters
from aiayn.data.io import write_atomically
from aiayn.data.tokenized import available_cpus
from aiayn.data.trees import read_tree
from aiayn.device import keep_heap
from aiayn.metrics.evalb import bracket_scores, strict_bracket_scores
from aiayn.parsing import Parser
from aiayn.synthetic import sample
from aiayn.training import TrainingConfig, recipe, train_model
from aiayn.training.progress import Progress

MODELS = ["parser", "rnn-additive"]
SPLITS = {"test": 500, "novel": 200, "long": 200}  # sentences of each that are parsed
WORK = records.RUNS.parent.parent / "runs" / "parsing"


def configuration(name: str, seed: int, steps: int | None) -> TrainingConfig:
    """The recipe of the parser, with the model of that name."""
    parser = recipe("parser", seed=seed)
    shape = replace(recipe(name).model, vocabulary_size=parser.model.vocabulary_size)
    return replace(parser, model=shape, steps=steps or parser.steps)


def measured(
    folder: Path, constrained: bool, trial: bool
) -> dict[str, dict[str, float]]:
    """Scores on each split; shares are per cent."""
    parser, found = Parser.load(folder, constrained=constrained), {}
    for split, sentences in SPLITS.items():
        gold = [
            read_tree(pair.tree)
            for pair in sample(10 if trial else sentences, split=split)
        ]
        parses = parser([tree.words() for tree in gold])
        scores, trees = (
            bracket_scores(gold, parses),
            sum(parse is not None for parse in parses),
        )
        found[split] = {
            "f1": round(scores.f1, 3),
            "skipped": scores.skipped,
            "strict_f1": round(strict_bracket_scores(gold, parses).f1, 3),
            "complete_match": round(scores.complete_match, 3),
            "trees": round(100 * trees / len(parses), 3),
        }
    return found


def run(name: str, seed: int, steps: int | None, folder: Path) -> dict[str, Any]:
    """Train in `folder`, from where it was interrupted if it was, then parse."""
    done = folder / "found.json"
    if done.exists():
        found: dict[str, Any] = json.loads(done.read_text(encoding="utf-8"))
        return found
    torch.set_num_threads(1)
    keep_heap()
    config, trial = configuration(name, seed, steps), steps is not None
    train_model(
        config, "synthetic", "en-trees", folder, resume=True, progress=Progress()
    )
    perplexities = records.validations(folder)
    found = {
        "model": name,
        "seed": seed,
        "parameters": parameters(config.model),
        "steps": config.steps,
    }
    found |= {"perplexity": round(perplexities[max(perplexities)], 4)}
    found |= {
        "constrained": measured(folder, True, trial),
        "free": measured(folder, False, trial),
    }
    write_atomically(done, json.dumps(found).encode())
    return found


def main() -> None:
    """Write the record, or print what a trial found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--record", action="store_true", help="write book/runs/parsing.json"
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, help="so few, for a trial")
    arguments = parser.parse_args()
    if arguments.record and (arguments.steps is not None or arguments.models != MODELS):
        parser.error(
            "a record is of all models and all steps: leave --models and --steps away"
        )
    jobs = [
        (name, seed, arguments.steps)
        for seed in arguments.seeds
        for name in arguments.models
    ]
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as trial,
        ProcessPoolExecutor(available_cpus(), context) as pool,
    ):
        work = WORK if arguments.record else Path(trial)
        folders = [work / f"{name}-{seed}" for name, seed, _ in jobs]
        runs = list(pool.map(run, *zip(*jobs, strict=True), folders))
    runs.sort(key=lambda run: MODELS.index(run["model"]))
    if arguments.record:
        records.write("parsing", {"sentences": SPLITS, "runs": runs})
        shutil.rmtree(WORK)
    else:
        print(json.dumps(runs, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
