# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""The training text of WMT14 and the newstest sets."""

# book/3-workshop/02-corpora.ipynb, cell wmt-imports
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sacrebleu
from jaxtyping import Bool
from tqdm import tqdm

from aiayn.data.download import import_extra
from aiayn.data.io import atomic_file, cache_folder, cache_lock, write_atomically
from aiayn.data.lines import check_not_blank
from aiayn.data.packed import MAX_LINE_BYTES
from aiayn.errors import InputError, NotFetched

# book/3-workshop/02-corpora.ipynb, cell wmt-files
WMT14 = {"en-de": "de-en", "en-fr": "fr-en"}  # our name of a pair, and Hugging Face's
REVISION = "b199e406369ec1b7634206d3ded5ba45de2fe696"  # of that archive
# our name of a split, the beginning of its file's name, and sacrebleu's name
NEWSTEST = {
    "val": ("newstest2013", "wmt13"),
    "newstest2013": ("newstest2013", "wmt13"),
    "test": ("newstest2014", "wmt14/full"),
    "newstest2014": ("newstest2014", "wmt14/full"),
    "newstest2014-filtered": ("newstest2014-filtered", "wmt14"),
}


def wmt14_files(pair: str, split: str) -> list[Path]:
    """The files of WMT14 with the source and with the target, fetched if need be.

    Raises
    ------
    InputError
        If there is no such pair or split, or it cannot be fetched.
    """
    source, target = pair.split("-")
    forward = pair if pair in WMT14 else f"{target}-{source}"
    if forward not in WMT14 or split not in ("train", *NEWSTEST):
        raise InputError(
            f"wmt14 has no {pair} {split}: pairs are {', '.join(WMT14)}, "
            f"in either direction, splits train, {', '.join(NEWSTEST)}"
        )
    if split == "train":
        folder = train_folder(forward)
        return [folder / f"train.{language}" for language in (source, target)]
    stem, name = NEWSTEST[split]
    both = "" if stem == "newstest2013" else "-" + forward.replace("-", "")
    data = os.environ.get("AIAYN_DATA")
    folder = Path(data or "", "wmt")
    here = [folder / f"{stem}{both}.{side}" for side in (source, target)]
    if data and all(map(os.path.isfile, here)):
        return here
    return newstest_files(name, pair, here)


# book/3-workshop/02-corpora.ipynb, cell newstest
def newstest_files(name: str, pair: str, here: list[Path]) -> list[Path]:
    """A test set through sacrebleu, which keeps it in ~/.sacrebleu.

    Raises
    ------
    InputError
        If sacrebleu cannot fetch it.
    """
    with cache_lock(cache_folder() / "newstest"):  # another worker may still write
        try:
            source = sacrebleu.get_source_file(name, pair)
            target = sacrebleu.get_reference_files(name, pair)[0]
        except (Exception, SystemExit) as error:  # the latter at a wrong checksum
            raise NotFetched(
                f"sacrebleu's {name}: cannot be fetched ({one_line(error)}); fetch it "
                f"elsewhere and put it at wmt/{here[0].name} and wmt/{here[1].name} "
                "in the folder that AIAYN_DATA names"
            ) from None
    return [Path(source), Path(target)]


