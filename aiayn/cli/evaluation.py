# Made by `make export` from book/5-launch/1-launch.ipynb
"""Scores a run on a test set, and writes the record of it."""

# book/5-launch/1-launch.ipynb, cell evaluation-imports
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from aiayn.cli.test_sets import (
    collected_warnings,
    count_in_training,
    load_test,
    their_lines,
    translate_test,
)
from aiayn.data.corpora import Pairs, load_pairs
from aiayn.data.io import write_atomically
from aiayn.decoding.beam_search import SearchConfig
from aiayn.decoding.huggingface_search import usual_search
from aiayn.decoding.quantization import Compute
from aiayn.device import find_device
from aiayn.errors import InputError
from aiayn.metrics.bleu import MetricResult, corpus_bleu
from aiayn.metrics.bleu_variants import (
    BleuScore,
    bleu_by_variant,
    check_language,
    moses_languages,
    newstest2014_bleu,
    scores_with_paper,
)
from aiayn.parsing.parser import PARSING_SEARCH, evaluate_parser
from aiayn.training.metrics_log import Metrics
from aiayn.training.provenance import current_provenance, device_name
from aiayn.training.trained_run import TrainedRun, test_split
from aiayn.translation.translator import Translator


def search_for(run: TrainedRun) -> SearchConfig:
    """The paper's search for the kind of a model, or what a Marian's files ask for."""
    parses = run.kind == "parsing"
    return PARSING_SEARCH if parses else usual_search(run.description.model)


# book/5-launch/1-launch.ipynb, cell scores-of
def bleu_of(
    translations: list[str], tests: dict[str, Pairs], language: str, bleu_variants: bool
) -> dict[str, dict[str, Any]]:
    """BLEU by test set and variant; the translations are of the first, larger set."""
    (name, pairs), *part = tests.items()
    if not bleu_variants:
        plain = BleuScore("sacrebleu", *corpus_bleu(translations, pairs.target))
        scores_by_set = {name: {"sacrebleu": plain}}
    elif part:
        scores_by_set = newstest2014_bleu(translations, pairs, part[0][1], language)
    else:
        scores_by_set = {name: bleu_by_variant(translations, pairs.target, language)}
    return {
        test: {variant: asdict(score) for variant, score in scores.items()}
        for test, scores in scores_by_set.items()
    }


# book/5-launch/1-launch.ipynb, cell intervals
def intervals(
    ours: list[str], test: Pairs, theirs: list[str] | None, language: str | None = None
) -> dict[str, Any]:
    """BLEU and chrF with intervals, and how far they are from those of `theirs`.

    With a language, also BLEU as in the paper.
    """
    found = {"measured": scores_with_paper(ours, test.target, language)}
    if theirs is not None:
        found["difference"] = scores_with_paper(ours, test.target, language, theirs)
    return {
        key: {name: asdict(each) for name, each in scores.items()}
        for key, scores in found.items()
    }


# book/5-launch/1-launch.ipynb, cell in-lower-case
def lowercase_bleu(
    translator: Translator, ours: list[str], test: Pairs
) -> dict[str, dict[str, Any]]:
    """BLEU without case, of a model that writes small letters only; else nothing."""
    if "A" in translator.vocabulary.target.normalize("A"):
        return {}
    value, signature = corpus_bleu(ours, test.target, lowercase=True)
    return {"in_lower_case": {"value": value, "signature": signature}}


# book/5-launch/1-launch.ipynb, cell training-of
def dtype_of(device: str | None) -> str:
    """The type in which numbers are multiplied now: autocast's, or float32."""
    kind, dtype = find_device(device).type, torch.float32
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
    return str(dtype).removeprefix("torch.")


def training_record(run: TrainedRun) -> dict[str, Any]:
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
    """What to say if a signal stopped a run at its last checkpoint."""
    metrics, step = Metrics(run.folder), run.description.step
    if step is None or not metrics.path.exists():  # it may be a checkpoint alone
        return ""
    with suppress(InputError):  # whoever resumes it will say what is damaged
        if step not in metrics.validations():
            return f"step {step:,}, before the end of its training"
    return ""


