# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""Pairs from tables and plain files, packed or not, and from Hugging Face."""

# book/3-workshop/02-corpora.ipynb, cell formats-imports
import csv
import hashlib
import json
import logging
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from aiayn.data.columns import (
    check_sides_differ,
    column_keys,
    languages_of,
    sides_of,
    unwrapped,
)
from aiayn.data.corpora import Pairs
from aiayn.data.download import import_extra
from aiayn.data.io import (
    atomic_file,
    cache_folder,
    cache_lock,
    open_file,
    printable,
    read_bytes,
    write_atomically,
)
from aiayn.data.lines import BYTE_ORDER_MARK, Lines, check_not_blank, decode_block
from aiayn.data.packed import MAX_LINE_BYTES, PACKED, line_blocks
from aiayn.errors import InputError, NotFetched

LOG = logging.getLogger(__name__)  # the command line shows what it says
HUB = "hf://datasets/"


# book/3-workshop/02-corpora.ipynb, cell rows
def table_form(path: Path) -> str:
    """What kind of table a file is, by its name: .csv, .json, .parquet, or .tsv."""
    suffixes = [each for each in path.suffixes if each not in PACKED]
    form = suffixes[-1].casefold() if suffixes else ""
    form = {".jsonl": ".json", ".ndjson": ".json", ".tab": ".tsv"}.get(form, form)
    return form if form in (".csv", ".json", ".parquet", ".tsv") else ""


def json_row(line: str) -> Any:
    """A line of JSON, if it may hold a pair."""
    if isinstance(row := json.loads(line), dict | list):
        return row
    raise ValueError("neither an object nor a list")


def line_parser(path: Path) -> Callable[[str], Any]:
    """What makes a row of a line of a table."""
    form = table_form(path)
    if form == ".json":
        return json_row
    if form != ".csv":
        return partial(str.split, sep="\t")
    first, _, _ = next(line_blocks(path), b"").partition(b"\n")
    sign = ";" if first.count(b";") > first.count(b",") else ","
    return lambda line: next(csv.reader([line], delimiter=sign, strict=True))


# book/3-workshop/02-corpora.ipynb, cell line-rows
def line_rows(path: Path, parse: Callable[[str], Any]) -> Iterator[Any]:
    """What `parse` makes of each line of a file, or an InputError in its place."""
    number = 0
    for block in line_blocks(path):
        for line in block.removesuffix(b"\n").split(b"\n"):
            number += 1
            place = f"{path}, line {number}"
            if len(line) > MAX_LINE_BYTES:
                raise InputError(f"{place}: longer than {MAX_LINE_BYTES:,} bytes")
            try:
                text = decode_block(line, str(path), number - 1)
                check_not_blank([text], str(path), number - 1)
                yield parse(text.lstrip(BYTE_ORDER_MARK))
            except InputError as error:
                yield error
            except (ValueError, csv.Error, RecursionError) as error:
                yield InputError(f"{place}: {printable(error)}; a line holds one pair")


def parallel_rows(source: Path, target: Path) -> Iterator[Any]:
    """Lines of two plain files side by side; an InputError if one has more."""
    both = zip_longest(line_rows(source, str), line_rows(target, str))
    for number, sides in enumerate(both):
        if None in sides:
            fewer, more = (source, target) if sides[0] is None else (target, source)
            rule = "line k of the one must be the translation of line k of the other"
            raise InputError(f"{fewer}: {number:,} lines, {more} has more; {rule}")
        yield next((each for each in sides if isinstance(each, InputError)), sides)


# book/3-workshop/02-corpora.ipynb, cell parquet-rows
def parquet_rows(paths: Iterable[Path]) -> Iterator[Any]:
    """The records of Parquet files, by the names of their columns."""
    parquet = import_extra("pyarrow.parquet")
    for path in paths:
        try:
            with open_file(path) as raw, parquet.ParquetFile(raw) as file:
                for part in file.iter_batches(10_000):
                    yield from part.to_pylist()
        except (OSError, import_extra("pyarrow").ArrowException) as error:
            raise InputError(f"{path}: cannot be read ({printable(error)})") from None


def hub_files(address: str) -> list[Path]:
    """The Parquet files of a dataset's split on Hugging Face, fetched if need be.

    Hugging Face keeps them beside each dataset, whatever form that has.
    """
    names = address.removeprefix(HUB).split("/")
    if len(names) != 4:
        raise InputError(f"{address}: give {HUB}OWNER/NAME/CONFIG/SPLIT")
    owner, name, config, split = names
    hub = import_extra("huggingface_hub")
    try:
        folder = hub.snapshot_download(
            f"{owner}/{name}",
            repo_type="dataset",
            revision="refs/convert/parquet",
            allow_patterns=f"{config}/{split}/*.parquet",
        )
    except Exception as error:  # whatever the libraries below it raise
        raise NotFetched(f"{address}: cannot be fetched ({printable(error)})") from None
    if not (files := sorted(Path(folder, config, split).glob("*.parquet"))):
        raise InputError(f"{address}: no such configuration or split")
    return files


