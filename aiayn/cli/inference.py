"""The verbs that use a trained model.

Made by `make export` from "Launch" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/5-launch/1-launch.ipynb
"""

# book/5-launch/1-launch.ipynb, cell model-imports
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro
from tqdm import tqdm

from aiayn.cli.evaluation import (
    SEARCHES,
    format_scores,
    score,
    unfinished,
    write_record,
)
from aiayn.cli.test_sets import collected_warnings
from aiayn.data.lines import MAX_LINE_BYTES, decode_lines
from aiayn.decoding.beam_search import SearchConfig
from aiayn.decoding.quantization import Compute
from aiayn.device import keep_heap
from aiayn.errors import InputError
from aiayn.parsing.parser import Parser
from aiayn.training.trained_run import CORPORA, TrainedRun
from aiayn.translation.ctranslate2 import write_ctranslate2
from aiayn.translation.translator import CutOff, Translator, incomplete
from aiayn.visualization.page import write_attention

# book/5-launch/1-launch.ipynb, cell model-options
RunArgument = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]


@dataclass(frozen=True)
class ModelOptions:
    """Which model, and how it searches."""

    run: RunArgument  # a folder that `aiayn train` left
    # prefixes kept at each step: 4, of a parser 21, unless given
    beam: int | None = None
    # strength of the length penalty: 0.6, of a parser 0.3, unless given
    alpha: float | None = None
    # how many of the last checkpoints; the recipe's number unless given
    average: int | None = None
    # cpu, cuda, cuda:1, …; a GPU if there is one unless given
    device: str | None = None
    # weights in eight bits, on a processor: nearly the same; a wide model is sooner
    int8: bool = False

    @property
    def compute(self) -> Compute:
        """In what numbers."""
        return "int8" if self.int8 else "float32"

    def read(self, n_best: int = 1) -> tuple[TrainedRun, SearchConfig]:
        """The run, and the paper's search for its kind, changed as the flags say."""
        run = TrainedRun.read(self.run, self.average)
        flags = {"beam": self.beam, "alpha": self.alpha, "n_best": n_best}
        changes: Any = {
            name: value for name, value in flags.items() if value is not None
        }
        return run, replace(SEARCHES[run.kind], **changes)


# book/5-launch/1-launch.ipynb, cell told-at-the-end
LINES_AT_ONCE = 1000  # lines that are translated at a time, at most
INPUT = "standard input"


def arriving_lines() -> Iterator[list[str]]:
    """The lines of standard input, as many at a time as are there."""
    stream: Any = sys.stdin and sys.stdin.buffer  # a shell may have closed it
    text, number, more = b"", 0, stream is not None
    while more:
        arrived = stream.read1(1 << 16)
        text, more = text + arrived, bool(arrived)
        end = text.rfind(b"\n") + 1 if more else len(text)
        lines = list(decode_lines(text[:end], INPUT, number))
        for first in range(0, len(lines), LINES_AT_ONCE):
            yield lines[first : first + LINES_AT_ONCE]
        text, number = text[end:], number + len(lines)
        if len(text) > MAX_LINE_BYTES:
            place = f"{INPUT}, line {number + 1}"
            long = f"longer than {MAX_LINE_BYTES:,} bytes, for a sentence; split it"
            raise InputError(f"{place}: {long}")


def blocks(unit: str) -> Iterator[tuple[int, list[str]]]:
    """These lines, with the number of those before; what is printed then goes out.

    A bar shows how many there have been, unless it would stand among them.
    """
    bar = sys.stderr.isatty() and not sys.stdout.isatty()
    with tqdm(unit=unit, disable=not bar) as shown:
        before = 0
        for lines in arriving_lines():
            yield before, lines
            sys.stdout.flush()
            before += len(lines)
            shown.update(len(lines))


