"""Encode a large corpus, watch the memory, and write book/runs/encoding.json.

python bench/encoding.py [--pairs 5000000] [--vocabulary 8000]
python bench/encoding.py --data wmt14 --pair en-de --vocabulary 37000

The second writes encoding-wmt14-en-de.json. Without --data the pairs are made, each of
two synthetic ones; text and cache go to a temporary folder. Linux only: memory is
read from /proc. "anonymous" memory is what a process has to hold; the rest of what is
"resident" are pages of files, which the system can drop at any time.
"""

import argparse
import contextlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import records

from aiayn.data import Batches, Vocabulary, load_pairs, train_vocabulary
from aiayn.data.tokenized import Encoded, encode_corpus
from aiayn.synthetic import sample

TOKENS, STEPS = 25_000, 200


def memory(process: int | str) -> tuple[float, float]:
    """MiB resident, and MiB of it that are anonymous."""
    with contextlib.suppress(OSError, KeyError):  # it has ended
        lines = (
            line.split()
            for line in Path(f"/proc/{process}/status").read_text().splitlines()
        )
        sizes = {
            words[0]: int(words[1]) / 1024
            for words in lines
            if words[0] in ("VmRSS:", "RssAnon:")
        }
        return sizes["VmRSS:"], sizes["RssAnon:"]
    return 0.0, 0.0


def children() -> list[str]:
    """The processes that this one has started."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [child for task in tasks for child in task.read_text().split()]


@contextlib.contextmanager
def watched(stages: dict[str, dict[str, float]], name: str) -> Iterator[None]:
    """Note the seconds of a stage, and the greatest memory of this process, of any
    worker, and of all.
    """
    peak = {
        "resident_mib": 0.0,
        "anonymous_mib": 0.0,
        "worker_anonymous_mib": 0.0,
        "all_anonymous_mib": 0.0,
    }
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            (resident, own), workers = (
                memory("self"),
                [memory(child)[1] for child in children()],
            )
            now = (resident, own, max(workers, default=0.0), own + sum(workers))
            peak.update(
                {
                    key: max(peak[key], value)
                    for key, value in zip(peak, now, strict=True)
                }
            )
            over.wait(0.05)

    thread = threading.Thread(target=look)
    began = time.monotonic()
    thread.start()
    yield
    over.set()
    thread.join()
    stages[name] = {
        "seconds": round(time.monotonic() - began, 1),
        **{key: round(v) for key, v in peak.items()},
    }


def write_made(folder: Path, pairs: int) -> None:
    """Write `train.en` and `train.de`, each pair two synthetic ones in one."""
    drawn = sample(20_000)
    generator = np.random.default_rng(1)
    with (
        (folder / "train.en").open("w") as english,
        (folder / "train.de").open("w") as german,
    ):
        for _ in range(0, pairs, 10_000):
            for one, other in generator.integers(len(drawn), size=(10_000, 2)).tolist():
                english.write(f"{drawn[one].source} {drawn[other].source}\n")
                german.write(f"{drawn[one].target} {drawn[other].target}\n")


def learn(data: str, pair: str, size: int) -> Vocabulary:
    """A vocabulary of the training text."""
    pairs = load_pairs(data, pair, "train")
    return train_vocabulary(chain(pairs.source, pairs.target), size)


def an_epoch(encoded: Encoded) -> dict[str, float]:
    """Group an epoch and make some of its batches."""
    batches = Batches(encoded, encoded.lengths, TOKENS, seed=1)
    made = [batches[step] for step in range(1, min(STEPS, batches.steps_per_epoch) + 1)]
    padding = 1 - sum(batch.tokens for batch in made) / sum(
        batch.positions for batch in made
    )
    return {
        "steps_per_epoch": batches.steps_per_epoch,
        "batches": len(made),
        "padding": round(padding, 4),
    }


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Everything from the text to the batches."""
    stages: dict[str, dict[str, float]] = {}
    with watched(stages, "text"):
        if arguments.data is None:
            write_made(folder, arguments.pairs)
    with watched(stages, "open"):
        pairs = load_pairs(arguments.data or str(folder), arguments.pair, "train")
    # In a process of its own, so that memory which it has freed but kept is not
    # counted as the others'.
    with (
        watched(stages, "vocabulary"),
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
    ):
        vocabulary = pool.submit(
            learn, arguments.data or str(folder), arguments.pair, arguments.vocabulary
        ).result()
    with watched(stages, "encoding"):
        encoded = encode_corpus(vocabulary, pairs, 256, True, progress=True)
    with watched(stages, "open encoded"):
        encode_corpus(vocabulary, pairs, 256, True)
    with watched(stages, "batches"):
        epoch = an_epoch(encoded)
    texts = [Path(name) for name in (pairs.source_name, pairs.target_name)]
    report = texts[0].with_name("report.json")
    return {
        "pairs": len(pairs),
        "preparation": json.loads(report.read_text()) if report.exists() else None,
        "text_bytes": sum(path.stat().st_size for path in texts),
        "vocabulary": len(vocabulary),
        "tokens": len(encoded.tokens),
        "too_long": encoded.dropped,
        "encoded_bytes": sum(
            (encoded.folder / name).stat().st_size
            for name in ("tokens", "lengths", "starts")
        ),
        "stages": stages,
        **epoch,
    }


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a corpus or folder in place of made pairs")
    parser.add_argument("--pair", default="en-de")
    parser.add_argument(
        "--pairs",
        type=int,
        default=5_000_000,
        help="how many are made, in ten thousands",
    )
    parser.add_argument("--vocabulary", type=int, default=8000)
    arguments = parser.parse_args()
    name = (
        "encoding"
        if arguments.data is None
        else f"encoding-{Path(arguments.data).name}-{arguments.pair}"
    )
    at_start = memory("self")[1]
    with tempfile.TemporaryDirectory() as folder:
        if arguments.data is None:
            os.environ["AIAYN_CACHE"] = folder
        found = measure(arguments, Path(folder))
    records.write(name, {"anonymous_mib_at_start": round(at_start), **found})


if __name__ == "__main__":
    main()
