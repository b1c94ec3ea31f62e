"""One sentence at a time by either engine, and write book/runs/engines.json.

python bench/engines.py [--rounds 5]    # minutes; the machine does nothing else

The translator that ships translates sentences of Tatoeba's `val`, one call for each, as
a person does who waits for the answer: by this package's search and by CTranslate2's,
in 32 and in eight bits, all in one process, with PyTorch's threads in it, in turn. A
ratio is of the median times of one round, this package's in 32 bits over the other's;
given are the least, the median and the most of all rounds.
"""

import argparse
import json
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import records
import torch

import aiayn
from aiayn.decoding import SearchConfig
from aiayn.decoding.quantization import has_vnni
from aiayn.translation import CTranslate2Translator, Translator

SENTENCES, BEAMS = 100, [1, 4]


def seconds(translate: Callable[[str], str], lines: list[str]) -> list[float]:
    """The time of each sentence, after two that are not counted."""
    for line in lines[:2]:
        translate(line)
    times = []
    for line in lines:
        start = perf_counter()
        translate(line)
        times.append(perf_counter() - start)
    return sorted(times)


def race(lines: list[str], beam: int, rounds: int) -> dict[str, Any]:
    """Milliseconds of each engine, and the ratios."""
    parts, search = aiayn.pretrained("en-de"), SearchConfig(beam=beam)
    engines: dict[str, Translator] = {
        "aiayn": Translator(*parts, search),
        "ctranslate2": CTranslate2Translator(*parts, search),
        "ctranslate2 int8": CTranslate2Translator(*parts, search, compute="int8"),
    }
    if has_vnni():
        engines["aiayn int8"] = Translator(*parts, search, compute="int8")
    times: dict[str, list[list[float]]] = {name: [] for name in engines}
    for number in range(rounds):
        names = list(engines)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            times[name].append(seconds(engines[name], lines))
    rows = {}
    for name, passes in times.items():
        ratios = sorted(
            median(ours) / median(theirs)
            for ours, theirs in zip(times["aiayn"], passes, strict=True)
        )
        spread = (ratios[0], median(ratios), ratios[-1])
        rows[name] = {
            "median_ms": round(1e3 * median(map(median, passes)), 2),
            "p95_ms": round(1e3 * median(each[-5] for each in passes), 2),
            "faster": [round(each, 2) for each in spread],
        }
    return {"beam": beam, "engines": rows}


def main() -> None:
    """Time both engines, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    lines = list(aiayn.load_pairs("tatoeba", "en-de", "val").source)[:SENTENCES]
    found = [race(lines, beam, rounds) for beam in BEAMS]
    record: dict[str, Any] = {
        "threads": torch.get_num_threads(),
        "sentences": SENTENCES,
    }
    record |= {"rounds": rounds, "found": found}
    print(json.dumps(record, indent=1))
    records.write("engines", record)


if __name__ == "__main__":
    main()
