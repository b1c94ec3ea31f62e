"""Train on Multi30k with several seeds, and score; book/runs/NAME-PAIR.json.

python bench/multi30k.py [--pair en-de] [--config multi30k] [--seeds 3]
                         [--change FIELD=VALUE ... --name NAME]
                         [--out runs/multi30k] [--weights FOLDER]

`multi30k` is the book's recipe, `multi30k-wu` the one of Wu and others (2021); with
`--change`, fields of a recipe differ, as in `--change muon=false --name multi30k-adam`.
The beam is Wu's, 5. They divide a score by the length; the paper's penalty grows as
fast with an alpha of 1.4 at the dozen tokens that a caption has, so that it is 1.4.

Each seed takes more than an hour on two cores. Called again after an interruption, it
goes on from the last checkpoint; seeds that are through stand in bench/partial/, and
are not trained again. With `--weights`, the model of the seed with the best BLEU on the
validation set is written there, in 16 bits.
"""

import argparse
import hashlib
import json
import zipfile
from io import BytesIO
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import records
import sacrebleu

from aiayn.data import load_pairs
from aiayn.data.files import write_atomically
from aiayn.fast_paths import keep_heap
from aiayn.training import recipe, train_model
from aiayn.training.checkpoint import save_checkpoint
from aiayn.training.progress import Progress
from aiayn.training.trained_run import TrainedRun
from aiayn.translation import SearchConfig, Translator
from aiayn.translation.bleu_forms import bleu_in_every_form, prepare_as_multi30k
from aiayn.translation.bleu_scores import resampled

PARTIAL = Path(__file__).resolve().parent / "partial"
SPLIT, FORM = "test_2016_flickr", "tokenised-lowercased"
SEARCH = SearchConfig(beam=5, alpha=1.4)


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
    found = spread(*resampled(metric, ours, references))
    return found | {"signature": str(metric.get_signature())}


def scores(translator: Translator, pair: str, split: str) -> dict[str, Any]:
    """BLEU in every form, and with intervals that of the published figure and chrF."""
    test, language = load_pairs("multi30k", pair, split), pair[-2:]
    ours = list(translator(test.source))
    forms = bleu_in_every_form(ours, test.target, language).values()
    prepared = [prepare_as_multi30k(lines, language) for lines in (ours, test.target)]
    chrf = sacrebleu.metrics.CHRF(lowercase=True)
    return {
        "bleu": {each.form: round(each.value, 2) for each in forms},
        "signatures": {each.form: each.signature for each in forms},
        "measured": {
            FORM: interval(as_published(), *prepared),
            "chrF": interval(chrf, ours, list(test.target)),
        },
    }


def findings(run: Path) -> dict[str, Any]:
    """What is recorded of the training of one seed."""
    perplexities, trained = records.validations(run), TrainedRun.read(run)
    translator = Translator(*trained.load("cpu"), SEARCH)
    pair = str(trained.description.pair)
    return {
        "machine": records.machine(),
        "alpha": SEARCH.alpha,
        "val": scores(translator, pair, "val")["measured"][FORM],
        "minutes": round(trained.description.training["minutes"], 1),
        "steps": max(perplexities),
        **scores(translator, pair, SPLIT),
        "curve": list(perplexities.items()),
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
    parser.add_argument("--change", nargs="*", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--name", help="of the record, if not that of the recipe")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/multi30k"))
    parser.add_argument("--weights", type=Path)
    asked = parser.parse_args()
    keep_heap()
    name = f"{asked.name or asked.config}-{asked.pair}"
    fields = (field.partition("=") for field in asked.change)
    changes = {field: json.loads(value) for field, _, value in fields}
    partial = PARTIAL / f"{name}.json"
    known = partial.read_text(encoding="utf-8") if partial.exists() else "{}"
    seeds: dict[str, Any] = json.loads(known)
    for seed in map(str, range(1, asked.seeds + 1)):
        if seed in seeds:
            continue
        run = asked.out.with_name(f"{asked.out.name}-{name}-{seed}")
        settings = recipe(asked.config, **changes, seed=int(seed))
        how: dict[str, Any] = {"resume": run.exists(), "progress": Progress()}
        train_model(settings, "multi30k", asked.pair, run, **how)
        seeds[seed] = records.START | findings(run)
        text = json.dumps(seeds, indent=1, ensure_ascii=False)
        write_atomically(partial, f"{text}\n".encode())
    bleu = [each["bleu"][FORM] for each in seeds.values()]
    best = max(seeds, key=lambda seed: seeds[seed]["val"]["value"])
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
