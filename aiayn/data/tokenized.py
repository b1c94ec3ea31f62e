# Made by `make export` from book/3-workshop/03-tokenized-data.ipynb
"""A tokenized corpus that is kept in the cache and mapped into memory."""

# book/3-workshop/03-tokenized-data.ipynb, cell encoding-imports
import hashlib
import json
import math
import multiprocessing
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Integer
from tqdm import tqdm

from aiayn.data.batching import too_long_error
from aiayn.data.corpora import Pairs
from aiayn.data.io import cache_folder, cache_lock, usable_cache
from aiayn.data.lines import Lines
from aiayn.data.shards import encode_shard, join_shards, number_types
from aiayn.data.vocabulary import Vocabulary
from aiayn.errors import InputError

SHARD_PAIRS = 50_000  # pairs in a file of those that are joined in the end
MAX_UNKNOWN = 0.01  # share of unknown tokens from which on there is a warning
VERSION = 3  # of the files: other versions of this package leave them alone
# Shards in the making: while one waits for sentencepiece, the other's lists are packed.
SHARDS_AT_ONCE = 2


# book/3-workshop/03-tokenized-data.ipynb, cell encoded
class Encoded:
    """The tokens of a corpus, in files mapped into memory: only what is used is read.

    Attributes
    ----------
    lengths : array of int, pairs x 2
        Tokens of the source and of the target of each pair, their ends included.
    dropped, unequal : int
        Pairs that were too long, and others whose sides were too unequal in length.
    unknown : float
        Share of tokens that are unknown to the vocabulary.
    """

    def __init__(
        self, folder: Path, types: dict[str, str], report: dict[str, Any]
    ) -> None:
        self.folder, self.types, self.report = folder, types, report
        maps = {
            name: np.asarray(np.memmap(folder / name, kind, mode="r"))
            for name, kind in types.items()
        }
        self.tokens, self.starts = maps["tokens"], maps["starts"]
        self.lengths: Integer[np.ndarray, "pairs 2"] = maps["lengths"].reshape(-1, 2)
        self.dropped, self.unequal = report["dropped"], report["unequal"]
        self.unknown = report["unknown"]

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        start = int(self.starts[index])
        source, target = self.lengths[index].tolist()
        middle = start + source
        return self.tokens[start:middle], self.tokens[middle : middle + target]

    def __reduce__(self) -> tuple[Any, ...]:
        # To another process goes the name, not the content.
        return Encoded, (self.folder, self.types, self.report)


# book/3-workshop/03-tokenized-data.ipynb, cell whole
def read_report(folder: Path) -> dict[str, Any] | None:
    """The report on a corpus, which is written last; None if it is not there."""
    path = folder / "report.json"
    return json.loads(path.read_bytes()) if path.exists() else None


# book/3-workshop/03-tokenized-data.ipynb, cell text-key
def text_key(pairs: Pairs, *settings: object) -> str:
    """A checksum of a text and of what decides on what is made of it."""
    key = hashlib.blake2b(f"{VERSION} {settings}".encode(), digest_size=20)
    for side in (pairs.source, pairs.target):
        if isinstance(side, Lines):
            key.update(side.checksum.encode())
        else:
            for line in side:
                key.update(line.encode() + b"\n")
    return key.hexdigest()


# book/3-workshop/03-tokenized-data.ipynb, cell encode-missing
def encode_missing(
    folder: Path,
    vocabulary: Vocabulary,
    pairs: Pairs,
    max_length: int,
    skip_long: bool,
    progress: bool,
    max_ratio: float,
) -> dict[str, Any]:
    """Encode those shards of a corpus that are not in the folder yet, and join them."""
    size = len(pairs)
    starts = range(0, size, SHARD_PAIRS)
    shards = [folder / f"{number:05}.npz" for number in range(len(starts))]

    def make(path: Path, start: int) -> int:
        stop = min(start + SHARD_PAIRS, size)
        if not path.exists():
            long = encode_shard(
                path, vocabulary, pairs, start, stop, max_length, max_ratio
            )
            if long and not skip_long:
                line, source, target = long
                raise too_long_error(pairs, line, source, target, max_length)
        return stop - start

    named: dict[str, Any] = {"desc": "encoding", "unit": "pair", "unit_scale": True}
    with (
        tqdm(total=size, disable=not progress, **named) as bar,
        ThreadPoolExecutor(SHARDS_AT_ONCE) as pool,
    ):
        for made in pool.map(make, shards, starts):
            bar.update(made)
    return join_shards(folder, shards, max_length)


# book/3-workshop/03-tokenized-data.ipynb, cell encode-corpus
def encode_corpus(
    vocabulary: Vocabulary,
    pairs: Pairs,
    max_length: int,
    skip_long: bool = False,
    progress: bool = False,
    max_ratio: float | None = None,
) -> Encoded:
    """Tokens of every pair, with the end-of-sentence token, kept in the cache.

    Pairs with a side that has more than `max_ratio` times the other's tokens are left
    out, and counted.

    If it is interrupted, the next call goes on where this one stopped, to within
    two shards. One process of a machine does the work, the others wait. A
    warning says if the vocabulary seems to have been learned from other text.

    Raises
    ------
    InputError
        If a side has more than `max_length` tokens and such pairs are not dropped, or
        the cache cannot be used.
    """
    ratio = math.inf if max_ratio is None else max_ratio
    key = text_key(pairs, max_length, vocabulary.model, ratio)
    folder = cache_folder() / "encoded" / key
    with usable_cache(folder.parent):
        report = read_report(folder)
        if report is None:
            with cache_lock(folder):
                report = read_report(folder) or encode_missing(
                    folder,
                    vocabulary,
                    pairs,
                    max_length,
                    skip_long,
                    progress,
                    max_ratio=ratio,
                )
    check_left_out(report, pairs, max_length, skip_long)
    return Encoded(folder, number_types(len(vocabulary), max_length), report)


# book/3-workshop/03-tokenized-data.ipynb, cell checked
def check_left_out(
    report: dict[str, Any], pairs: Pairs, max_length: int, skip_long: bool
) -> None:
    """Refuse a corpus with pairs too long, or none left; warn of unknown tokens."""
    if report["dropped"] and not skip_long:
        line, source, target = report["first_dropped"]
        raise too_long_error(pairs, line, source, target, max_length)
    if report["dropped"] + report["unequal"] == len(pairs):
        at_most = f"no pairs of at most max_length={max_length} tokens"
        at_most += " and max_ratio" * bool(report["unequal"])
        raise InputError(f"{pairs.source_name}: {at_most}; raise it")
    if report["unknown"] > MAX_UNKNOWN:
        warnings.warn(
            f"{pairs.source_name}: {report['unknown']:.0%} of the tokens are unknown "
            "to the vocabulary; was it learned from other text?",
            stacklevel=3,
        )


# book/3-workshop/03-tokenized-data.ipynb, cell processes
def available_cpus() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_script() -> None:
    """Raise an InputError if a worker is still reading the script that started it."""
    named = multiprocessing.current_process().name != "MainProcess"
    if named and multiprocessing.parent_process() is None:
        raise InputError("in a script, call this below `if __name__ == '__main__':`")
