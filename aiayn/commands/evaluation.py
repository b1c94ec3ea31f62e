"""Launch (paper, section 6.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
"""

__all__ = [
    "plain_words",
    "TEST_SETS",
    "load_test",
    "scores_of",
    "translate_test",
    "how_trained",
    "is_parser",
    "score",
    "report",
    "write_record",
]


# book/09-launch.ipynb, cell evaluation-imports
import json
import platform
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import torch

from aiayn.data.corpora import Pairs, load_pairs
from aiayn.data.files import write_atomically
from aiayn.errors import InputError
from aiayn.parsing.parser import PARSING_SEARCH
from aiayn.parsing.parser import evaluate as evaluate_parser
from aiayn.training.checkpoint import last_checkpoints, read_training
from aiayn.translation.bleu_scores import (
    MOSES,
    Score,
    bleu,
    bleu_in_every_form,
    bleu_on_newstest2014,
    check_language,
)
from aiayn.translation.search import PAPER_SEARCH, SearchConfig
from aiayn.translation.translator import TooLong, Translator


# book/09-launch.ipynb, cell plain-words
@contextmanager
def plain_words() -> Iterator[None]:
    """Within it, what the package refuses is a fault of the input, and told as one: an `InputError`."""
    try:
        with warnings.catch_warnings(action="error", category=TooLong):
            yield
    except (ValueError, TooLong) as error:
        raise InputError(str(error)) from None


# book/09-launch.ipynb, cell load-test
TEST_SETS = {"wmt14": "newstest2014", "multi30k": "test_2016_flickr"}  # of other corpora: test


def load_test(data: str, pair: str, split: str | None) -> dict[str, Pairs]:
    """A test set by name, the corpus' own where `split` is None; of newstest2014 also the filtered one.

    Raises
    ------
    InputError
        As `load_pairs` does. But if it is only the filtered set that cannot be had, that is a warning.
    """
    split = split or TEST_SETS.get(data, "test")
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
    """BLEU by test set and form; the translations are those of the first set, and the second is a part."""
    (name, pairs), *part = tests.items()
    if not forms:
        return {name: {"sacrebleu": Score("sacrebleu", *bleu(translations, pairs.target))}}
    if part:
        return bleu_on_newstest2014(translations, pairs, part[0][1], language)
    return {name: bleu_in_every_form(translations, pairs.target, language)}


# book/09-launch.ipynb, cell translate-test
def translate_test(translator: Translator, test: Pairs, progress: bool) -> list[str]:
    """Translate a test set; an `InputError` names its file and the sentence, if that is too long."""
    try:
        with plain_words():
            return list(translator(test.source, progress=progress))
    except InputError as error:
        raise InputError(f"{test.source_name}: {error}") from None


# book/09-launch.ipynb, cell is-parser
def how_trained(run: Path) -> dict[str, Any]:
    """What the last checkpoint of a run says of its training; nothing, if it was saved by other means."""
    return read_training(last_checkpoints(run)[-1])


def is_parser(run: Path) -> bool:
    """Whether a run trained its model on trees (section 6.3)."""
    return str(how_trained(run).get("pair")).endswith("-trees")


# book/09-launch.ipynb, cell score
def score(
    run: Path,
    search: SearchConfig | None = None,
    average: int | None = None,
    tests: tuple[str | None, str | None, str | None] = (None, None, None),
    forms: bool | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Translate a test set with the model that a run has left, and score it (section 6.1).

    `tests` are corpus, pair of languages, and split: where None, those of the training, and `load_test`'s.
    Without `forms` there is sacreBLEU alone; where None, there are as many forms as the language has. A
    parser is scored by `aiayn.parsing.parser.evaluate`. An `InputError` says what is missing.
    """
    training = how_trained(run)
    data, pair = tests[0] or training.get("data"), tests[1] or training.get("pair")
    if not (data and pair):
        raise InputError(f"{run}: does not say on what it was trained; give --data and --pair")
    if is_parser(run):
        search = search or PARSING_SEARCH
        return evaluate_parser(run, search, average, data, tests[2] or "test", progress=progress)
    search, language = search or PAPER_SEARCH, pair.partition("-")[2]
    if forms:
        check_language(language)  # before hours of work, not after them
    sets = load_test(data, pair, tests[2])
    translations = translate_test(Translator.load(run, average, search), next(iter(sets.values())), progress)
    found = scores_of(translations, sets, language, language in MOSES if forms is None else forms)
    checkpoints = [folder.name for folder in last_checkpoints(run, average)]
    here = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine()
    return {
        "run": str(run),
        "data": data,
        "pair": pair,
        "beam": search.beam,
        "alpha": search.alpha,
        "checkpoints": checkpoints,
        "minutes": training.get("minutes"),
        "device": here,
        "torch": torch.__version__,
        "date": date.today().isoformat(),
        "bleu": {test: {form: asdict(each) for form, each in forms.items()} for test, forms in found.items()},
    }


# book/09-launch.ipynb, cell report
def report(record: dict[str, Any]) -> str:
    """What `score` found, as a table: test set, form, BLEU, signature; or the labelled F1 of a parser."""
    if "f1" in record:
        parts = [f"{name} {record[name]:.2f}" for name in ("precision", "recall", "complete_match")]
        f1 = f"F1 {record['f1']:.2f}  ({', '.join(parts)}; {record['sentences']:,} sentences)"
        without = (
            f"F1 {record['strict_f1']:.2f}  if the {record['skipped']:,} that EVALB skips count as no trees"
        )
        return f"{f1}\n{without}" if record["skipped"] else f1
    rows = [(test, each) for test, forms in record["bleu"].items() for each in forms.values()]
    return "\n".join(
        f"{test:10}  {each['form']:20}  {each['value']:5.2f}  {each['signature']}" for test, each in rows
    )


def write_record(path: Path, record: dict[str, Any], command: list[str]) -> None:
    """Write down what `score` found, and how it came about.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    text = json.dumps({"command": shlex.join(command), **record}, indent=1, ensure_ascii=False)
    write_atomically(path, f"{text}\n".encode())
