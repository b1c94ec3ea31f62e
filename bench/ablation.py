"""What each part of the recipe for Multi30k is worth; book/runs/ablation.json.

python bench/ablation.py [--variants NAME ...] [--seeds 1] [--processes 1]
                         [--out runs/ablation]
python bench/ablation.py --pace

The first variant is the recipe's model, trained as in the paper; each of the others has
one part of the recipe more. All take a third of the recipe's steps. With `--variants`,
only these are trained, so that two calls can share a machine; what is through stands in
bench/partial/ablation/, and is not trained again. On a GPU, which such a small model
leaves idle most of the time, a dozen `--processes` go on at once if NVIDIA's MPS runs
(nvidia-cuda-mps-control -d). `--pace` measures in turn, on two quiet cores, how long
each takes for a step. The record is written once all this is there.
"""

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import records
import torch
from multi30k import (
    FORM,
    PARTIAL,
    SPLIT,
    as_published,
    best_alpha,
    bleu_on_val,
    spread,
    translator,
)

from aiayn.base_config import changed, settings
from aiayn.data import load_pairs
from aiayn.data.io import write_atomically
from aiayn.device import find_device, keep_heap
from aiayn.metrics.bleu import bootstrap_resample
from aiayn.metrics.bleu_variants import tokenize_like_multi30k
from aiayn.training import TrainingConfig, recipe, train_model
from aiayn.training.metrics_log import Metrics
from aiayn.training.progress import Progress

VARIANTS: dict[str, tuple[str, ...]] = {  # and the fields that a variant adds
    "as in the paper": (),
    "lower-cased": ("vocabulary.lowercase",),
    "cooldown": ("optimizer.cooldown",),
    "Muon": ("optimizer.muon",),
    "weight decay": ("optimizer.weight_decay",),
    "both directions": ("batches.bidirectional",),
    "BPE-dropout": ("batches.bpe_dropout",),
    "label smoothing": ("label_smoothing",),
}
PART = 3  # a third of the recipe's steps
FOLDER = PARTIAL / "ablation"


