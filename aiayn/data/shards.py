# Made by `make export` from book/3-workshop/03-tokenized-data.ipynb
"""The files of a tokenized corpus, written one part at a time."""

# book/3-workshop/03-tokenized-data.ipynb, cell shards-imports
import contextlib
import io
import json
import math
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from aiayn.data.corpora import Pairs
from aiayn.data.io import atomic_file, write_atomically
from aiayn.data.vocabulary import UNK_ID, Vocabulary

FILE_NAMES = ("tokens", "lengths", "starts")  # of an encoded corpus
PAIRS_AT_ONCE = 5000  # pairs whose tokens are lists, which are larger than arrays


# book/3-workshop/03-tokenized-data.ipynb, cell number-types
def token_type(number: int) -> str:
    """The type of number for tokens of a vocabulary of this size."""
    return "uint16" if number <= 1 << 16 else "uint32"


def number_types(vocabulary_size: int, max_length: int) -> dict[str, str]:
    """The types of the numbers in the files of an encoded corpus."""
    types = (token_type(vocabulary_size), token_type(max_length + 1), "int64")
    return dict(zip(FILE_NAMES, types, strict=True))


# book/3-workshop/03-tokenized-data.ipynb, cell encode-shard
def encode_shard(
    path: Path,
    vocabulary: Vocabulary,
    pairs: Pairs,
    start: int,
    stop: int,
    max_length: int,
    max_ratio: float = math.inf,
) -> tuple[int, int, int] | None:
    """Write the tokens of the pairs `start` up to `stop`, counted from 0, to a file.

    Pairs that have more than `max_length` tokens on a side are left out, and those with
    more than `max_ratio` times as many as on the other. Gives the first that is too
    long: its line, and its tokens on either side.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    types = number_types(len(vocabulary), max_length)
    tokens, lengths = list[np.ndarray](), list[tuple[int, int]]()
    left_out = list[tuple[int, int, int]]()
    for first in range(start, stop, PAIRS_AT_ONCE):
        part = slice(first, min(first + PAIRS_AT_ONCE, stop))
        rows = list[list[int]]()
        sides = (vocabulary.encode(side[part]) for side in (pairs.source, pairs.target))
        for line, (source, target) in enumerate(zip(*sides, strict=True), first + 1):
            short, long = sorted((len(source), len(target)))
            if long > max_length or long > max_ratio * short:
                left_out.append((line, len(source), len(target)))
            else:
                rows += source, target
                lengths.append((len(source), len(target)))
        tokens.append(np.fromiter(chain.from_iterable(rows), types["tokens"]))
    shard = io.BytesIO()
    np.savez(
        shard,
        tokens=np.concatenate(tokens),
        lengths=np.array(lengths, types["lengths"]).reshape(-1, 2),
        left_out=np.array(left_out, np.int64).reshape(-1, 3),
    )
    write_atomically(path, shard.getvalue())
    return next((row for row in left_out if max(row[1:]) > max_length), None)


# book/3-workshop/03-tokenized-data.ipynb, cell join-shards
def join_shards(folder: Path, shards: list[Path], max_length: int) -> dict[str, Any]:
    """Join the shards of a corpus, and write a report.

    `tokens` has source and target of each pair, one behind the other; `lengths` how
    many they are; `starts` where a pair begins. `report.json` comes last.
    """
    end, left_out, unknown = 0, list[list[int]](), 0
    with contextlib.ExitStack() as stack:
        opened = (
            stack.enter_context(atomic_file(folder / name)) for name in FILE_NAMES
        )
        files = dict(zip(FILE_NAMES, opened, strict=True))
        for path in shards:
            with np.load(path) as shard:
                parts = dict(shard)
            left_out += parts.pop("left_out").tolist()
            sizes = parts["lengths"].sum(axis=1, dtype=np.int64)
            parts["starts"] = end + sizes.cumsum() - sizes
            for name, part in parts.items():
                files[name].write(part.tobytes())
            end += int(sizes.sum())
            unknown += int((parts["tokens"] == UNK_ID).sum())
    dropped = [row for row in left_out if max(row[1:]) > max_length]
    report = {
        "dropped": len(dropped),
        "first_dropped": dropped[0] if dropped else None,
        "unequal": len(left_out) - len(dropped),
        "unknown": unknown / max(end, 1),
    }
    write_atomically(folder / "report.json", json.dumps(report).encode())
    for path in shards:
        path.unlink()
    return report
