# Made by `make export` from book/3-workshop/07-beam-search-and-bleu.ipynb
"""BLEU and chrF, with bootstrap confidence intervals."""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell bleu-imports
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sacrebleu

from aiayn.data.lines import sentence_list
from aiayn.errors import InputError


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell check-lines
def check_lines(translations: Sequence[str], references: Sequence[str]) -> None:
    """Refuse what cannot be compared; translations may be empty, references may not.

    Raises
    ------
    InputError
        If there are not as many translations as references, or none, or a reference is
        empty, or something is no text.
    """
    for lines, kind in ((translations, "translation"), (references, "reference")):
        sentence_list(lines, kind)
    if len(translations) != len(references) or not references:
        raise InputError(
            f"{len(translations)} translations for {len(references)} references:"
            " nothing to compare;"
            " line k of the one must translate what line k of the other does"
        )
    for number, line in enumerate(references, start=1):
        if not line.strip():
            raise InputError(
                f"reference {number} is empty;"
                " leave out the line, also of the translations"
            )


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell bleu
TOKENIZED_LINES = 100  # lines ending in " ." from which on sacreBLEU warns


def corpus_bleu(
    translations: Sequence[str], references: Sequence[str], lowercase: bool = False
) -> tuple[float, str]:
    """sacreBLEU of detokenised text, and the signature that says how.

    It is cased, unless all is to be taken in lower case. A warning says if the text
    looks tokenised.

    Raises
    ------
    InputError
        As `check_lines` does.
    """
    check_lines(translations, references)
    for name, lines in (("translations", translations), ("references", references)):
        number = sum(line.rstrip().endswith(" .") for line in lines)
        if number >= TOKENIZED_LINES:
            fault = f"the {name} look tokenised: lines end in ' .'"
            advice = "BLEU is for plain text, detokenise them"
            warnings.warn(f"{fault}; {advice}", stacklevel=1)  # one place: said once
    metric = sacrebleu.metrics.BLEU(lowercase, force=True)  # its own warnings apart
    score = metric.corpus_score(translations, [references])
    return float(score.score), str(metric.get_signature())


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell measured
RESAMPLES, SEED = 1000, 12345  # sacreBLEU's own


@dataclass(frozen=True)
class MetricResult:
    """A test set's score, or its difference from another's, with a 95% interval."""

    name: str  # `BLEU` or `chrF`, from 0 to 100
    value: float  # the score or the difference
    low: float  # of its interval by the bootstrap over sentences
    high: float  # of that interval
    signature: str  # sacreBLEU's, with the number of draws and the seed
    # of a difference: how often chance makes one as large, where there is none
    p: float | None = None

    def __str__(self) -> str:
        if self.p is None:
            return f"{self.name} {self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"
        return (
            f"{self.name} {self.value:+.2f} [{self.low:+.2f}, {self.high:+.2f}],"
            f" p = {self.p:.3f}"
        )


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell resampled
def bootstrap_resample(
    metric: Any, translations: Sequence[str], references: Sequence[str]
) -> tuple[float, Any]:
    """A score, and those of 1,000 draws, which are the same for all translations."""
    metric.n_bootstrap, metric.seed = RESAMPLES, SEED  # for the signature
    statistics = metric._extract_corpus_statistics(translations, [references])
    counts = np.array(statistics, dtype=float)
    draws = np.random.default_rng(SEED).choice(
        len(counts), size=(RESAMPLES, len(counts))
    )
    drawn = [
        metric._compute_score_from_stats(counts[draw].sum(0)).score for draw in draws
    ]
    return float(metric._compute_score_from_stats(counts.sum(0)).score), np.array(drawn)


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell measure
def bootstrap_result(
    name: str,
    metric: Any,
    translations: Sequence[str],
    references: Sequence[str],
    baseline: Sequence[str] | None = None,
) -> MetricResult:
    """The score by one of sacreBLEU's metrics, or by how much it exceeds another."""
    (value, drawn), p = bootstrap_resample(metric, translations, references), None
    if baseline is not None:
        other, others = bootstrap_resample(metric, baseline, references)
        value, drawn = value - other, drawn - others
        as_far = np.abs(drawn - drawn.mean()) >= abs(value)
        p = (int(as_far.sum()) + 1) / (RESAMPLES + 1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    signature = str(metric.get_signature())
    return MetricResult(name, value, float(low), float(high), signature, p)


def bootstrap_scores(
    translations: Sequence[str],
    references: Sequence[str],
    baseline: Sequence[str] | None = None,
) -> dict[str, MetricResult]:
    """BLEU and chrF with intervals, or by how much they exceed those of `baseline`.

    The p-value is two-sided, as the interval is; sacreBLEU's own compares absolute
    differences, and is smaller.

    Raises
    ------
    InputError
        As `check_lines` does.
    """
    for lines in (translations, translations if baseline is None else baseline):
        check_lines(lines, references)
    kinds = sacrebleu.metrics
    metrics = {"BLEU": kinds.BLEU(force=True), "chrF": kinds.CHRF()}
    return {
        name: bootstrap_result(name, metric, translations, references, baseline)
        for name, metric in metrics.items()
    }
