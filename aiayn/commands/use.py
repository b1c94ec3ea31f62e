"""Launch (paper, section 6.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
"""

__all__ = [
    "RunArgument",
    "ModelOptions",
    "read_lines",
    "reporting_too_long",
    "translate",
    "parse",
    "convert",
    "evaluate",
]


# book/09-launch.ipynb, cell model-imports
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from aiayn.commands.evaluation import SEARCHES, report, score, write_record
from aiayn.data.text import decode_lines
from aiayn.errors import InputError
from aiayn.fast_paths import keep_heap
from aiayn.inside.view import write_attention
from aiayn.parsing.parser import Parser
from aiayn.training.trained_run import CORPORA, TrainedRun
from aiayn.translation.ctranslate2 import write_ctranslate2
from aiayn.translation.search import SearchConfig
from aiayn.translation.translator import TooLong, Translator

# book/09-launch.ipynb, cell model-options
RunArgument = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]


@dataclass(frozen=True)
class ModelOptions:
    """Which model, and how it searches."""

    run: RunArgument  # a folder that `aiayn train` left
    beam: int | None = None  # prefixes kept at each step: 4, of a parser 21, unless given
    alpha: float | None = None  # strength of the length penalty: 0.6, of a parser 0.3, unless given
    average: int | None = None  # how many of the last checkpoints; the recipe's number unless given
    device: str | None = None  # cpu, cuda, cuda:1, …; a GPU if there is one unless given

    def read(self, n_best: int = 1) -> tuple[TrainedRun, SearchConfig]:
        """The run, and how to search: as the paper does with such a model, but for what the flags change."""
        run = TrainedRun.read(self.run, self.average)
        changes: dict[str, Any] = {"beam": self.beam, "alpha": self.alpha, "n_best": n_best}
        given = {name: value for name, value in changes.items() if value is not None}
        return run, replace(SEARCHES[run.kind], **given)


# book/09-launch.ipynb, cell told-at-the-end
def read_lines() -> list[str]:
    """The lines of standard input; there are none if it is closed."""
    content = b"" if sys.stdin is None else sys.stdin.buffer.read()
    return list(decode_lines(content, "standard input")) if content else []


@contextmanager
def reporting_too_long() -> Iterator[None]:
    """Within it, sentences that are too long are left out; standard error says so, and the exit code is 1."""
    with warnings.catch_warnings(record=True, action="always", category=TooLong) as caught:
        yield
    left_out = [warning.message for warning in caught or () if warning.category is TooLong]
    for message in left_out:
        print(f"aiayn: standard input: {message}", file=sys.stderr)
    if left_out:
        sys.exit(1)


# book/09-launch.ipynb, cell translate-command
def translate(
    model: Annotated[ModelOptions, tyro.conf.arg(name="")],
    n_best: int | None = None,
    attention: Path | None = None,
) -> None:
    """Translate standard input to standard output, line by line.

    A sentence that is too long stays untranslated; standard error says so, and the exit code is 1.

    Parameters
    ----------
    n_best : int, optional
        Print so many translations, each with the number of its sentence and its score, tabs between them.
    attention : Path, optional
        A file for a page that shows where every head looked, in HTML.
    """
    wanted = 1 if n_best is None else n_best
    run, search = model.read(wanted)
    if run.kind == "parsing":
        raise InputError(f"{model.run}: a parser; use `aiayn parse`")
    keep_heap()
    translator = Translator(*run.load(model.device), search)
    lines = read_lines()
    with reporting_too_long():
        found = translator.n_best(lines, wanted, progress=sys.stderr.isatty())
        for number, translations in enumerate(found, start=1):
            rows = [(each.score, each.text) for each in translations] or [(0.0, "")]
            for value, text in rows:
                print(text if n_best is None else f"{number}\t{value:.4f}\t{text}")
        if attention is not None:
            texts = [each[0].text if each else "" for each in found]
            for message in write_attention(attention, translator, lines, texts):
                print(f"aiayn: not in {attention}: {message}", file=sys.stderr)


# book/09-launch.ipynb, cell parse-command
def parse(model: Annotated[ModelOptions, tyro.conf.arg(name="")], constrained: bool = True) -> None:
    """Print the tree of each line of standard input, in brackets; an empty line where there is none.

    Parameters
    ----------
    constrained : bool
        Let the search write trees only; without it, the search is the paper's.
    """
    run, search = model.read()
    if run.kind != "parsing":
        raise InputError(f"{model.run}: no parser; use `aiayn translate`")
    keep_heap()
    parser = Parser(Translator(*run.load(model.device), search), constrained)
    lines = read_lines()
    with reporting_too_long():
        for tree in parser(lines, progress=sys.stderr.isatty()):
            print("" if tree is None else tree)


# book/09-launch.ipynb, cell convert-command
def convert(
    run: RunArgument,
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")],
    average: int | None = None,
) -> None:
    """Write a model for CTranslate2, to a new folder.

    Parameters
    ----------
    run : Path
        A folder that `aiayn train` left.
    out : Path
        The new folder.
    average : int, optional
        How many of the last checkpoints; the recipe's number unless given.
    """
    write_ctranslate2(*TrainedRun.read(run, average).load("cpu"), out)


# book/09-launch.ipynb, cell evaluate-command
def evaluate(
    model: Annotated[ModelOptions, tyro.conf.arg(name="")],
    split: str | None = None,
    data: str | None = None,
    pair: str | None = None,
    forms: bool = False,
    against: Path | None = None,
    json: Path | None = None,
) -> None:
    """Translate a test set and print BLEU and chrF with 95% intervals; of a parser, its labelled F1.

    Parameters
    ----------
    split : str, optional
        Which part; newstest2014, test_2016_flickr or test unless given, val where a folder has no test.
    data : str, optional
        Another corpus than the model was trained on.
    pair : str, optional
        Other languages than the model was trained on.
    forms : bool
        Print BLEU in every form that people quote, of newstest2014 for all lines and for the filtered ones.
    against : Path, optional
        Another run, or a file of translations: print the difference, with interval and p-value.
    json : Path, optional
        A file to write the scores to, with all that belongs to them.
    """
    run, search = model.read()
    if run.kind == "parsing" and (pair or forms or against):
        raise InputError(f"{model.run}: a parser, which F1 is for; leave out --pair, --forms and --against")
    keep_heap()
    record = score(run, search, data, pair, split, forms, sys.stderr.isatty(), model.device, against)
    print(report(record))
    if data is None and record["data"] not in CORPORA:  # a run from elsewhere may name any folder
        print(f"aiayn: scored on {record['data']}, as the run says", file=sys.stderr)
    if json is not None:
        write_record(json, record)
