"""Translation as people call it, by this package and by CTranslate2; usage.json.

python bench/usage.py [--rounds 5] [--rows list calls sentence shell]    # an hour

The model that ships, en-de, translates lines of Tatoeba's `val`:

* list: 500 lines in one call from Python;
* calls: 320 lines, 32 in a call;
* sentence: 100 lines, one in a call, after two that are not counted;
* shell: 1,000 lines from standard input, with the program's start.

All with a beam of 1 and of 4, in 32 and in eight bits, on two threads; with a beam of 4
also on one thread, with AVX2 alone, and beside a process that keeps one core busy. Each
system is a process of its own, and they take turns, another one first in each round.
CTranslate2's has never imported PyTorch. Its list is translated by its defaults and in
batches of 2,048 tokens, whichever is sooner. A lead is the ratio of the times of one
round, CTranslate2's over this package's: least, median and most of all rounds; in eight
bits it is to the better of CTranslate2's two. The machine must have nothing else to do.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import records
from programs import PAUSE, Program

import aiayn
from aiayn.decoding.quantization import has_vnni
from aiayn.translation.ctranslate2 import write_ctranslate2

ROWS = {
    "list": (500, 500),
    "calls": (320, 32),
    "sentence": (102, 1),
    "shell": (1000, 0),
}
AVX2 = dict.fromkeys(
    ("ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS", "CT2_FORCE_CPU_ISA"), "AVX2"
) | {"ATEN_CPU_CAPABILITY": "avx2"}
BUSY = [sys.executable, "-c", "while True: pass"]
OURS = ["float32", "int8"] if has_vnni() else ["float32"]
BATCH_TOKENS = 2048
Times = dict[str, list[list[float]]]  # of each system, of each round, of each call


@contextmanager
def setting(name: str) -> Iterator[int]:
    """The conditions of that name; gives the number of threads."""
    before, busy = dict(os.environ), None
    if name == "AVX2":
        os.environ.update(AVX2)
    if name == "beside a busy process":
        busy = subprocess.Popen(BUSY)
    try:
        yield 1 if name == "one thread" else 2
    finally:
        os.environ.clear()
        os.environ.update(before)
        if busy:
            busy.kill()
            busy.wait()


def take_turns(systems: Mapping[str, Callable[[], list[float]]], rounds: int) -> Times:
    """The seconds of each system's calls, after a round that is not counted."""
    times: Times = {name: [] for name in systems}
    for number in range(rounds + 1):
        names = list(systems)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            time.sleep(PAUSE)
            seconds = systems[name]()
            if number:
                times[name].append(seconds)
    return times


def asked(program: Program, request: dict[str, Any]) -> Callable[[], list[float]]:
    """A system: a program and what it is asked."""
    return lambda: list(program.ask(request)["found"])


def started(command: list[str], text: str, threads: int) -> Callable[[], list[float]]:
    """A system: a command that reads lines and writes their translations."""

    def run() -> list[float]:
        start = time.perf_counter()
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        quiet: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
        subprocess.run(
            command, input=text, text=True, check=True, env=environment, **quiet
        )
        return [time.perf_counter() - start]

    return run


def shell(lines: list[str], model: Path, beam: int, numbers: list[str], threads: int):
    """The systems of the row `shell`."""
    text = "\n".join(lines) + "\n"
    script = Path(__file__).with_name("usage_ctranslate2.py")
    ours = [sys.executable, "-m", "aiayn", "translate", "en-de", "--beam", str(beam)]
    systems = {}
    for number in numbers:
        flags = ["--int8"] if number == "int8" else []
        theirs = [sys.executable, script, model, number, threads, beam]
        systems[f"aiayn {number}"] = started([*ours, *flags], text, threads)
        systems[f"ctranslate2 {number}"] = started(
            [str(part) for part in theirs], text, threads
        )
    return systems


def race(
    row: str,
    lines: list[str],
    model: Path,
    beam: int,
    numbers: list[str],
    threads: int,
    rounds: int,
) -> Times:
    """The times of all systems in a row."""
    count, calls = ROWS[row]
    if row == "shell":
        systems = shell(lines[:count], model, beam, numbers, threads)
        return take_turns(systems, rounds)
    request = {"lines": lines[:count], "beam": beam, "calls": calls}
    programs, systems = list[Program](), {}
    for number in numbers:
        ours = Program("usage_aiayn.py", number, threads)
        theirs = Program("usage_ctranslate2.py", model, number, threads)
        programs += [ours, theirs]
        plain, batched = (
            request | {"batch_tokens": tokens} for tokens in (0, BATCH_TOKENS)
        )
        systems[f"aiayn {number}"] = asked(ours, plain)
        systems[f"ctranslate2 {number}"] = asked(theirs, plain)
        if row == "list":
            systems[f"ctranslate2 {number}, batches"] = asked(theirs, batched)
    try:
        return take_turns(systems, rounds)
    finally:
        for program in programs:
            program.close()


def summary(times: Times) -> dict[str, Any]:
    """Milliseconds of a call, median and 95th percentile, and the leads."""
    found: dict[str, Any] = {}
    whole = {name: [sum(each) for each in rounds] for name, rounds in times.items()}
    for name, rounds in times.items():
        calls = [1000 * call for seconds in rounds for call in seconds]
        found[name] = {"median": round(median(calls), 1)}
        if len(rounds[0]) > 1:
            found[name]["p95"] = round(quantiles(calls, n=20)[-1], 1)
    for number in OURS:
        if f"aiayn {number}" not in whole:
            continue
        rivals = [
            seconds
            for name, seconds in whole.items()
            if name.startswith("ctranslate2")
            and (number == "int8" or "float32" in name)
        ]
        ours = whole[f"aiayn {number}"]
        ratios = sorted(
            min(theirs) / mine for mine, *theirs in zip(ours, *rivals, strict=True)
        )
        spread = (ratios[0], median(ratios), ratios[-1])
        found[f"lead of {number}"] = [round(ratio, 2) for ratio in spread]
    return found


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    arguments = parser.parse_args()
    records.check_peers()
    lines = list(dict.fromkeys(aiayn.load_pairs("tatoeba", "en-de", "val").source))
    usual = [("two threads", beam, OURS) for beam in (1, 4)]
    other = ("one thread", "AVX2", "beside a busy process")
    cases = usual + [(name, 4, ["float32"]) for name in other]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model")
        write_ctranslate2(*aiayn.pretrained("en-de"), model)
        for name, beam, numbers in cases:
            for row in arguments.rows:
                with setting(name) as threads:
                    times = race(
                        row, lines, model, beam, numbers, threads, arguments.rounds
                    )
                rows.append(
                    {"row": row, "setting": name, "beam": beam, **summary(times)}
                )
                print(rows[-1], flush=True)
    if arguments.rows == list(ROWS):
        records.write("usage", {"rounds": arguments.rounds, "rows": rows})


if __name__ == "__main__":
    main()
