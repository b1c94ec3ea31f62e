"""What each part of the recipe for Tatoeba is worth; book/runs/tatoeba-ablation.json.

python bench/tatoeba_ablation.py [--variants NAME ...] [--seeds 3]
                                 [--out runs/tatoeba-ablation]

Each variant differs from the recipe in one thing, and all take a sixth of its steps.
BLEU is sacreBLEU on `val`, greedily; no test set is read. With `--variants`, only these
are trained, so that two calls can share a machine; what is through stands in
bench/partial/tatoeba-ablation/, and is not trained again. The record is written once
all variants are there.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import records
import sacrebleu
from ablation import shortened
from multi30k import PARTIAL, spread

from aiayn.base_config import changed
from aiayn.data import load_pairs
from aiayn.data.io import write_atomically
from aiayn.decoding import SearchConfig
from aiayn.device import find_device, keep_heap
from aiayn.metrics.bleu import bootstrap_resample
from aiayn.training import TrainingConfig, recipe, train_model
from aiayn.training.progress import Progress
from aiayn.training.trained_run import TrainedRun
from aiayn.translation import Translator

RECIPE, PART = "the recipe", 6
VARIANTS: dict[str, dict[str, Any]] = {  # the fields that a variant changes
    RECIPE: {},
    "both directions": {"batches.bidirectional": 2500 // PART},
    "no BPE-dropout": {"batches.bpe_dropout": 0.0},
    "no dropout": {"model.dropout": 0.0},
    "Adam": {"optimizer.muon": False, "optimizer.weight_decay": 0.0},
    "five layers": {"model.N": 5},
    "d_ff = 1024": {"model.d_ff": 1024},
}
FOLDER = PARTIAL / "tatoeba-ablation"


def variant(name: str) -> TrainingConfig:
    """The recipe with a variant's fields and a sixth of the steps."""
    return changed(shortened(recipe("tatoeba"), PART), **VARIANTS[name])


def kept_path(name: str, seed: int) -> Path:
    """Where a call keeps what it has found of a variant and a seed."""
    return FOLDER / f"{name}-{seed}.json"


def train_variant(name: str, seed: int, run: Path) -> None:
    """Train a variant with a seed, and keep how it went and what it translates."""
    config = replace(variant(name), seed=seed)
    resume, progress = run.exists(), Progress()
    train_model(config, "tatoeba", "en-de", run, resume=resume, progress=progress)
    curve = list(records.validations(run).items())
    model, vocabulary = TrainedRun.read(run).load(find_device())
    translate = Translator(model, vocabulary, SearchConfig(beam=1))
    found = {
        "machine": records.machine(),
        "parameters": sum(each.numel() for each in model.parameters()),
        "curve": curve,
        "translations": list(translate(load_pairs("tatoeba", "en-de", "val").source)),
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps(records.START | found, indent=1, ensure_ascii=False)
    write_atomically(kept_path(name, seed), f"{text}\n".encode())


def scored(variants: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Perplexity and BLEU of each variant, means of its seeds, and what each is ahead
    of the recipe by, seed by seed on the same draws of sentences.
    """
    references = list(load_pairs("tatoeba", "en-de", "val").target)
    metric, found = sacrebleu.metrics.BLEU(), dict[str, Any]()
    draws = dict[str, tuple[float, Any]]()
    for name, seeds in variants.items():
        values, drawn = zip(
            *(bootstrap_resample(metric, s["translations"], references) for s in seeds),
            strict=True,
        )
        draws[name] = fmean(values), np.mean(drawn, axis=0)
        found[name] = {
            "parameters": seeds[0]["parameters"],
            "perplexity": [seed["curve"][-1][1] for seed in seeds],
            "BLEU": spread(*draws[name]),
            "seeds": [round(value, 2) for value in values],
            "over the recipe": spread(
                draws[name][0] - draws[RECIPE][0], draws[name][1] - draws[RECIPE][1]
            ),
        }
    return {"signature": str(metric.get_signature()), "variants": found}


def main() -> None:
    """Train what is asked for; write the record once all variants are through."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--variants", nargs="*", choices=VARIANTS, default=list(VARIANTS)
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/tatoeba-ablation"))
    asked = parser.parse_args()
    keep_heap()
    seeds = range(1, asked.seeds + 1)
    for seed in seeds:
        for name in asked.variants:
            if not kept_path(name, seed).exists():
                folder = f"{asked.out.name}-{name.replace(' ', '-')}-{seed}"
                train_variant(name, seed, asked.out.with_name(folder))
    paths = {name: [kept_path(name, seed) for seed in seeds] for name in VARIANTS}
    if missing := [
        path.stem for all in paths.values() for path in all if not path.exists()
    ]:
        print("still to be trained:", *missing, sep="\n  ")
        return
    variants = {
        name: [json.loads(path.read_text(encoding="utf-8")) for path in all]
        for name, all in paths.items()
    }
    machines = sorted({each["machine"] for all in variants.values() for each in all})
    said = {"steps": variant(RECIPE).steps, "trained_on": machines}
    records.write("tatoeba-ablation", said | scored(variants))


if __name__ == "__main__":
    main()
