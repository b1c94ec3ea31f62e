"""Launch (paper, section 6.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
"""

__all__ = [
    "train",
    "translate",
    "evaluate",
    "keep_heap",
    "sample",
    "main",
]


# book/09-launch.ipynb, cell imports
import ctypes
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import tyro

from aiayn import laboratory
from aiayn.checkpoint import list_checkpoints, read_description
from aiayn.data import InputError, decode_lines, load_pairs
from aiayn.training import recipe
from aiayn.training import train as train_model
from aiayn.translation import SearchConfig, Translator, bleu


# book/09-launch.ipynb, cell train-command
def train(
    data: str,
    config: str,
    out: Path,
    pair: str = "en-de",
    minutes: float = math.inf,
    steps: int | None = None,
    vocabulary_size: int | None = None,
    seed: int = 1,
    drop_too_long: bool = False,
) -> None:
    """Train a model.

    Parameters
    ----------
    data : str
        multi30k, laboratory, or a folder with train.en, train.de, val.en, val.de (or another pair's files).
    config : str
        base, big, small or laboratory.
    out : Path
        A new folder for metrics and checkpoints.
    pair : str
        Languages, source first.
    minutes, steps : float, int
        Stop after so many, if the configuration does not stop before.
    vocabulary_size : int
        Pieces in the vocabulary of both languages.
    seed : int
        Of everything that is drawn.
    drop_too_long : bool
        Leave out sentences that are too long, rather than stop at the first.
    """
    settings = recipe(config, seed=seed)
    if steps is not None:
        settings = replace(settings, steps=steps)
    if vocabulary_size is not None:
        settings = replace(settings, model=replace(settings.model, vocabulary_size=vocabulary_size))
    keep_heap()
    train_model(settings, data, pair, out, minutes, drop_too_long)


# book/09-launch.ipynb, cell translate-command
def translate(
    run: tyro.conf.Positional[Path],
    beam: int = 4,
    alpha: float = 0.6,
    average: int | None = None,
) -> None:
    """Translate standard input to standard output, line by line.

    Parameters
    ----------
    run : Path
        A folder that `aiayn train` left.
    beam : int
        Prefixes kept at each step.
    alpha : float
        Strength of the length penalty.
    average : int, optional
        How many of the last checkpoints to average; the configuration's own number unless given.
    """
    keep_heap()
    translator = Translator.load(run, average, SearchConfig(beam, alpha))
    content = sys.stdin.buffer.read()
    lines = list(decode_lines(content, "standard input")) if content else []
    for translation in translator(lines, progress=sys.stderr.isatty()):
        print(translation)


# book/09-launch.ipynb, cell evaluate-command
def evaluate(
    run: tyro.conf.Positional[Path],
    split: str,
    data: str | None = None,
    pair: str | None = None,
    beam: int = 4,
    alpha: float = 0.6,
    average: int | None = None,
) -> None:
    """Translate a test set and print BLEU with its signature.

    Parameters
    ----------
    run : Path
        A folder that `aiayn train` left.
    split : str
        Which part of the corpus, such as test_2016_flickr.
    data, pair : str, optional
        Another corpus or pair of languages than the model was trained on.
    beam, alpha, average
        As for translate.
    """
    keep_heap()
    translator = Translator.load(run, average, SearchConfig(beam, alpha))
    training = read_description(list_checkpoints(run)[-1])["training"]
    pairs = load_pairs(data or training["data"], pair or training["pair"], split)
    score, signature = bleu(translator(pairs.source, progress=sys.stderr.isatty()), pairs.target)
    print(f"BLEU {score:.2f}  {signature}")


# book/09-launch.ipynb, cell keep-heap
def keep_heap() -> None:
    """Tell glibc to keep freed memory: pages that each step gives back and asks for again cost time."""
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return  # not glibc
    trim_threshold, mmap_max = -1, -4  # M_TRIM_THRESHOLD and M_MMAP_MAX of malloc.h
    libc.mallopt(mmap_max, 0)
    libc.mallopt(trim_threshold, (1 << 31) - 1)


# book/09-launch.ipynb, cell sample-command
def sample(
    n: int = 10,
    seed: int = 1,
    split: Literal["train", "valid", "test", "long", "novel", "pronouns"] = "train",
    span: int | None = None,
    with_tree: bool = False,
    with_alignment: bool = False,
) -> None:
    """Print sentence pairs of the laboratory, with tabs between the columns.

    Parameters
    ----------
    n, seed : int
        How many pairs, and which.
    split : str
        Part of the corpus.
    span : int, optional
        Only sentences with so many words between a verb and its particle or complement.
    with_tree, with_alignment : bool
        Also the English tree in brackets; also the alignment, as pairs of word numbers.
    """
    try:
        pairs = laboratory.sample(n, seed, split, span)
    except ValueError as error:
        raise InputError(str(error)) from None
    for pair in pairs:
        tree = [pair.tree] if with_tree else []
        alignment = [" ".join(f"{i}-{j}" for i, j in pair.alignment)] if with_alignment else []
        print(pair.source, pair.target, *tree, *alignment, sep="\t")


# book/09-launch.ipynb, cell main
def main() -> None:
    """The command `aiayn`; whatever is wrong with its input is one line, and exit code 2."""
    commands: dict[str, Any] = {
        "train": train,
        "translate": translate,
        "evaluate": evaluate,
        "sample": sample,
    }
    try:
        tyro.extras.subcommand_cli_from_dict(commands, prog="aiayn")
    except (InputError, OSError) as error:
        print(f"aiayn: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__" and "__file__" in globals():  # a notebook is __main__ too, but is no file
    main()
