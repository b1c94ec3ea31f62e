"""Scores a run on a test set, and writes the record of it.

From "Launch" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/09-launch.ipynb, cell evaluation-imports
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from aiayn.data.corpora import SEARCHED, Pairs, load_pairs, overlap
from aiayn.data.files import read_bytes, write_atomically
from aiayn.data.text import decode_lines
from aiayn.errors import InputError
from aiayn.fast_paths import find_device
from aiayn.parsing.parser import PARSING_SEARCH
from aiayn.parsing.parser import evaluate as evaluate_parser
from aiayn.training.description import Kind
from aiayn.training.metrics import Metrics
from aiayn.training.preparation import kinds_of
from aiayn.training.provenance import device_name, provenance
from aiayn.training.trained_run import CORPORA, TrainedRun, test_split
from aiayn.translation.bleu_forms import (
    Score,
    bleu_in_every_form,
    bleu_on_newstest2014,
    check_language,
    moses_languages,
)
from aiayn.translation.bleu_scores import Measured, bleu, measure
from aiayn.translation.products import Compute
from aiayn.translation.search import PAPER_SEARCH, SearchConfig
from aiayn.translation.translator import CutOff, TooLong, Translator, UnknownLetters

SEARCHES: dict[Kind, SearchConfig] = {
    "translation": PAPER_SEARCH,
    "parsing": PARSING_SEARCH,
}


# book/09-launch.ipynb, cell load-test
def load_test(data: str, pair: str, split: str | None) -> dict[str, Pairs]:
    """A test set by name, or that of `test_split`; of newstest2014 also the filtered.

    Raises
    ------
    InputError
        As `load_pairs` does. But if it is only the filtered set that cannot be had,
        that is a warning.
    """
    split = split or test_split(data)
    if data != "wmt14" or split not in ("test", "newstest2014"):
        return {split: load_pairs(data, pair, split)}
    tests = {"wmt14/full": load_pairs(data, pair, "newstest2014")}
    try:
        tests["wmt14"] = load_pairs(data, pair, "newstest2014-filtered")
    except InputError as error:
        warnings.warn(f"the filtered newstest2014 is left out: {error}", stacklevel=2)
    return tests


# book/09-launch.ipynb, cell scores-of
def scores_of(
    translations: list[str], tests: dict[str, Pairs], language: str, forms: bool
) -> dict[str, dict[str, Score]]:
    """BLEU by test set and form; the translations are of the first and larger set."""
    (name, pairs), *part = tests.items()
    if not forms:
        plain = Score("sacrebleu", *bleu(translations, pairs.target))
        return {name: {"sacrebleu": plain}}
    if part:
        return bleu_on_newstest2014(translations, pairs, part[0][1], language)
    return {name: bleu_in_every_form(translations, pairs.target, language)}


# book/09-launch.ipynb, cell reporting
@contextmanager
def reporting(name: str) -> Iterator[list[TooLong]]:
    """Within it, warnings are collected; at its end, each is a line on standard error.

    All letters that are unknown are one line, as are all translations without an end.
    `name` is that of the text. Gives the warnings of sentences that were left out.
    """
    left_out, letters, ends = list[TooLong](), dict[int, str](), list[int]()
    always: Any = {"action": "always", "category": UserWarning}
    with warnings.catch_warnings(record=True, **always) as caught:
        try:
            yield left_out
        finally:
            for message in (each.message for each in caught or ()):
                if isinstance(message, TooLong):
                    left_out.append(message)
                elif isinstance(message, UnknownLetters):
                    letters |= message.letters
                elif isinstance(message, CutOff):
                    ends += message.sentences
                else:
                    print("aiayn:", " ".join(str(message).split()), file=sys.stderr)
            told: list[Warning] = [*left_out]
            told += [UnknownLetters(letters)] if letters else []
            told += [CutOff(ends)] if ends else []
            for message in told:
                print(f"aiayn: {name}: {message}", file=sys.stderr)


# book/09-launch.ipynb, cell translate-test
def translate_test(translator: Translator, test: Pairs, progress: bool) -> list[str]:
    """Translate a test set; an `InputError` names its file and a sentence too long."""
    try:
        with reporting(test.source_name):
            warnings.simplefilter("error", TooLong)
            return list(translator(test.source, progress=progress))
    except TooLong as warning:
        wrong = f"{test.source_name}: {warning.fault}"
        raise InputError(f"{wrong}: it cannot be scored; split it") from None


# book/09-launch.ipynb, cell trained-on
def trained_on(run: TrainedRun, test: Pairs, pair: str) -> int | None:
    """How many sources of a test set a run was trained on, if its text is small."""
    data, languages = run.description.data, run.description.pair
    # Of the other corpora the parts are known to have nothing in common.
    own = (data is not None and data not in CORPORA) or data == "multi30k"
    if not own or (languages or "").partition("-")[0] != pair.partition("-")[0]:
        return None
    try:
        train = load_pairs(str(data), str(languages), "train")
    except InputError:  # it is not here any more
        return None
    if len(train) > SEARCHED:
        return None
    if number := overlap(train, test):
        among = f"{number:,} of {len(test):,} sentences are in {train.source_name} too"
        known = f"{test.source_name}: {among}, on which the model was trained"
        print(f"aiayn: {known}", file=sys.stderr)
    return number


# book/09-launch.ipynb, cell others
def others(
    against: Path, search: SearchConfig, test: Pairs, progress: bool, device: str | None
) -> list[str]:
    """Translations from a file or by another run's model; otherwise an `InputError`."""
    if against.is_dir():
        translator = Translator(*TrainedRun.read(against).load(device), search)
        return translate_test(translator, test, progress)
    lines = list(decode_lines(read_bytes(against), str(against)))
    if len(lines) != len(test.target):
        counts = f"{len(lines):,} lines, {test.target_name} has {len(test.target):,}"
        rule = "line k of the one must translate what line k of the other does"
        raise InputError(f"--against {against}: {counts}; {rule}")
    return lines


