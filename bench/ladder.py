"""What each part of the recipe for Multi30k is worth; book/runs/ladder.json.

python bench/ladder.py [--rungs NAME ...] [--out runs/ladder]
python bench/ladder.py --pace

The first rung is the recipe's model, trained as in the paper; each of the others has
one part of the recipe more. All take a third of the recipe's steps, with one seed.
With `--rungs`, only these are trained, so that two can share a machine; what is through
stands in bench/partial/ladder/. `--pace` measures in turn, on a quiet machine, how long
each takes for a step. The record is written once all this is there.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import records
from multi30k import FORM, PARTIAL, SEARCH, SPLIT, as_published, curve, spread

from aiayn.data import load_pairs
from aiayn.data.files import write_atomically
from aiayn.fast_paths import keep_heap
from aiayn.training import TrainingConfig, recipe, train_model
from aiayn.training.progress import Progress
from aiayn.training.trained_run import TrainedRun
from aiayn.translation import Translator
from aiayn.translation.bleu_forms import prepare_as_multi30k
from aiayn.translation.bleu_scores import resampled

RUNGS: dict[str, tuple[str, ...]] = {  # and the fields that a rung adds
    "as in the paper": (),
    "lower-cased": ("lowercase",),
    "cooldown": ("cooldown", "average"),
    "BPE-dropout": ("bpe_dropout",),
    "Muon": ("muon",),
    "weight decay": ("weight_decay",),
    "both directions": ("bidirectional",),
}
FOLDER = PARTIAL / "ladder"


def third(whole: TrainingConfig) -> TrainingConfig:
    """A recipe with a third of its steps, and the same peak of the learning rate."""
    lengths = ("steps", "warmup", "cooldown", "bidirectional")
    fields: dict[str, Any] = {name: getattr(whole, name) // 3 for name in lengths}
    shorter: float = fields["warmup"] / whole.warmup
    return replace(whole, rate_factor=whole.rate_factor * shorter**0.5, **fields)


def rung(name: str) -> TrainingConfig:
    """The recipe with the parts of a rung and of those before it."""
    names = list(RUNGS)
    later = names[names.index(name) + 1 :]
    left_out = [field for each in later for field in RUNGS[each]]
    plain = TrainingConfig()
    without: dict[str, Any] = {field: getattr(plain, field) for field in left_out}
    return replace(third(recipe("multi30k")), **without)


def saved(name: str) -> dict[str, Any] | None:
    """What an earlier call has found, if it has."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def save(name: str, found: dict[str, Any]) -> None:
    """Keep it for the calls that follow."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps(records.START | found, indent=1, ensure_ascii=False)
    write_atomically(FOLDER / f"{name}.json", f"{text}\n".encode())


def trained(name: str, run: Path) -> dict[str, Any]:
    """How a rung's training went, and its translations."""
    how: dict[str, Any] = {"resume": run.exists(), "progress": Progress()}
    train_model(rung(name), "multi30k", "en-de", run, **how)
    translator = Translator(*TrainedRun.read(run).load("cpu"), SEARCH)
    translations = {
        split: list(translator(load_pairs("multi30k", "en-de", split).source))
        for split in ("val", SPLIT)
    }
    points = curve(run / "metrics.jsonl")
    return {"machine": records.machine(), "curve": points, "translations": translations}


def scored(rungs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """BLEU of each rung, and what it has gained over the one before, by split."""
    metric = as_published()
    found: dict[str, Any] = {name: {} for name in rungs}
    for split in ("val", SPLIT):
        references = load_pairs("multi30k", "en-de", split).target
        right = prepare_as_multi30k(list(references), "de")
        before = None
        for name, each in rungs.items():
            ours = prepare_as_multi30k(each["translations"][split], "de")
            value, drawn = resampled(metric, ours, right)
            found[name][split] = {"BLEU": spread(value, drawn)}
            if before:
                gain = spread(value - before[0], drawn - before[1])
                found[name][split]["gain"] = gain
            before = value, drawn
    signature = str(metric.get_signature())
    return {"form": FORM, "signature": signature, "rungs": found}


def pace(name: str, steps: int = 200) -> float:
    """Seconds for a step; the first half of so many fills caches, and is left out."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        few = replace(rung(name), steps=steps, cooldown=0, checkpoint_steps=steps)
        train_model(few, "multi30k", "en-de", run, progress=Progress())
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    at = {row["step"]: row["minutes"] for row in rows if "tokens_per_second" in row}
    return 60 * float(at[steps] - at[steps // 2]) / (steps - steps // 2)


def paces(rounds: int = 3) -> dict[str, Any]:
    """Seconds for a step of each rung, measured in turn, so many times."""
    found: dict[str, list[float]] = {name: [] for name in RUNGS}
    for _ in range(rounds):
        for name, seconds in found.items():
            seconds.append(pace(name))
    seconds_per_step = {name: round(median(each), 4) for name, each in found.items()}
    return {"machine": records.machine(), "seconds per step": seconds_per_step}


def main() -> None:
    """Train what is asked for; write the record once all rungs are through."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rungs", nargs="*", choices=RUNGS, default=list(RUNGS))
    parser.add_argument("--out", type=Path, default=Path("runs/ladder"))
    parser.add_argument("--pace", action="store_true")
    asked = parser.parse_args()
    keep_heap()
    if asked.pace:
        save("pace", paces())
    else:
        for name in asked.rungs:
            if saved(name) is None:
                run = asked.out.with_name(f"{asked.out.name}-{name.replace(' ', '-')}")
                save(name, trained(name, run))
    all_rungs = [(name, saved(name)) for name in RUNGS]
    found = {name: each for name, each in all_rungs if each is not None}
    measured = saved("pace")
    if missing := RUNGS.keys() - found.keys():
        print("still to be trained:", *sorted(missing), sep="\n  ")
    elif measured is None:
        print("still to be measured: --pace")
    else:
        steps = third(recipe("multi30k")).steps
        records.write("ladder", scored(found) | {"steps": steps, "pace": measured})


if __name__ == "__main__":
    main()
