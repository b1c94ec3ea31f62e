"""Race models of three kinds and of equal size, and write book/runs/comparison.json.

python bench/comparison.py                  # about an hour and a half on one thread
python bench/comparison.py --minutes 9      # a part of it; the next call goes on

The models are recurrent, convolutional and attentive. Each gets the same effort of
tuning: a grid of peak rates and warm-ups, judged on `val`. Its best setting is trained
with five seeds. As training goes on, the mean of the last snapshots of the weights is
validated; what counts is how many steps lead to a goal. Seconds a step are measured
apart, the models taking turns on the same batches, in processor time, so that what else
the machine does has no part in it.

Every piece of the work is a file in runs/comparison, written when it is done. Several
of these programs may work at a time: each takes what no other has. The record says what
is done so far, and whether it is all.
"""

import argparse
import json
import math
import random
import time
from collections import deque
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import records
import torch
from filelock import FileLock, Timeout

from aiayn.ablations.rows import parameters
from aiayn.base_config import changed
from aiayn.data import Pairs, encode_pairs
from aiayn.data.batching import Batch, Batches, lengths_of
from aiayn.data.io import write_atomically
from aiayn.decoding import SearchConfig
from aiayn.device import keep_heap
from aiayn.metrics.bleu import corpus_bleu
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.model.registry import build
from aiayn.synthetic import Pair, sample
from aiayn.training import TrainingConfig, recipe
from aiayn.training.distributed import Workers
from aiayn.training.loader import training_batches, validation_batches
from aiayn.training.optimizer import make_optimizer
from aiayn.training.preprocess import Corpus, prepare_corpus
from aiayn.training.step import NotFinite, Objective, training_step, validation_loss
from aiayn.translation import Translator

MODELS = ["rnn-additive", "conv", "synthetic"]
# At the peak, and the steps until it is reached.
RATES, WARMUPS = [0.002, 0.005, 0.0125, 0.03], [100, 400]
TRIAL, STEPS = 600, 2400  # steps of a run of the grid, and of the race
SEEDS, GOALS = [1, 2, 3, 4, 5], [0.5, 0.35, 0.25]  # validation loss, nats a token
# Steps between validations and between snapshots, and how many make the mean.
EVERY, SNAPSHOT, MEAN = 100, 50, 4
SENTENCES = 300  # translated of each split at the end
# In training 18 is the longest.
LENGTHS = [(1, 6), (7, 9), (10, 12), (13, 15), (16, 18), (19, 21), (22, 24)]
TURNS, ROUNDS = 12, 3  # batches that are timed for each seed, and how often each
# Raced besides, with the first seed: the peak and the warm-up of the recipe.
AGAIN = [("synthetic", 0.00625, 400)]
WORK = records.RUNS.parent.parent / "runs" / "comparison"


@dataclass(frozen=True)
class Setting:
    """What is tuned."""

    rate: float
    warmup: int

    def of(self, name: str, seed: int, steps: int) -> TrainingConfig:
        """The recipe of a model with this setting: the schedule is the paper's, but for
        its peak.
        """
        config = recipe(name, seed=seed, steps=steps)
        factor = self.rate * (config.model.d_model * self.warmup) ** 0.5
        return changed(config, optimizer={"warmup": self.warmup, "rate_factor": factor})


@cache
def corpus() -> Corpus:
    """The synthetic corpus: all models share its vocabulary."""
    return prepare_corpus(recipe("synthetic"), "synthetic", "en-de")


@cache
def valid() -> list[Batch]:
    """The split `val`."""
    return validation_batches(corpus().valid, 2000, torch.device("cpu"))


def averaged(
    model: EncoderDecoder, snapshots: deque[dict[str, torch.Tensor]]
) -> EncoderDecoder:
    """A model of its own, whose weights are the mean of the snapshots'."""
    mean = build(model.config)
    mean.load_state_dict(
        {
            name: sum(each[name] for each in snapshots) / len(snapshots)
            for name in snapshots[0]
        }
    )
    return mean.eval()


