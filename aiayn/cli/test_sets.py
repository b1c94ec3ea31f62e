# Made by `make export` from book/5-launch/1-launch.ipynb
"""Test sets: loaded, translated, and looked for in the training text."""

# book/5-launch/1-launch.ipynb, cell test-sets-imports
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from aiayn.cli.streams import INPUT, arriving_lines
from aiayn.data.corpora import MAX_SEARCHED_PAIRS, Pairs, load_pairs, overlap
from aiayn.data.io import read_bytes
from aiayn.data.lines import Lines, decode_lines, decompressed
from aiayn.decoding.beam_search import SearchConfig
from aiayn.errors import InputError
from aiayn.training.trained_run import (
    CORPORA,
    TrainedRun,
    shipped_models,
    test_split,
)
from aiayn.translation.huggingface import read_run
from aiayn.translation.translator import CutOff, TooLong, Translator, UnknownLetters


# book/5-launch/1-launch.ipynb, cell load-test
def given_test(source: str | None, reference: str | None) -> Pairs | None:
    """Sentences and references of two files as a test set; None if none are named."""
    if source is None and reference is None:
        return None
    if source is None or reference is None or source == reference:
        raise InputError("give --source and --reference, two files; one may be -")
    names = [INPUT if name == "-" else name for name in (source, reference)]
    return Pairs(text_lines(source), text_lines(reference), *names)


def text_lines(name: str) -> Sequence[str]:
    """The lines of a file, or of standard input if it is called -."""
    if name != "-":
        return Lines(decompressed(Path(name)), name)
    return list(chain.from_iterable(arriving_lines()))


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


# book/5-launch/1-launch.ipynb, cell reporting
@contextmanager
def collected_warnings(name: str) -> Iterator[dict[int, int]]:
    """Within it, warnings are collected; at its end, each is a line on standard error.

    All letters that are unknown are one line, as are all translations without an end
    and all sentences that are too long. `name` is that of the text. Gives the numbers
    of those sentences, with their tokens.
    """
    too_long, letters = dict[int, int](), dict[int, str]()
    most, ends = 0, list[int]()
    always: Any = {"action": "always", "category": UserWarning}
    with warnings.catch_warnings(record=True, **always) as caught:
        try:
            yield too_long
        finally:
            for message in (each.message for each in caught or ()):
                if isinstance(message, TooLong):
                    too_long |= message.tokens
                    most = message.most
                elif isinstance(message, UnknownLetters):
                    letters |= message.letters
                elif isinstance(message, CutOff):
                    ends += message.sentences
                else:
                    print("aiayn:", " ".join(str(message).split()), file=sys.stderr)
            messages: list[Warning] = [TooLong(too_long, most)] if too_long else []
            messages += [UnknownLetters(letters)] if letters else []
            messages += [CutOff(ends)] if ends else []
            for message in messages:
                print(f"aiayn: {name}: {message}", file=sys.stderr)


# book/5-launch/1-launch.ipynb, cell translate-test
def translate_test(translator: Translator, test: Pairs, progress: bool) -> list[str]:
    """Translate a test set; an `InputError` names its file and a sentence too long."""
    try:
        with collected_warnings(test.source_name):
            warnings.simplefilter("error", TooLong)
            return list(translator(test.source, progress=progress))
    except TooLong as warning:
        wrong = f"{test.source_name}: {warning.fault}"
        raise InputError(f"{wrong}: it cannot be scored; split it") from None


# book/5-launch/1-launch.ipynb, cell trained-on
def count_in_training(run: TrainedRun, test: Pairs, pair: str) -> int | None:
    """How many sources of a test set a run was trained on, if its text is small."""
    data, languages = run.description.data, run.description.pair
    # Of the other corpora the parts are taken to have nothing in common.
    disjoint = data in CORPORA and data not in ("multi30k", "craft")
    same_source = (languages or "").partition("-")[0] == pair.partition("-")[0]
    if data is None or disjoint or not same_source:
        return None
    try:
        train = load_pairs(str(data), str(languages), "train")
    except InputError:  # it is no longer here
        return None
    if len(train) > MAX_SEARCHED_PAIRS:
        return None
    if number := overlap(train, test):
        among = f"{number:,} of {len(test):,} sentences are in {train.source_name} too"
        message = f"{test.source_name}: {among}, on which the model was trained"
        print(f"aiayn: {message}", file=sys.stderr)
    return number


# book/5-launch/1-launch.ipynb, cell others
def their_lines(
    baseline: Path,
    search: SearchConfig,
    test: Pairs,
    progress: bool,
    device: str | None,
) -> list[str]:
    """Translations from a file or by another run's model; otherwise an `InputError`."""
    if baseline.is_dir() or str(baseline) in shipped_models():
        translator = Translator(*read_run(baseline).load(device), search)
        return translate_test(translator, test, progress)
    lines = list(decode_lines(read_bytes(baseline), str(baseline)))
    if len(lines) != len(test.target):
        counts = f"{len(lines):,} lines, {test.target_name} has {len(test.target):,}"
        rule = "line k of the one must translate what line k of the other does"
        raise InputError(f"--baseline {baseline}: {counts}; {rule}")
    return lines
