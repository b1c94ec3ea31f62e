"""Train on Multi30k with several seeds, and score; book/runs/NAME-PAIR.json.

python bench/multi30k.py [--pair en-de] [--recipe multi30k] [--seeds 3]
                         [--change FIELD=VALUE ... --name NAME]
                         [--out runs/multi30k] [--weights FOLDER]

`multi30k` is the book's recipe, `multi30k-wu` the one of Wu and others (2021); with
`--change`, fields of a recipe differ, as in `--change optimizer.muon=false --name
multi30k-adam`. The beam is Wu's, 5. The alpha of the paper's length penalty is the one
with the best BLEU on the validation set, in the mean of the seeds; the test set is read
after that.

Each seed takes more than an hour on two cores. Called again after an interruption, it
goes on from the last checkpoint; of seeds that are through, bench/partial/ has what is
to be recorded, and they are neither trained again nor, with the same alpha, scored
again: their runs may be gone. With `--weights`, the model of the seed with the best
BLEU on the validation set is written there, in 16 bits.
"""

import argparse
import hashlib
import json
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import records
import sacrebleu

from aiayn.data import load_pairs
from aiayn.data.io import write_atomically
from aiayn.decoding import SearchConfig
from aiayn.device import find_device, keep_heap
from aiayn.metrics.bleu import bootstrap_resample
from aiayn.metrics.bleu_variants import bleu_by_variant, tokenize_like_multi30k
from aiayn.training import TrainingConfig, recipe, train_model
from aiayn.training.checkpoint import save_checkpoint
from aiayn.training.checkpoint_metadata import Description
from aiayn.training.progress import Progress
from aiayn.training.trained_run import TrainedRun
from aiayn.translation import Translator

PARTIAL = Path(__file__).resolve().parent / "partial"
SPLIT, FORM = "test_2016_flickr", "tokenised-lowercased"
BEAM, ALPHAS = 5, (0.6, 0.8, 1.0, 1.2, 1.4, 1.6)


def as_published() -> sacrebleu.metrics.BLEU:
    """BLEU of prepared lines, as Wu and others give it."""
    known: dict[str, Any] = {"lowercase": True, "tokenize": "none", "force": True}
    return sacrebleu.metrics.BLEU(**known, smooth_method="none")