def train(config: TrainingConfig) -> tuple[EncoderDecoder, list[list[float]], float]:
    """The mean of the last snapshots; [step, loss] of such means on the way; seconds of
    training alone.
    """
    torch.manual_seed(config.seed)
    model = build(config.model)
    objective, optimizer = (
        Objective(model, config.label_smoothing),
        make_optimizer(model),
    )
    batches = training_batches(corpus(), config, Workers())
    snapshots: deque[dict[str, torch.Tensor]] = deque(maxlen=MEAN)
    seconds, curve = 0.0, []
    for step in range(1, config.steps + 1):
        work, began = batches[step], time.process_time()
        training_step(objective, optimizer, work, step, config)
        seconds += time.process_time() - began
        if step % SNAPSHOT == 0:
            snapshots.append(
                {name: each.clone() for name, each in model.state_dict().items()}
            )
        if step % EVERY == 0:
            curve.append(
                [step, round(validation_loss(averaged(model, snapshots), valid()), 4)]
            )
    return averaged(model, snapshots), curve, seconds


def tune(name: str, rate: float, warmup: int) -> dict[str, Any]:
    """One point of the grid; a seed that does not race."""
    found = {"model": name, "rate": rate, "warmup": warmup, "steps": TRIAL}
    try:
        curve = train(Setting(rate, warmup).of(name, seed=0, steps=TRIAL))[1]
    except NotFinite:
        return found | {"loss": None}
    return found | {"loss": curve[-1][1]}


def best(name: str) -> Setting | None:
    """The setting with the least loss; None as long as the grid is not done."""
    found = [
        read(f"tune-{name}-{rate}-{warmup}") for rate, warmup in product(RATES, WARMUPS)
    ]
    if None in found:
        return None
    chosen = min(
        found, key=lambda point: math.inf if point["loss"] is None else point["loss"]
    )
    return Setting(chosen["rate"], chosen["warmup"])


def race(name: str, seed: int) -> dict[str, Any] | None:
    """A run of the best setting: its curve, steps to each goal, and BLEU at the end."""
    setting = best(name)
    if setting is None:
        return None
    config = setting.of(name, seed, STEPS)
    found = {
        "model": name,
        "seed": seed,
        "rate": setting.rate,
        "warmup": setting.warmup,
    }
    found |= {"parameters": parameters(config.model)}
    try:
        model, curve, seconds = train(config)
    except NotFinite:
        return found | {"curve": [], "steps_to": [None] * len(GOALS)}
    translator = Translator(model, corpus().vocabulary, SearchConfig(beam=1))
    pairs = {split: sample(SENTENCES, split=split) for split in ("test", "long")}
    found |= {
        "seconds": round(seconds, 1),
        "steps_to": [steps_to(curve, goal) for goal in GOALS],
    }
    found |= {split: quality(translator, chosen) for split, chosen in pairs.items()}
    return found | {
        "by_length": by_length(translator, [*pairs["test"], *pairs["long"]]),
        "curve": curve,
    }


def again(name: str, rate: float, warmup: int) -> dict[str, Any]:
    """Steps to each goal with another setting than the grid's best, and when and where:
    it may be added to a record of another day.
    """
    curve = train(Setting(rate, warmup).of(name, SEEDS[0], STEPS))[1]
    found = {"model": name, "seed": SEEDS[0], "rate": rate, "warmup": warmup}
    found |= {"date": records.START["date"], "machine": records.machine()}
    return found | {"steps_to": [steps_to(curve, goal) for goal in GOALS]}


def steps_to(curve: list[list[float]], goal: float) -> float | None:
    """Steps until the loss came down to a goal, on a line between two validations; None
    if it never did.
    """
    before = curve[0]
    for point in curve:
        if point[1] <= goal:
            share = (
                (before[1] - goal) / (before[1] - point[1])
                if point is not before
                else 1.0
            )
            return round(before[0] + share * (point[0] - before[0]), 1)
        before = point
    return None


def quality(translator: Translator, pairs: list[Pair]) -> float:
    """BLEU on these pairs."""
    return round(
        corpus_bleu(
            translator([pair.source for pair in pairs]), [pair.target for pair in pairs]
        )[0],
        2,
    )


def by_length(translator: Translator, pairs: list[Pair]) -> dict[str, float]:
    """BLEU by the tokens of the source."""
    found = {}
    for low, high in LENGTHS:
        if chosen := [pair for pair in pairs if low <= len(pair.source_tokens) <= high]:
            found[f"{low}–{high}"] = quality(translator, chosen)
    return found


