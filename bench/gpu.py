"""What only a GPU can show, in one command; book/runs/gpu-*.json.

python bench/gpu.py --minutes 10 [--data multi30k] [--parts a b c d e f]

It needs a CUDA GPU, torch and the package's own dependencies. The parts, in order:

a  equality, 1 minute: attention, training step and decoding in float32, bfloat16 and
   float16, against the processor
b  step, 2.5 minutes: time, utilisation and memory of base and big at 25,000 + 25,000
   tokens, compiled or not, beside torch.nn.Transformer and (if it is installed)
   Hugging Face's MarianMT, on the same batches in turn
c  launch, 2 minutes: `aiayn launch --workers 1` is killed and goes on; its weights
   against an undisturbed run's
d  base, 4 minutes: the base model trained on the data to the end, and its BLEU
e  table3, all that is left: rows (D) and (E) of Table 3, as many seeds as fit; 15
   trainings side by side take 12 minutes on an H100
f  decoding, half a minute: speed on the test set, beside CTranslate2 if it is installed

A part begins only if its minutes are left, and writes its record when it is through.
Called again, the command leaves out the parts that have one; (d) and (e) go on from
where they were. --tiny takes sizes for which a processor does (--device cpu).
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu_equality
import gpu_steps
import records
import torch
from gpu_runs import FULL, TINY, Job, base, decoding, launch, table3

from aiayn.data.io import write_atomically
from aiayn.device import find_device
from aiayn.errors import InputError


def equality(job: Job) -> dict[str, Any]:
    """Part (a)."""
    return gpu_equality.equality(job.device, job.sizes.sentences)


def step(job: Job) -> dict[str, Any]:
    """Part (b)."""
    share = min(job.left, 200.0) / len(job.sizes.steps.shapes)
    shapes, models = job.sizes.steps.shapes, []
    for number, name in enumerate(shapes, start=1):
        deadline = job.end - job.left + share * number
        models.append(gpu_steps.race(name, job.sizes.steps, job.device, deadline))
        if job.device.type == "cuda":
            torch.cuda.empty_cache()
    return {"tokens_a_side": job.sizes.steps.tokens, "models": models}


# By letter: the name, the seconds without which it does not begin, and what it does.
PARTS: dict[str, tuple[str, float, Callable[[Job], dict[str, Any] | None]]] = {
    "a": ("equality", 30, equality),
    "b": ("step", 60, step),
    "c": ("launch", 60, launch),
    "d": ("base", 90, base),
    "e": ("table3", 90, table3),
    "f": ("decoding", 20, decoding),
}


def write(job: Job, name: str, findings: dict[str, Any]) -> None:
    """Write the record of a part, whole or not at all, and print it."""
    gpu = job.device.type == "cuda"
    where = torch.cuda.get_device_name(job.device) if gpu else records.machine()
    record = records.START | {"machine": f"one {where}" if gpu else where} | findings
    text = json.dumps(record, indent=1, ensure_ascii=False)
    write_atomically(job.out / f"gpu-{name}.json", f"{text}\n".encode())
    print(text, flush=True)


def main() -> None:
    """Do the parts that time allows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--data", default="multi30k", help="a corpus or a folder")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--out", type=Path, default=records.RUNS, help="for the records"
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/gpu"))
    parser.add_argument("--together", type=int, default=12, help="trainings of (e)")
    parser.add_argument("--again", action="store_true", help="also what has a record")
    parser.add_argument("--tiny", action="store_true", help="to try the command itself")
    asked = parser.parse_args()
    try:
        device = find_device(asked.device)
    except InputError as error:
        parser.exit(1, f"gpu: {error}; there is nothing to record without a CUDA GPU\n")
    sizes, end = TINY if asked.tiny else FULL, time.monotonic() + 60 * asked.minutes
    runs = asked.runs.absolute()
    for folder in (asked.out, runs):
        folder.mkdir(parents=True, exist_ok=True)
    job = Job(sizes, device, asked.data, asked.out, runs, asked.together, end)
    for letter in sorted(asked.parts):
        name, seconds, part = PARTS[letter]
        recorded = (asked.out / f"gpu-{name}.json").exists() and letter != "e"
        if recorded and not asked.again:
            print(f"({letter}) {name}: recorded before; --again does it again")
        elif job.left < seconds and not asked.tiny:
            print(f"({letter}) {name}: left out, {job.left:.0f} seconds are left")
        else:
            print(f"({letter}) {name}: {job.left:.0f} seconds are left", flush=True)
            findings = part(job)
            if findings is not None:
                write(job, name, findings)


if __name__ == "__main__":
    main()
