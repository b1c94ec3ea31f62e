"""Train on Tatoeba with several seeds, and score; book/runs/NAME-PAIR.json.

python bench/tatoeba.py [--pair en-de] [--recipe tatoeba] [--seeds 3]
                        [--out runs/tatoeba]
python bench/tatoeba.py --pace [--recipe tatoeba]

The alpha of the paper's length penalty is the one with the best sacreBLEU on `val`, in
the mean of the seeds; the test set is read after that, once. Called again after an
interruption, it goes on from the last checkpoint; seeds that are through stand in
bench/partial/, and are neither trained nor, with the same alpha, scored again.

`--pace` measures the median time of a step, which wants two quiet cores. How long a
recipe takes is said by its steps times that, so that other work beside a training
changes nothing.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import records
import sacrebleu
from multi30k import ALPHAS, PARTIAL, best_alpha, interval, keep, kept
from torch.optim.optimizer import register_optimizer_step_post_hook

from aiayn.data import load_pairs
from aiayn.data.io import write_atomically
from aiayn.decoding import SearchConfig
from aiayn.device import find_device, keep_heap
from aiayn.training import TrainingConfig, recipe, train_model
from aiayn.training.progress import Progress
from aiayn.training.trained_run import TrainedRun
from aiayn.translation import Translator

PACE_STEPS, FIRST = 120, 20  # steps that are timed; the first ones fill caches
# What OPUS-MT reports for its largest model of this pair on this test set.
OPUS_MT = {"en-de": 43.7}


def translator(run: Path, alpha: float) -> Translator:
    """A trained model that searches with the paper's beam."""
    model, vocabulary = TrainedRun.read(run).load(find_device())
    return Translator(model, vocabulary, SearchConfig(alpha=alpha))


def bleu_on_val(run: Path, pair: str) -> dict[str, float]:
    """SacreBLEU on `val` with each alpha."""
    valid, scores = load_pairs("tatoeba", pair, "val"), dict[str, float]()
    for alpha in ALPHAS:
        ours = list(translator(run, alpha)(valid.source))
        score = sacrebleu.corpus_bleu(ours, [list(valid.target)]).score
        scores[str(alpha)] = round(score, 2)
    return scores


def scores(run: Path, pair: str, alpha: float) -> dict[str, Any]:
    """SacreBLEU and chrF on the test set, with intervals and signatures."""
    test = load_pairs("tatoeba", pair, "test")
    ours, references = list(translator(run, alpha)(test.source)), list(test.target)
    metrics = {"BLEU": sacrebleu.metrics.BLEU(), "chrF": sacrebleu.metrics.CHRF()}
    return {name: interval(each, ours, references) for name, each in metrics.items()}


def train_seed(config: TrainingConfig, pair: str, run: Path) -> dict[str, Any]:
    """Train one seed, which may go on; what is recorded of it, without the test set."""
    resume, progress = run.exists(), Progress()
    train_model(config, "tatoeba", pair, run, resume=resume, progress=progress)
    perplexities = records.validations(run)
    return records.START | {
        "machine": records.machine(),
        "steps": max(perplexities),
        "curve": list(perplexities.items()),
        "bleu_on_val_by_alpha": bleu_on_val(run, pair),
    }


def pace(config: TrainingConfig, pair: str, data: str = "tatoeba") -> dict[str, Any]:
    """The median time of a step, and the minutes that the recipe's steps take so."""
    times = list[float]()
    hook = register_optimizer_step_post_hook(lambda *_: times.append(perf_counter()))
    few = replace(config, steps=PACE_STEPS)
    with TemporaryDirectory() as folder:
        train_model(few, data, pair, Path(folder, "run"), progress=Progress())
    hook.remove()
    later = times[FIRST:]
    seconds = median(b - a for a, b in pairwise(later))
    return {
        "machine": records.machine(),
        "seconds_a_step": round(seconds, 4),
        "minutes": round(config.steps * seconds / 60, 1),
    }


def sizes(pair: str) -> dict[str, int]:
    """Pairs of each split."""
    splits = ("train", "val", "test")
    return {split: len(load_pairs("tatoeba", pair, split)) for split in splits}


def record(
    seeds: dict[str, dict[str, Any]],
    test: Callable[[str, float], dict[str, Any]],
    partial: Path,
) -> dict[str, Any]:
    """Score the test set with the alpha that `val` chose; the means of the seeds."""
    by_alpha = {seed: each["bleu_on_val_by_alpha"] for seed, each in seeds.items()}
    alpha = best_alpha(by_alpha.values())
    for seed, each in seeds.items():
        if each.get("alpha") != alpha:
            each |= {"alpha": alpha} | test(seed, alpha)
            keep(partial, seeds)
    means = {
        name: round(fmean(each[name]["value"] for each in seeds.values()), 2)
        for name in ("BLEU", "chrF")
    }
    best = max(seeds, key=lambda seed: by_alpha[seed][str(alpha)])
    return {"mean": means, "alpha": alpha, "best_on_val": int(best), "seeds": seeds}


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pair", choices=["en-de", "en-fr"], default="en-de")
    parser.add_argument("--recipe", default="tatoeba")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/tatoeba"))
    parser.add_argument("--pace", action="store_true")
    arguments = parser.parse_args()
    keep_heap()
    pair, config = arguments.pair, recipe(arguments.recipe)
    name = f"{arguments.recipe}-{pair}"
    paced, partial = PARTIAL / f"{name}-pace.json", PARTIAL / f"{name}.json"
    if arguments.pace:
        text = json.dumps(pace(config, pair), indent=1)
        write_atomically(paced, f"{text}\n".encode())
        print(text)
        return
    runs = {
        str(seed): arguments.out.with_name(f"{arguments.out.name}-{name}-{seed}")
        for seed in range(1, arguments.seeds + 1)
    }
    seeds = kept(partial)
    for seed, run in runs.items():
        if seed not in seeds:
            seeds[seed] = train_seed(replace(config, seed=int(seed)), pair, run)
            keep(partial, seeds)
    if not paced.exists():
        parser.exit(1, "the time of a step is still to be measured: --pace\n")
    chosen = {seed: seeds[seed] for seed in runs}
    result = record(chosen, lambda k, alpha: scores(runs[k], pair, alpha), partial)
    facts = {"pairs": sizes(pair), "pace": json.loads(paced.read_text("utf-8"))}
    records.write(name, facts | {"opus_mt": OPUS_MT.get(pair)} | result)


if __name__ == "__main__":
    main()