def joined_batches(seed: int) -> Batches:
    """Batches of 1,000 tokens a side from sources of 60 to 100 tokens: 4 to 8 sentences
    in a row.
    """
    dice, drawn = random.Random(seed), iter(sample(4000, seed=seed))
    groups = [[next(drawn) for _ in range(dice.randint(4, 8))] for _ in range(500)]
    source, target = (
        [" ".join(getattr(pair, side) for pair in group) for group in groups]
        for side in ("source", "target")
    )
    examples = encode_pairs(
        corpus().vocabulary, Pairs(source, target), 100, skip_long=True
    )
    examples = [example for example in examples if len(example[0]) >= 60]
    return Batches(
        examples, lengths_of(examples), recipe("synthetic").batches.tokens, seed
    )


def timing(seed: int) -> dict[str, Any]:
    """Seconds of processor time that a step takes each model, on the same batches, in
    turns.
    """
    rivals = {}
    for name in MODELS:
        config = Setting(0.002, 400).of(name, seed, STEPS)
        torch.manual_seed(seed)
        model = build(config.model)
        rivals[name] = (
            Objective(model, config.label_smoothing),
            make_optimizer(model),
            config,
        )
    found: dict[str, Any] = {"seed": seed}
    sources = {
        "short": training_batches(corpus(), recipe("synthetic", seed=seed), Workers())
    }
    for kind, batches in (sources | {"long": joined_batches(seed)}).items():
        spent = {name: 0.0 for name in MODELS}
        for step in range(-1, TURNS + 1):  # the first two warm up
            least, work = dict.fromkeys(MODELS, math.inf), batches[step + 2]
            for name in MODELS * ROUNDS:
                objective, optimizer, config = rivals[name]
                began = time.process_time()
                training_step(objective, optimizer, work, step + 2, config)
                least[name] = min(least[name], time.process_time() - began)
            if step > 0:
                spent = {name: spent[name] + least[name] / TURNS for name in MODELS}
        found[kind] = {name: round(seconds, 5) for name, seconds in spent.items()}
        tokens = [
            batches[step + 2].micro_batches[0].source.shape[1]
            for step in range(1, TURNS + 1)
        ]
        found[f"{kind}_tokens"] = round(sum(tokens) / TURNS, 1)
    return found


def read(name: str) -> Any:
    """A piece that is done, or None."""
    path = WORK / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def pieces() -> dict[str, Any]:
    """All the work in its order: names, and what does it."""
    grid = [
        (rate, warmup, name) for rate, warmup, name in product(RATES, WARMUPS, MODELS)
    ]
    todo: dict[str, Any] = {f"timing-{seed}": (timing, seed) for seed in SEEDS}
    todo |= {
        f"tune-{name}-{rate}-{warmup}": (tune, name, rate, warmup)
        for rate, warmup, name in grid
    }
    todo |= {
        f"race-{name}-{seed}": (race, name, seed)
        for seed, name in product(SEEDS, MODELS)
    }
    return todo | {f"again-{name}": (again, name, *each) for name, *each in AGAIN}


def do(name: str, function: Any, *arguments: Any) -> None:
    """A piece, unless it is done or another program is at it."""
    try:
        with FileLock(WORK / f"{name}.lock", timeout=0):
            if read(name) is None and (found := function(*arguments)) is not None:
                write_atomically(WORK / f"{name}.json", json.dumps(found).encode())
    except Timeout:
        return


def findings() -> dict[str, Any]:
    """What is done so far, for the record."""
    done = {name: found for name in pieces() if (found := read(name)) is not None}
    kinds = {
        kind: [found for name, found in done.items() if name.startswith(kind)]
        for kind in ("tune", "race", "again")
    }
    settings = {
        "rates": RATES,
        "warmups": WARMUPS,
        "trial": TRIAL,
        "steps": STEPS,
        "goals": GOALS,
    }
    timings = [found for name, found in done.items() if name.startswith("timing")]
    whole = {
        "complete": len(done) == len(pieces()),
        "settings": settings,
        "tuning": kinds["tune"],
    }
    return whole | {
        "timing": timings,
        "runs": sorted(kinds["race"], key=lambda run: MODELS.index(run["model"])),
        "again": kinds["again"],
    }


def main() -> None:
    """Do what is to be done, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--minutes",
        type=float,
        default=math.inf,
        help="begin nothing new after so many",
    )
    end = time.monotonic() + 60 * parser.parse_args().minutes
    torch.set_num_threads(1)
    keep_heap()
    WORK.mkdir(parents=True, exist_ok=True)
    for name, (function, *arguments) in pieces().items():
        if time.monotonic() < end:
            do(name, function, *arguments)
    records.write("comparison", findings())


if __name__ == "__main__":
    main()