def one_line(error: BaseException) -> str:
    """The first line of an error, or its kind."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


# book/3-workshop/02-corpora.ipynb, cell wmt-train
def train_folder(pair: str) -> Path:
    """The folder with WMT14's training text; the first call fetches it, gigabytes.

    Beside it lies `report.json` with the numbers of pairs kept and left out.

    Raises
    ------
    InputError
        If the text cannot be fetched or written.
    """
    folder = cache_folder() / "wmt14" / pair
    names = ("report.json", *(f"train.{side}" for side in pair.split("-")))
    files = [folder / name for name in names]
    if not all(map(os.path.exists, files)):
        with cache_lock(folder):  # one worker of a machine fetches, the others wait
            if not all(map(os.path.exists, files)):
                write_train(folder, pair)
    return folder


def write_train(folder: Path, pair: str) -> None:
    """Fetch the training text without pairs that have an empty or too long side."""
    kept = dropped = 0
    with contextlib.ExitStack() as stack:
        paths = {side: folder / f"train.{side}" for side in pair.split("-")}
        files = {side: stack.enter_context(atomic_file(paths[side])) for side in paths}
        for batch in fetch_train(pair):
            texts = {side: as_lines(batch[side]) for side in files}
            usable = np.logical_and.reduce([good for _, good in texts.values()])
            for side, (lines, _) in texts.items():
                chosen = [*lines.filter(usable).to_pylist(), ""]
                files[side].write("\n".join(chosen).encode())
            kept, dropped = kept + int(usable.sum()), dropped + int((~usable).sum())
    origin = {"corpus": "wmt/wmt14", "revision": REVISION, "pair": pair}
    report = json.dumps(origin | {"pairs": kept, "dropped": dropped}, indent=1) + "\n"
    write_atomically(folder / "report.json", report.encode())


# book/3-workshop/02-corpora.ipynb, cell wmt-lines
def as_lines(texts: Any) -> tuple[Any, Bool[np.ndarray, " texts"]]:
    """An array of texts as lines, and which of them `Lines` does not refuse."""
    import pyarrow.compute as pc

    ended = pc.replace_substring_regex(texts.fill_null(""), r"[\n\r\x00]", " ")
    lines = pc.utf8_trim_whitespace(ended)
    has_letters = pc.match_substring_regex(lines, "[0-9A-Za-z]")
    good = np.array(has_letters.to_numpy(zero_copy_only=False))
    for number in np.flatnonzero(~good).tolist():
        with contextlib.suppress(InputError):
            check_not_blank([lines[number].as_py()], "")
            good[number] = True
    short = pc.less_equal(pc.binary_length(lines), MAX_LINE_BYTES)
    return lines, good & short.to_numpy(zero_copy_only=False)


# book/3-workshop/02-corpora.ipynb, cell wmt-fetch
def fetch_train(pair: str) -> Iterator[dict[str, Any]]:
    """WMT14's training text, in parts: arrays of texts by language.

    Raises
    ------
    InputError
        If a library is missing or the text cannot be fetched.
    """
    hub, parquet = import_extra("huggingface_hub"), import_extra("pyarrow.parquet")
    pc, name = import_extra("pyarrow.compute"), WMT14[pair]
    try:
        archive = hub.snapshot_download(  # only what is missing
            "wmt/wmt14",
            repo_type="dataset",
            revision=REVISION,
            allow_patterns=f"{name}/train-*",
        )
        with tqdm(desc=f"wmt14 {pair}", unit="pair", unit_scale=True) as bar:
            for path in complete_set(Path(archive, name)):
                for part in parquet.ParquetFile(path).iter_batches(10_000):
                    texts = part.column("translation")
                    yield {k: pc.struct_field(texts, k) for k in pair.split("-")}
                    bar.update(len(texts))
    except Exception as error:  # whatever the libraries below it raise
        raise NotFetched(
            f"wmt14 {pair}: cannot be fetched from Hugging Face ({one_line(error)}); "
            "try again, or put train files of your own into a folder and give its name "
            "in place of wmt14"
        ) from None


# book/3-workshop/02-corpora.ipynb, cell wmt-whole-set
def complete_set(folder: Path) -> list[Path]:
    """The files `train-00000-of-00003.parquet` and so on, all of them."""
    files = sorted(folder.glob("train-*-of-*.parquet"))
    of = int(files[0].stem.rpartition("-")[2]) if files else 1
    names = {f"train-{number:05}-of-{of:05}.parquet" for number in range(of)}
    if missing := names - {path.name for path in files}:
        raise InputError(f"{folder / min(missing)} is not there")
    return files