def spread(value: float, drawn: Any) -> dict[str, float]:
    """A value, and where 95 of 100 of what was drawn are."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    found = {"value": value, "low": low, "high": high}
    return {key: round(float(each), 2) for key, each in found.items()}


def interval(metric: Any, ours: list[str], references: list[str]) -> dict[str, Any]:
    """A score, and what 95 of 100 test sets drawn from this one would give."""
    found = spread(*bootstrap_resample(metric, ours, references))
    return found | {"signature": str(metric.get_signature())}


def translator(run: Path, alpha: float) -> Translator:
    """A trained model that searches as the benchmark does."""
    model, vocabulary = TrainedRun.read(run).load(find_device())
    return Translator(model, vocabulary, SearchConfig(beam=BEAM, alpha=alpha))


def bleu_on_val(run: Path, pair: str) -> dict[str, float]:
    """BLEU on the validation set, in the published form, with each alpha."""
    valid = load_pairs("multi30k", pair, "val")
    references = tokenize_like_multi30k(list(valid.target), pair[-2:])
    found = {}
    for alpha in ALPHAS:
        ours = list(translator(run, alpha)(valid.source))
        prepared = tokenize_like_multi30k(ours, pair[-2:])
        score = as_published().corpus_score(prepared, [references])
        found[str(alpha)] = round(score.score, 2)
    return found


def best_alpha(by_alpha: Iterable[dict[str, float]]) -> float:
    """The alpha with the best BLEU on the validation set, in the mean of models."""
    models = list(by_alpha)
    return max(ALPHAS, key=lambda alpha: mean(each[str(alpha)] for each in models))


def scores(run: Path, pair: str, alpha: float) -> dict[str, Any]:
    """On the test set: BLEU in every form; that of the published figure, and chrF, with
    intervals.
    """
    test, language = load_pairs("multi30k", pair, SPLIT), pair[-2:]
    ours = list(translator(run, alpha)(test.source))
    forms = bleu_by_variant(ours, test.target, language).values()
    prepared = [
        tokenize_like_multi30k(lines, language) for lines in (ours, test.target)
    ]
    chrf = sacrebleu.metrics.CHRF(lowercase=True)
    return {
        "bleu": {each.variant: round(each.value, 2) for each in forms},
        "signatures": {each.variant: each.signature for each in forms},
        "measured": {
            FORM: interval(as_published(), *prepared),
            "chrF": interval(chrf, ours, list(test.target)),
        },
    }


def trained(run: Path, pair: str) -> dict[str, Any]:
    """What is recorded of the training of one seed, without the test set."""
    perplexities = records.validations(run)
    minutes = TrainedRun.read(run).description.minutes or 0.0
    return {
        "machine": records.machine(),
        "minutes": round(minutes, 1),
        "steps": max(perplexities),
        "curve": list(perplexities.items()),
        "bleu_on_val_by_alpha": bleu_on_val(run, pair),
    }


def train_seeds(
    partial: Path, runs: dict[str, Path], settings: TrainingConfig, pair: str
) -> dict[str, dict[str, Any]]:
    """What is recorded of the training of each seed, which may be over already."""
    seeds = kept(partial)
    for seed in [seed for seed in runs if seed not in seeds]:
        run, config = runs[seed], replace(settings, seed=int(seed))
        how: dict[str, Any] = {"resume": run.exists(), "progress": Progress()}
        train_model(config, "multi30k", pair, run, **how)
        seeds[seed] = records.START | trained(run, pair)
        keep(partial, seeds)
    return {seed: seeds[seed] for seed in runs}


def kept(partial: Path) -> dict[str, dict[str, Any]]:
    """What is to be recorded of the seeds that are through."""
    text = partial.read_text(encoding="utf-8") if partial.exists() else "{}"
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def keep(partial: Path, seeds: dict[str, dict[str, Any]]) -> None:
    """Write what is to be recorded of these seeds, beside the others, for later."""
    text = json.dumps(kept(partial) | seeds, indent=1, ensure_ascii=False)
    write_atomically(partial, f"{text}\n".encode())


def packed(run: Path, name: str) -> bytes:
    """A trained model with weights of 16 bits, as a zip, the same every time."""
    best = TrainedRun.read(run)
    model, vocabulary = best.load("cpu")
    folder = run / "half" / name
    said = Description(model.config, data="multi30k", pair=best.description.pair)
    save_checkpoint(folder, model.half(), vocabulary, said)
    whole = BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(f"{name}/{path.name}")  # of 1980, like all of them
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return whole.getvalue()


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pair", choices=["en-de", "en-fr"], default="en-de")
    parser.add_argument("--recipe", default="multi30k")
    parser.add_argument("--change", nargs="*", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--name", help="of the record, if not that of the recipe")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/multi30k"))
    parser.add_argument("--weights", type=Path)
    asked = parser.parse_args()
    keep_heap()
    name = f"{asked.name or asked.recipe}-{asked.pair}"
    fields = (field.partition("=") for field in asked.change)
    changes = {field: json.loads(value) for field, _, value in fields}
    runs = {
        str(seed): asked.out.with_name(f"{asked.out.name}-{name}-{seed}")
        for seed in range(1, asked.seeds + 1)
    }
    partial, settings = PARTIAL / f"{name}.json", recipe(asked.recipe, **changes)
    seeds = train_seeds(partial, runs, settings, asked.pair)
    by_alpha = {seed: each["bleu_on_val_by_alpha"] for seed, each in seeds.items()}
    alpha = best_alpha(by_alpha.values())
    for seed, run in runs.items():
        if seeds[seed].get("alpha") != alpha:
            seeds[seed] |= {"alpha": alpha} | scores(run, asked.pair, alpha)
            keep(partial, seeds)
    bleu = mean(each["bleu"][FORM] for each in seeds.values())
    best = max(runs, key=lambda seed: by_alpha[seed][str(alpha)])
    record = {"mean": round(bleu, 2), "best_on_val": int(best), "seeds": seeds}
    if asked.weights:
        content = packed(runs[best], name)
        asked.weights.mkdir(parents=True, exist_ok=True)
        write_atomically(asked.weights / f"{name}.zip", content)
        record["weights"] = {
            "file": f"{name}.zip",
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    records.write(name, record)


if __name__ == "__main__":
    main()