# book/5-launch/1-launch.ipynb, cell score-parser
def score_parser(
    run: TrainedRun,
    search: SearchConfig,
    data: str,
    pair: str,
    split: str,
    constrained: bool,
    progress: bool,
    device: str | None,
) -> dict[str, Any]:
    """`evaluate_parser`, with its warnings, and what else belongs to the record."""
    test = load_pairs(data, pair, split)
    with collected_warnings(test.source_name):
        scores = evaluate_parser(
            run, search, data, split, constrained, progress, device
        )
    record = {"kind": run.kind, "dtype": dtype_of(device), **training_record(run)}
    return record | scores | {"in_training": count_in_training(run, test, pair)}


# book/5-launch/1-launch.ipynb, cell run-record
def run_record(
    run: TrainedRun,
    data: str,
    pair: str,
    search: SearchConfig,
    compute: Compute,
    device: str | None,
) -> dict[str, Any]:
    """What a record says of the model, how it was trained, and how it searches."""
    return {
        "kind": run.kind,
        "run": str(run.folder),
        "data": data,
        "pair": pair or None,
        "beam": search.beam,
        "alpha": search.alpha,
        "compute": compute,
        "dtype": dtype_of(device),
        **training_record(run),
        "device": device_name(device),
    }


# book/5-launch/1-launch.ipynb, cell score
def score(
    run: TrainedRun,
    search: SearchConfig | None = None,
    data: str | None = None,
    pair: str | None = None,
    split: str | None = None,
    bleu_variants: bool | None = None,
    progress: bool = False,
    device: str | None = None,
    baseline: Path | None = None,
    compute: Compute = "float32",
    constrained: bool = True,
    test: Pairs | None = None,
) -> dict[str, Any]:
    """Translate a test set with the model of a run, and score it (section 6.1).

    Corpus and languages are the training's, and `split` is what `test_split` says,
    unless given. Without `bleu_variants` there is sacreBLEU alone; None means those of
    the language. BLEU and chrF are compared with those of a `baseline`; see
    `their_lines`. Pairs in `test` are the test set. `evaluate_parser` scores a parser.
    """
    if test is None:
        data, pair = run.trained_on(data, pair)
    else:
        data, pair = test.source_name, pair or run.description.pair or ""
    search = search or search_for(run)
    if run.kind == "parsing":
        asked = (run, search, data, pair, split or test_split(data))
        return score_parser(*asked, constrained, progress, device)
    language = pair.partition("-")[2]
    if bleu_variants:
        check_language(language)  # before hours of work, not after them
    sets = {"test": test} if test is not None else load_test(data, pair, split)
    test, *_ = sets.values()
    theirs = their_lines(baseline, search, test, progress, device) if baseline else None
    translator = Translator(*run.load(device), search, compute=compute)
    ours = translate_test(translator, test, progress)
    variants = language in moses_languages() if bleu_variants is None else bleu_variants
    return run_record(run, data, pair, search, compute, device) | {
        "bleu": bleu_of(ours, sets, language, variants),
        "in_training": count_in_training(run, test, pair),
        "baseline": str(baseline) if baseline else None,
        **intervals(ours, test, theirs, language if variants else None),
        **lowercase_bleu(translator, ours, test),
    }


# book/5-launch/1-launch.ipynb, cell write-record
def record_text(record: dict[str, Any], command: Sequence[str] | None = None) -> str:
    """A record as JSON, with how, when and where it was made."""
    whole = current_provenance(command) | record
    return json.dumps(whole, indent=1, ensure_ascii=False)


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
    write_atomically(path, f"{record_text(record, command)}\n".encode())


# book/5-launch/1-launch.ipynb, cell report
def format_scores(record: dict[str, Any]) -> str:
    """What `score` found: BLEU and chrF with 95% intervals, or a parser's F1.

    BLEU in several variants has a line for each.
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
        f"{MetricResult(**each)}  {each['signature']}"
        for each in record["measured"].values()
    ]
    lines += [
        f"difference from {record['baseline']}: {MetricResult(**each)}"
        for each in record.get("difference", {}).values()
    ]
    if "in_lower_case" in record:
        plain = "{value:.2f}  {signature}".format(**record["in_lower_case"])
        lines.append(f"BLEU {plain}  in lower case, in which this model writes")
    rows = [
        (test, each)
        for test, variants in record["bleu"].items()
        for each in variants.values()
    ]
    for test, each in rows if len(rows) > 1 else []:
        figures = f"{each['value']:5.2f}  {each['signature']}"
        lines.append(f"{test:10}  {each['variant']:20}  {figures}")
    return "\n".join(lines)
