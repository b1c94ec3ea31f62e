# Made by `make export` from book/5-launch/1-launch.ipynb
"""The verbs that use a trained model."""

# book/5-launch/1-launch.ipynb, cell model-imports
import json
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from aiayn.cli.evaluation import (
    format_scores,
    record_text,
    score,
    search_for,
    unfinished,
    write_record,
)
from aiayn.cli.streams import INPUT, blocks, line_writer
from aiayn.cli.test_sets import collected_warnings, given_test
from aiayn.decoding.beam_search import SearchConfig
from aiayn.decoding.quantization import Compute
from aiayn.device import keep_heap
from aiayn.errors import InputError
from aiayn.parsing.parser import Parser
from aiayn.training.trained_run import CORPORA, TrainedRun
from aiayn.translation.ctranslate2_translator import CTranslate2Translator
from aiayn.translation.huggingface import read_run
from aiayn.translation.translator import (
    CutOff,
    Translation,
    Translator,
    incomplete,
)
from aiayn.visualization.page import write_attention

# book/5-launch/1-launch.ipynb, cell model-options
RunArgument = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]


@dataclass(frozen=True)
class ModelOptions:
    """Which model, and how it searches."""

    # a folder that `aiayn train` left, or of a Marian model; or one of `aiayn models`
    run: RunArgument
    # prefixes kept at each step: 4, of a parser 21, of Marian its own, unless given
    beam: int | None = None
    # strength of the length penalty: 0.6, of a parser 0.3, of Marian its own
    alpha: float | None = None
    # how many of the last checkpoints; the recipe's number unless given
    average: int | None = None
    # cpu, cuda, cuda:1, …; a GPU if there is one unless given
    device: str | None = None
    # weights in eight bits, on a processor with AVX-512 VNNI; a wide model is sooner
    int8: bool = False

    @property
    def compute(self) -> Compute:
        """In what numbers."""
        return "int8" if self.int8 else "float32"

    def read(self, n_best: int = 1) -> tuple[TrainedRun, SearchConfig]:
        """The run, and the usual search for its kind, changed as the flags say."""
        run = read_run(self.run, self.average)
        flags = {"beam": self.beam, "alpha": self.alpha, "n_best": n_best}
        changes: Any = {
            name: value for name, value in flags.items() if value is not None
        }
        return run, replace(search_for(run), **changes)


# book/5-launch/1-launch.ipynb, cell translator-of
Engine = Literal["aiayn", "ctranslate2"]


def translator_of(model: ModelOptions, n_best: int, engine: Engine) -> Translator:
    """The model that the flags name, a run's or one in a folder of Hugging Face's."""
    run, search = model.read(n_best)
    if run.kind == "parsing":
        raise InputError(f"{model.run}: a parser; use `aiayn parse`")
    kind = CTranslate2Translator if engine == "ctranslate2" else Translator
    return kind(*run.load(model.device), search, compute=model.compute)


# book/5-launch/1-launch.ipynb, cell translate-command
@dataclass(frozen=True)
class TranslateOptions(ModelOptions):
    """What to translate, and what to print."""

    # to be translated; the lines of standard input unless given
    sentence: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="[SENTENCE]")
    ] = ()
    input: Path | None = None  # a file, plain or packed; standard input unless given
    # a file, which is there once it is whole; standard output unless given
    output: Path | None = None
    # what searches; ctranslate2 is faster for single sentences
    engine: Engine = "aiayn"
    # print so many translations, with sentence number and score, tabs between them;
    # fewer where several hypotheses are the same text
    n_best: int | None = None
    scores: bool = False  # print the score before each translation
    json: bool = False  # print a line of JSON for each sentence
    # leave lines that are no text untranslated, and count them
    skip_bad_lines: bool = False
    # a file for a page that shows where every head looked, in HTML
    attention: Path | None = None

    def rows(
        self, number: int, source: str, translations: list[Translation]
    ) -> Iterator[str]:
        """What to print of a sentence."""
        if self.json:
            names = ("text", "score", "log_probability", "complete")
            found = [{name: getattr(t, name) for name in names} for t in translations]
            line = {"number": number, "source": source, "translations": found}
            yield json.dumps(line, ensure_ascii=False)
            return
        listed = self.n_best is not None
        made = [(f"{t.score:.4f}", t.text) for t in translations]
        for value, text in made or [("", "")]:
            cells = [str(number)] * listed + [value] * (self.scores or listed)
            yield "\t".join([*cells, text])


