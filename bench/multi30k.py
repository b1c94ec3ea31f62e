"""Train on Multi30k with several seeds, and score; book/runs/CONFIG-PAIR.json.

python bench/multi30k.py [--pair en-de] [--config multi30k] [--seeds 3]
                         [--out runs/multi30k] [--weights FOLDER]

`multi30k` is the book's recipe, `multi30k-wu` the one of Wu and others (2021), whose
beam is 5. They divide scores by the length; our penalty has another form, so that its
alpha is chosen on the validation set. Each seed takes more than an hour on two cores.
Called again after an interruption, it goes on from the last checkpoint; seeds that are
through stand in bench/partial/, and are not trained again. With `--weights`, the model
of the seed with the best BLEU on the validation set is written there, in 16 bits.
"""

import argparse
import hashlib
import json
import zipfile
from io import BytesIO
from pathlib import Path
from statistics import mean
from typing import Any

import records

from aiayn.commands import score
from aiayn.data.files import write_atomically
from aiayn.fast_paths import keep_heap
from aiayn.training import recipe, train_model
from aiayn.training.checkpoint import save_checkpoint
from aiayn.training.progress import Progress
from aiayn.training.trained_run import TrainedRun
from aiayn.translation import SearchConfig

PARTIAL = Path(__file__).resolve().parent / "partial"
SPLIT, FORM = "test_2016_flickr", "tokenised-lowercased"
ALPHAS = (0.6, 1.0, 1.4, 1.6, 1.8, 2.0, 2.4)


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
    search = SearchConfig(beam=5, alpha=alpha)
    record = score(TrainedRun.read(run), search, split=split, forms=True)
    (found,) = record["bleu"].values()
    return record, found


def findings(run: Path) -> dict[str, Any]:
    """What is recorded of the training of one seed."""
    points = curve(run / "metrics.jsonl")
    valid = {alpha: bleu_of(run, alpha, "val")[1][FORM]["value"] for alpha in ALPHAS}
    alpha = max(valid, key=valid.__getitem__)
    record, found = bleu_of(run, alpha, SPLIT)
    measured = {
        name: {key: round(each[key], 2) for key in ("value", "low", "high")}
        for name, each in record["measured"].items()
    }
    signatures = {form: each["signature"] for form, each in found.items()}
    return {
        "machine": records.machine(),
        "alpha": alpha,
        "bleu_on_val_by_alpha": {
            str(each): round(value, 2) for each, value in valid.items()
        },
        "minutes": round(record["minutes"], 1),
        "steps": max(step for step, _ in points),
        "checkpoints": record["checkpoints"],
        "bleu": {form: round(each["value"], 2) for form, each in found.items()},
        "measured": measured,
        "signatures": signatures | {"chrF": record["measured"]["chrF"]["signature"]},
        "curve": points,
    }


def packed(run: Path, name: str) -> bytes:
    """A trained model with weights of 16 bits, as a zip, the same every time."""
    trained = TrainedRun.read(run)
    model, vocabulary = trained.load("cpu")
    folder = run / "half" / name
    said = {"data": "multi30k", "pair": trained.description.pair}
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
    parser.add_argument("--config", default="multi30k")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/multi30k"))
    parser.add_argument("--weights", type=Path)
    asked = parser.parse_args()
    keep_heap()
    name = f"{asked.config}-{asked.pair}"
    partial = PARTIAL / f"{name}.json"
    known = partial.read_text(encoding="utf-8") if partial.exists() else "{}"
    seeds: dict[str, Any] = json.loads(known)
    for seed in map(str, range(1, asked.seeds + 1)):
        if seed in seeds:
            continue
        run = asked.out.with_name(f"{asked.out.name}-{name}-{seed}")
        settings = recipe(asked.config, seed=int(seed))
        how: dict[str, Any] = {"resume": run.exists(), "progress": Progress()}
        train_model(settings, "multi30k", asked.pair, run, **how)
        seeds[seed] = records.START | findings(run)
        text = json.dumps(seeds, indent=1, ensure_ascii=False)
        write_atomically(partial, f"{text}\n".encode())
    bleu = [each["bleu"][FORM] for each in seeds.values()]
    best = max(seeds, key=lambda s: max(seeds[s]["bleu_on_val_by_alpha"].values()))
    found = {"mean": round(mean(bleu), 2), "best_on_val": int(best), "seeds": seeds}
    if asked.weights:
        run = asked.out.with_name(f"{asked.out.name}-{name}-{best}")
        content = packed(run, name)
        asked.weights.mkdir(parents=True, exist_ok=True)
        write_atomically(asked.weights / f"{name}.zip", content)
        found["weights"] = {
            "file": f"{name}.zip",
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    records.write(name, found)


if __name__ == "__main__":
    main()