def intervals(ours: list[str], test: Pairs, theirs: list[str] | None) -> dict[str, Any]:
    """BLEU and chrF with intervals, and how far they are from those of `theirs`."""
    found = {"measured": measure(ours, test.target)}
    if theirs is not None:
        found["apart"] = measure(ours, test.target, against=theirs)
    return {
        key: {name: asdict(each) for name, each in scores.items()}
        for key, scores in found.items()
    }


# book/09-launch.ipynb, cell in-lower-case
def in_lower_case(
    translator: Translator, ours: list[str], test: Pairs
) -> dict[str, dict[str, Any]]:
    """BLEU without case, of a model that writes small letters only; else nothing."""
    if not kinds_of(translator.vocabulary).lowercase:
        return {}
    value, signature = bleu(ours, test.target, lowercase=True)
    return {"in_lower_case": {"value": value, "signature": signature}}


# book/09-launch.ipynb, cell training-of
def dtype_of(device: str | None) -> str:
    """The type in which numbers are multiplied now: autocast's, or float32."""
    kind, dtype = find_device(device).type, torch.float32
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
    return str(dtype).removeprefix("torch.")


def training_of(run: TrainedRun) -> dict[str, Any]:
    """What a record says of the training: the model's shape, all settings, the time."""
    description = run.description
    training = description.training
    return {
        "model": description.model.to_dict(),
        "training": training.to_dict() if training else {},
        "checkpoints": [folder.name for folder in run.checkpoints],
        "steps": description.step,
        "minutes": description.minutes,
    }


def unfinished(run: TrainedRun) -> str:
    """What to say if a run's last checkpoint is not the last of its training."""
    metrics, step = Metrics(run.folder), run.description.step
    if step is None or not metrics.path.exists():  # it may be a checkpoint alone
        return ""
    with suppress(InputError):  # whoever resumes it will say what is damaged
        if step not in metrics.validations():
            return f"step {step:,}, before the end of its training"
    return ""


def score_parser(
    run: TrainedRun, search: SearchConfig, data: str, pair: str, split: str, *how: Any
) -> dict[str, Any]:
    """`evaluate_parser`, with its warnings, and what else belongs to the record."""
    test = load_pairs(data, pair, split)
    with reporting(test.source_name):
        scores = evaluate_parser(run, search, data, split, *how)
    record = {"kind": run.kind, "dtype": dtype_of(how[-1]), **training_of(run)}
    return record | scores | {"in_training": trained_on(run, test, pair)}