# book/5-launch/1-launch.ipynb, cell translate-verb
def translate(chosen: Annotated[TranslateOptions, tyro.conf.arg(name="")]) -> None:
    """Translate a sentence, or lines, and print them as they are done.

    At most a thousand lines are done at a time. One that is too long stays
    untranslated; standard error says so at the end, and the exit code is 1.
    """
    count = 1 if chosen.n_best is None else chosen.n_best
    translator = translator_of(chosen, count, chosen.engine)
    keep_heap()
    sources, texts = list[str](), list[str]()  # for the page
    faults, name = list[str](), str(chosen.input or INPUT)
    arriving = blocks("line", chosen.input, faults, chosen.output is None)
    if chosen.sentence:
        if chosen.input:
            raise InputError("give either a sentence or --input, a file")
        if len(chosen.sentence) > 1:
            raise InputError("more than one argument: put the sentence into quotes")
        if os.path.isfile(chosen.sentence[0]):  # Path's fails on a long sentence
            file = chosen.sentence[0]
            message = f"{file} was translated as text; --input {file} takes the file"
            print(f"aiayn: {message}", file=sys.stderr)
        arriving, name = iter([(0, list(chosen.sentence))]), "the command line"
    with collected_warnings(name) as left_out, line_writer(chosen.output) as write:
        for before, lines in arriving:
            if faults and not chosen.skip_bad_lines:
                advice = "--skip-bad-lines leaves such lines untranslated"
                raise InputError(f"{faults[0]}; {advice}")
            n_best_lists = translator.n_best(lines, count, before=before)
            both = zip(lines, n_best_lists, strict=True)
            for number, (line, translations) in enumerate(both, start=before + 1):
                for row in chosen.rows(number, line, translations):
                    write(row)
            if ends := incomplete(n_best_lists, before):
                warnings.warn(CutOff(ends), stacklevel=1)
            if chosen.attention is not None:
                sources += lines
                texts += [each[0].text if each else "" for each in n_best_lists]
        if chosen.attention is not None:
            page = chosen.attention
            for message in write_attention(page, translator, sources, texts):
                print(f"aiayn: not in {page}: {message}", file=sys.stderr)
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


# book/5-launch/1-launch.ipynb, cell evaluate-options
@dataclass(frozen=True)
class EvaluateOptions(ModelOptions):
    """What to score, and how."""

    # sentences in a file, in place of a test set; - is standard input
    source: str | None = None
    # their translations in another file; - is standard input
    reference: str | None = None
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
    # a file for the scores, with all that belongs to them; - prints that instead
    json: Path | None = None


# book/5-launch/1-launch.ipynb, cell evaluate-command
def evaluate(chosen: Annotated[EvaluateOptions, tyro.conf.arg(name="")]) -> None:
    """Print a test set's BLEU and chrF with 95% intervals; of a parser, labelled F1."""
    run, search = chosen.read()
    of_translation = chosen.pair or chosen.bleu_variants or chosen.baseline
    of_translation = of_translation or chosen.source or chosen.reference
    if run.kind == "parsing" and (of_translation or chosen.int8):
        advice = "leave out --source, --pair, --bleu-variants, --baseline and --int8"
        raise InputError(f"{chosen.run}: a parser, which F1 is for; {advice}")
    if run.kind != "parsing" and not chosen.constrained:
        raise InputError(f"{chosen.run}: no parser; leave out --no-constrained")
    if (chosen.source or chosen.reference) and (chosen.data or chosen.split):
        raise InputError(
            "--source and --reference take the place of --data and --split"
        )
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
        test=given_test(chosen.source, chosen.reference),
    )
    on_screen = chosen.json == Path("-")
    print(record_text(record) if on_screen else format_scores(record))
    if len(run.checkpoints) > 1:
        averaged = ", ".join(record["checkpoints"])
        print(f"aiayn: {run.folder}: the mean of {averaged}", file=sys.stderr)
    if unfinished(run):
        print(f"aiayn: {run.folder}: {unfinished(run)}", file=sys.stderr)
    named = chosen.data or chosen.source
    if named is None and record["data"] not in CORPORA:  # it may be any folder
        print(f"aiayn: scored on {record['data']}, as the run says", file=sys.stderr)
    if chosen.json and not on_screen:
        write_record(chosen.json, record)