def shortened(whole: TrainingConfig, part: int) -> TrainingConfig:
    """A recipe with one `part`-th of its steps, and the same peak of the learning
    rate.
    """
    lengths = "steps optimizer.warmup optimizer.cooldown batches.bidirectional"
    names = [*lengths.split(), "checkpoints.steps"]
    has = settings(whole)
    fields: dict[str, Any] = {name: has[name] // part for name in names}
    shorter: float = fields["optimizer.warmup"] / has["optimizer.warmup"]
    factor = has["optimizer.rate_factor"] * shorter**0.5
    return changed(whole, **fields, **{"optimizer.rate_factor": factor})


def variant(name: str) -> TrainingConfig:
    """The recipe with the parts of a variant and of those before it."""
    names = list(VARIANTS)
    later = names[names.index(name) + 1 :]
    left_out = [field for each in later for field in VARIANTS[each]]
    plain = settings(TrainingConfig())
    without = {field: plain[field] for field in left_out}
    return changed(shortened(recipe("multi30k"), PART), **without)


def saved(name: str) -> dict[str, Any] | None:
    """What an earlier call has found, if it has."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def save(name: str, found: dict[str, Any]) -> None:
    """Keep it for the calls that follow."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps(records.START | found, indent=1, ensure_ascii=False)
    write_atomically(FOLDER / f"{name}.json", f"{text}\n".encode())


def train_variant(out: Path, job: tuple[str, int]) -> None:
    """Train a variant with a seed, and keep how it went and what it translates."""
    name, seed = job
    run = out.with_name(f"{out.name}-{name.replace(' ', '-')}-{seed}")
    config = replace(variant(name), seed=seed)
    how: dict[str, Any] = {"resume": run.exists(), "progress": Progress()}
    train_model(config, "multi30k", "en-de", run, **how)
    points = list(records.validations(run).items())
    device = find_device()
    gpu = device.type == "cuda"
    machine = torch.cuda.get_device_name(device) if gpu else records.machine()
    alpha = best_alpha([bleu_on_val(run, "en-de")])
    translate = translator(run, alpha)
    translations = {
        split: list(translate(load_pairs("multi30k", "en-de", split).source))
        for split in ("val", SPLIT)
    }
    found = {"machine": machine, "curve": points, "alpha": alpha}
    save(f"{name}-{seed}", found | {"translations": translations})


def scored(variants: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """BLEU of each variant, mean of its seeds, by split, and its gain over that before;
    the whole gain is that over the first.

    The interval is that of the sentences drawn; how far seeds are apart, `seeds` shows.
    """
    metric = as_published()
    found: dict[str, Any] = {name: {} for name in variants}
    for split in ("val", SPLIT):
        references = load_pairs("multi30k", "en-de", split).target
        right = tokenize_like_multi30k(list(references), "de")
        below: list[tuple[float, Any]] = []
        for name, seeds in variants.items():
            lines = [
                tokenize_like_multi30k(s["translations"][split], "de") for s in seeds
            ]
            values, draws = zip(
                *(bootstrap_resample(metric, ours, right) for ours in lines),
                strict=True,
            )
            value, drawn = mean(values), np.mean(draws, axis=0)
            each = [round(value, 2) for value in values]
            found[name][split] = {"BLEU": spread(value, drawn), "seeds": each}
            gains = {"gain": below[-1], "whole gain": below[0]} if below else {}
            for kind, (over, drawn_over) in gains.items():
                found[name][split][kind] = spread(value - over, drawn - drawn_over)
            below.append((value, drawn))
    signature = str(metric.get_signature())
    return {"form": FORM, "signature": signature, "variants": found}


def pace(name: str, first: int = 50, steps: int = 150) -> float:
    """Seconds for a step; the first few fill caches, and are left out."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        few = changed(
            variant(name),
            steps=steps,
            optimizer={"cooldown": 0},
            checkpoints={"steps": steps},
        )
        train_model(few, "multi30k", "en-de", run, progress=Progress())
        rows = Metrics(run).lines()
    at = {row["step"]: row["minutes"] for row in rows if "tokens_per_second" in row}
    return 60 * float(at[steps] - at[first]) / (steps - first)


def paces(rounds: int = 3) -> dict[str, Any]:
    """Seconds for a step of each variant, measured in turn, so many times."""
    found: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(rounds):
        for name, seconds in found.items():
            seconds.append(pace(name))
    seconds_per_step = {name: round(median(each), 4) for name, each in found.items()}
    return {"machine": records.machine(), "seconds per step": seconds_per_step}


def train_all(jobs: Sequence[tuple[str, int]], out: Path, processes: int) -> None:
    """`train_variant` those that are not through, in turn or so many at a time."""
    left = [(name, seed) for name, seed in jobs if saved(f"{name}-{seed}") is None]
    if processes == 1:
        for job in left:
            train_variant(out, job)
        return
    one_thread: dict[str, Any] = {
        "initializer": torch.set_num_threads,
        "initargs": (1,),
    }
    with ProcessPoolExecutor(processes, get_context("spawn"), **one_thread) as pool:
        list(pool.map(partial(train_variant, out), left))


def main() -> None:
    """Train what is asked for; write the record once all variants are through."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--variants", nargs="*", choices=VARIANTS, default=list(VARIANTS)
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/ablation"))
    parser.add_argument("--pace", action="store_true")
    asked = parser.parse_args()
    keep_heap()
    seeds = range(1, asked.seeds + 1)
    if asked.pace:
        save("pace", paces())
    else:
        jobs = [(name, seed) for seed in seeds for name in asked.variants]
        train_all(jobs, asked.out, asked.processes)
    found = {name: [saved(f"{name}-{seed}") for seed in seeds] for name in VARIANTS}
    variants = {name: [each for each in all if each] for name, all in found.items()}
    measured = saved("pace")
    if missing := [name for name in VARIANTS if len(variants[name]) < len(seeds)]:
        print("still to be trained:", *missing, sep="\n  ")
    elif measured is None:
        print("still to be measured: --pace")
    else:
        machines = sorted(
            {each["machine"] for all in variants.values() for each in all}
        )
        said = {
            "steps": shortened(recipe("multi30k"), PART).steps,
            "trained_on": machines,
        }
        records.write("ablation", scored(variants) | said | {"pace": measured})


if __name__ == "__main__":
    main()