# book/5-launch/1-launch.ipynb, cell translate-command
def translate(
    model: Annotated[ModelOptions, tyro.conf.arg(name="")],
    n_best: int | None = None,
    attention: Path | None = None,
) -> None:
    """Translate the lines of standard input, and print them as they are done.

    At most a thousand lines are done at a time. One that is too long stays
    untranslated; standard error says so at the end, and the exit code is 1.

    Parameters
    ----------
    n_best : int, optional
        Print so many translations, with sentence number and score, tabs between them.
    attention : Path, optional
        A file for a page that shows where every head looked, in HTML.
    """
    count = 1 if n_best is None else n_best
    run, search = model.read(count)
    if run.kind == "parsing":
        raise InputError(f"{model.run}: a parser; use `aiayn parse`")
    keep_heap()
    sources, texts = list[str](), list[str]()  # for the page
    with collected_warnings(INPUT) as left_out:
        translator = Translator(*run.load(model.device), search, compute=model.compute)
        for before, lines in blocks("line"):
            n_best_lists = translator.n_best(lines, count, before=before)
            for number, translations in enumerate(n_best_lists, start=before + 1):
                rows = [(each.score, each.text) for each in translations]
                for value, text in rows or [(0.0, "")]:
                    print(text if n_best is None else f"{number}\t{value:.4f}\t{text}")
            if ends := incomplete(n_best_lists, before):
                warnings.warn(CutOff(ends), stacklevel=1)
            if attention is not None:
                sources += lines
                texts += [each[0].text if each else "" for each in n_best_lists]
        if attention is not None:
            for message in write_attention(attention, translator, sources, texts):
                print(f"aiayn: not in {attention}: {message}", file=sys.stderr)
    if left_out:
        sys.exit(1)


# book/5-launch/1-launch.ipynb, cell parse-command
def parse(
    model: Annotated[ModelOptions, tyro.conf.arg(name="")], constrained: bool = True
) -> None:
    """Print the tree of each line of standard input, in brackets; empty without one.

    At most a thousand lines are done at a time, and printed then.

    Parameters
    ----------
    constrained : bool
        Let the search write trees only; without it, the search is the paper's.
    """
    run, search = model.read()
    if run.kind != "parsing":
        raise InputError(f"{model.run}: no parser; use `aiayn translate`")
    keep_heap()
    translator = Translator(*run.load(model.device), search, compute=model.compute)
    parser = Parser(translator, constrained)
    with collected_warnings(INPUT) as left_out:
        for before, lines in blocks("tree"):
            for parses in parser.n_best(lines, 1, before=before):
                print((parses and parses[0].tree) or "")
    if left_out:
        sys.exit(1)


# book/5-launch/1-launch.ipynb, cell convert-command
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


# book/5-launch/1-launch.ipynb, cell evaluate-options
@dataclass(frozen=True)
class EvaluateOptions(ModelOptions):
    """What to score, and how."""

    # which part; unless given, newstest2014, test_2016_flickr or test, or else val
    split: str | None = None
    data: str | None = None  # another corpus than the model was trained on
    pair: str | None = None  # other languages than the model was trained on
    # BLEU in every variant that people quote; newstest2014 also with filtered lines
    bleu_variants: bool = False
    # another run, or translations in a file: print difference, interval and p-value
    baseline: Path | None = None
    # of a parser: keep to what can become a tree, as the paper's search did not
    constrained: bool = True
    json: Path | None = None  # a file for the scores, with all that belongs to them


# book/5-launch/1-launch.ipynb, cell evaluate-command
def evaluate(chosen: Annotated[EvaluateOptions, tyro.conf.arg(name="")]) -> None:
    """Print a test set's BLEU and chrF with 95% intervals; of a parser, labelled F1."""
    run, search = chosen.read()
    of_translation = chosen.pair or chosen.bleu_variants or chosen.baseline
    if run.kind == "parsing" and (of_translation or chosen.int8):
        advice = "leave out --pair, --bleu-variants, --baseline and --int8"
        raise InputError(f"{chosen.run}: a parser, which F1 is for; {advice}")
    if run.kind != "parsing" and not chosen.constrained:
        raise InputError(f"{chosen.run}: no parser; leave out --no-constrained")
    keep_heap()
    record = score(
        run,
        search,
        chosen.data,
        chosen.pair,
        chosen.split,
        chosen.bleu_variants,
        progress=sys.stderr.isatty(),
        device=chosen.device,
        baseline=chosen.baseline,
        compute=chosen.compute,
        constrained=chosen.constrained,
    )
    print(format_scores(record))
    if unfinished(run):
        print(f"aiayn: {run.folder}: {unfinished(run)}", file=sys.stderr)
    if chosen.data is None and record["data"] not in CORPORA:  # it may be any folder
        print(f"aiayn: scored on {record['data']}, as the run says", file=sys.stderr)
    if chosen.json:
        write_record(chosen.json, record)