# book/09-launch.ipynb, cell score
def score(
    run: TrainedRun,
    search: SearchConfig | None = None,
    data: str | None = None,
    pair: str | None = None,
    split: str | None = None,
    forms: bool | None = None,
    progress: bool = False,
    device: str | None = None,
    against: Path | None = None,
    compute: Compute = "float32",
    constrained: bool = True,
) -> dict[str, Any]:
    """Translate a test set with the model of a run, and score it (section 6.1).

    Corpus and pair of languages are those of the training, and `split` is what
    `test_split` says, unless given. Without `forms` there is sacreBLEU alone; where
    None, there are as many forms as the language has. BLEU and chrF are compared with
    those of `against`, if that is given; see `others`. A parser is scored by
    `aiayn.parsing.parser.evaluate`. An `InputError` says what is missing.
    """
    data, pair = run.trained_on(data, pair)
    search = search or SEARCHES[run.kind]
    if run.kind == "parsing":
        used = constrained, progress, device
        return score_parser(run, search, data, pair, split or test_split(data), *used)
    language = pair.partition("-")[2]
    if forms:
        check_language(language)  # before hours of work, not after them
    test, *_ = (sets := load_test(data, pair, split)).values()
    theirs = others(against, search, test, progress, device) if against else None
    translator = Translator(*run.load(device), search, compute=compute)
    ours = translate_test(translator, test, progress)
    forms = language in moses_languages() if forms is None else forms
    found = scores_of(ours, sets, language, forms)
    what = {"kind": run.kind, "run": str(run.folder), "data": data, "pair": pair}
    how = {"beam": search.beam, "alpha": search.alpha, "compute": compute}
    record = what | how | {"dtype": dtype_of(device)} | training_of(run)
    return record | {
        "device": device_name(device),
        "bleu": {
            test: {form: asdict(each) for form, each in scores.items()}
            for test, scores in found.items()
        },
        "in_training": trained_on(run, test, pair),
        "against": str(against) if against else None,
        **intervals(ours, test, theirs),
        **in_lower_case(translator, ours, test),
    }


# book/09-launch.ipynb, cell write-record
def write_record(
    path: Path, record: dict[str, Any], command: Sequence[str] | None = None
) -> None:
    """Write down what `score` found, and the `command` that led to it.

    Without `command`, that is the one that runs now.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    text = json.dumps(provenance(command) | record, indent=1, ensure_ascii=False)
    write_atomically(path, f"{text}\n".encode())


# book/09-launch.ipynb, cell report
def report(record: dict[str, Any]) -> str:
    """What `score` found: BLEU and chrF with 95% intervals, or a parser's F1.

    BLEU in several forms has a line for each.
    """
    if record["kind"] == "parsing":
        names = ("precision", "recall", "complete_match")
        parts = ", ".join(f"{name} {record[name]:.2f}" for name in names)
        f1 = f"F1 {record['f1']:.2f}  ({parts}; {record['sentences']:,} sentences)"
        if not record["skipped"]:
            return f1
        skipped = f"the {record['skipped']:,} that EVALB skips count as no trees"
        return f"{f1}\nF1 {record['strict_f1']:.2f}  if {skipped}"
    lines = [
        f"{Measured(**each)}  {each['signature']}"
        for each in record["measured"].values()
    ]
    lines += [
        f"against {record['against']}: {Measured(**each)}"
        for each in record.get("apart", {}).values()
    ]
    if "in_lower_case" in record:
        plain = "{value:.2f}  {signature}".format(**record["in_lower_case"])
        lines.append(f"BLEU {plain}  in lower case, in which this model writes")
    rows = [
        (test, each)
        for test, forms in record["bleu"].items()
        for each in forms.values()
    ]
    for test, each in rows if len(rows) > 1 else []:
        lines.append(
            f"{test:10}  {each['form']:20}  {each['value']:5.2f}  {each['signature']}"
        )
    return "\n".join(lines)