# book/3-workshop/02-corpora.ipynb, cell write-pairs
def write_pairs(
    rows: Iterable[Any],
    folder: Path,
    name: str,
    columns: str | None,
    pair: str | None,
    skip_bad_lines: bool,
) -> None:
    """Write source and target of all rows to two files, and a report beside them."""
    keys, labels, width, same = list[Any](), list[str](), 0, 0
    numbers, left_out, first = array("q"), 0, ""
    with (
        atomic_file(folder / "source") as source_file,
        atomic_file(folder / "target") as target_file,
    ):
        for number, row in enumerate(map(unwrapped, rows), start=1):
            if not keys and not isinstance(row, InputError):
                place = f"{name}, line {number}"
                keys, labels, headed = column_keys(row, columns, pair, place)
                width = len(row)
                if headed:
                    continue
            try:
                source, target = sides_of(row, keys, width, name, number)
            except InputError as error:
                if not skip_bad_lines:
                    advice = "skip_bad_lines leaves such lines out"
                    advice += ", and batches.skip_long pairs that are too long"
                    raise InputError(f"{error}; {advice}") from None
                left_out, first = left_out + 1, first or str(error)
                continue
            source_file.write(f"{source}\n".encode())
            target_file.write(f"{target}\n".encode())
            same += source == target
            numbers.append(number)
        check_sides_differ(len(numbers), same, name)
        if not numbers:
            raise InputError(f"{name}: no pairs; there should be one on each line")
    write_atomically(folder / "lines", numbers.tobytes())
    report = {"labels": labels, "left_out": left_out, "first": first}
    write_atomically(folder / "report.json", json.dumps(report).encode())


# book/3-workshop/02-corpora.ipynb, cell read-pairs
def rows_of(
    files: tuple[Path | str, ...], columns: str | None
) -> tuple[list[Path], Callable[[], Iterator[Any]]]:
    """The files of a table or of two plain texts, and what gives their rows."""
    name = ", ".join(map(str, files))
    paths = [Path(file) for file in files]
    if len(files) == 1 and name.startswith(HUB):
        paths = hub_files(name)
        return paths, partial(parquet_rows, paths)
    if len(files) == 1 and table_form(paths[0]) == ".parquet":
        return paths, partial(parquet_rows, paths)
    if len(files) == 1:
        return paths, partial(line_rows, paths[0], line_parser(paths[0]))
    distinct = len({*paths}) == len(paths) == 2
    if not distinct or columns or any(map(table_form, paths)):
        raise InputError(f"{name}: give one table, or two plain files, a.en b.de")
    return paths, partial(parallel_rows, *paths)


# book/3-workshop/02-corpora.ipynb, cell read-pairs-function
def read_pairs(
    *files: Path | str,
    columns: str | None = None,
    pair: str | None = None,
    skip_bad_lines: bool = False,
) -> Pairs:
    """Pairs from a table, or from two plain files, source first.

    Parameters
    ----------
    files : Path or str
        A .tsv, .csv, .jsonl or .parquet file, or `hf://datasets/OWNER/NAME/CONFIG/
        SPLIT`; or two files with a sentence on each line. All but Parquet also packed
        as .gz, .xz or .zip.
    columns : str, optional
        Those of source and target: `en,de`, or counted, `1,2`.
    pair : str, optional
        The languages, source first: `en-de`.
    skip_bad_lines : bool
        Leave out lines with a fault, and warn how many; otherwise the first is refused.

    Raises
    ------
    InputError
        If a file or a line is at fault, or it is not clear which columns are meant.
    """
    paths, rows = rows_of(files, columns)
    name = ", ".join(map(str, files))
    key = files_key(paths, (columns, pair, skip_bad_lines))
    folder = cache_folder() / "pairs" / key
    with cache_lock(folder):
        if not (folder / "report.json").exists():
            write_pairs(rows(), folder, name, columns, pair, skip_bad_lines)
    return written_pairs(folder, files, pair)


# book/3-workshop/02-corpora.ipynb, cell written-pairs
def files_key(paths: list[Path], asked: object) -> str:
    """A checksum of files, their kinds, and what is asked of them."""
    key = hashlib.blake2b(repr(asked).encode(), digest_size=20)
    for path in paths:
        key.update(table_form(path).encode())
        with open_file(path) as file:
            key.update(hashlib.file_digest(file, "sha256").digest())
    return key.hexdigest()


def written_pairs(
    folder: Path, names: tuple[Path | str, ...], pair: str | None
) -> Pairs:
    """What `write_pairs` wrote; says how many lines it left out."""
    report = json.loads(read_bytes(folder / "report.json"))
    numbers = array("q", read_bytes(folder / "lines"))
    labels = report["labels"]
    if len(names) == 2:
        labels = [plain_suffix(Path(name)) for name in names]
        sides = [str(name) for name in names]
    else:
        sides = [f"{names[0]}, column {label}" for label in labels]
    languages = languages_of(labels)
    if pair and languages and pair != languages:
        fault = f"{sides[0]} would be the source, of {pair}"
        raise InputError(f"{fault}; give the files in that order, or pair={languages}")
    if report["left_out"]:
        lines = len(numbers) + report["left_out"]
        counts = f"{report['left_out']:,} of {lines:,} lines are left out"
        LOG.warning("aiayn: %s: %s; the first: %s", names[0], counts, report["first"])
    return Pairs(
        Lines(folder / "source", sides[0]),
        Lines(folder / "target", sides[1]),
        *sides,
        languages=languages or pair,
        line_numbers=numbers if numbers[-1] != len(numbers) else None,
    )


def plain_suffix(path: Path) -> str:
    """What the name of a file ends in, without .gz and the like: en of a.en.gz."""
    return [each for each in ("", *path.suffixes) if each not in PACKED][-1][1:]
