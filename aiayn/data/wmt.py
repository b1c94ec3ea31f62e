"""Reading text, and refusing it (paper, section 5.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-5-reading-text.ipynb
"""

__all__ = [
    "WMT14",
    "REVISION",
    "NEWSTEST",
    "wmt14_files",
    "newstest_files",
    "one_line",
    "train_folder",
    "write_train",
    "one_sentence",
    "fetch_train",
]


# book/11-5-reading-text.ipynb, cell wmt-imports
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import sacrebleu
from tqdm import tqdm

from aiayn.data.files import atomic_file, cache_folder, cache_lock, write_atomically
from aiayn.data.text import LONGEST, SPACES
from aiayn.errors import InputError, NotFetched

# book/11-5-reading-text.ipynb, cell wmt-files
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


# book/11-5-reading-text.ipynb, cell newstest
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


# book/11-5-reading-text.ipynb, cell wmt-train
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
        for sentences in fetch_train(pair):
            texts = {side: one_sentence(sentences[side]).encode() for side in files}
            whole = all(0 < len(text) <= LONGEST for text in texts.values())
            for side, text in texts.items() if whole else ():
                files[side].write(text + b"\n")
            kept, dropped = kept + whole, dropped + (not whole)
    counts = {"corpus": "wmt/wmt14", "pair": pair, "pairs": kept, "dropped": dropped}
    report = json.dumps(counts, indent=1) + "\n"
    write_atomically(folder / "report.json", report.encode())


# book/11-5-reading-text.ipynb, cell wmt-fetch
def one_sentence(text: str) -> str:
    """A text as one line, empty if blank; what would end it, and NUL, are spaces."""
    text = text.translate({ord(mark): " " for mark in "\n\r\0"}).strip()
    return text if text.strip(SPACES) else ""


def fetch_train(pair: str) -> Iterator[dict[str, str]]:
    """The pairs of WMT14's training text, each a dictionary by language.

    Raises
    ------
    InputError
        If the library is missing or the text cannot be fetched.
    """
    try:
        import datasets
        import huggingface_hub
    except ModuleNotFoundError:
        needs = "needs the datasets library: pip install 'aiayn[train]'"
        raise InputError(f"wmt14 train: {needs}") from None
    name = WMT14[pair]
    try:
        archive = huggingface_hub.snapshot_download(  # only what is missing
            "wmt/wmt14",
            repo_type="dataset",
            revision=REVISION,
            allow_patterns=f"{name}/train-*",
        )
        files = sorted(map(str, Path(archive, name).glob("train-*.parquet")))
        stream = datasets.load_dataset(
            "parquet",
            data_files=files,
            split="train",
            streaming=True,
        )
        with tqdm(desc=f"wmt14 {pair}", unit="pair", unit_scale=True) as bar:
            for batch in stream.iter(batch_size=1000):
                yield from batch["translation"]
                bar.update(len(batch["translation"]))
    except Exception as error:  # whatever the libraries below it raise
        raise NotFetched(
            f"wmt14 {pair}: cannot be fetched from Hugging Face ({one_line(error)}); "
            "try again, or put train files of your own into a folder and give its name "
            "in place of wmt14"
        ) from None
