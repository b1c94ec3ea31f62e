"""Model variations (paper, section 6.2).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/06-2-model-variations.ipynb
"""

__all__ = [
    "Measure",
    "Verdict",
    "BAR",
    "MARGIN",
    "Comparison",
    "runs_of",
    "compare",
    "together",
    "read_record",
    "spread",
    "report",
]


# book/06-2-model-variations.ipynb, cell comparison-imports
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Literal

from aiayn.errors import InputError
from aiayn.table3.rows import ROWS

# book/06-2-model-variations.ipynb, cell comparison
Measure = Literal["perplexity", "bleu"]
Verdict = Literal["holds", "does not at this scale", "within noise", "too few runs"]
BAR = {2: 4.30, 3: 2.78, 4: 2.45, 5: 2.31}  # standard errors by seeds: Student's t, 95%
MARGIN: dict[Measure, float] = {"perplexity": 5.0, "bleu": 1.0}


@dataclass(frozen=True)
class Comparison:
    """How much better one row did than another, as a statement has them.

    Attributes
    ----------
    gain, bar : float
        The difference of the means, in BLEU or in hundredths of a nat (percent of perplexity, where it is
        small), and how large it must be.
    seeds : int
        Of the row that has fewer; with less than two of them there is no verdict.
    """

    better: str
    worse: str
    measure: Measure
    gain: float
    bar: float
    seeds: int

    @property
    def verdict(self) -> Verdict:
        """Whether `better` is better."""
        if self.seeds < 2:
            return "too few runs"
        if abs(self.gain) <= self.bar:
            return "within noise"
        return "holds" if self.gain > 0 else "does not at this scale"

    @property
    def alike(self) -> Verdict:
        """Whether the two are nearly identical: closer than `MARGIN`, the error allowed for."""
        if self.seeds < 2:
            return "too few runs"
        if abs(self.gain) + self.bar <= MARGIN[self.measure]:
            return "holds"
        return (
            "does not at this scale" if abs(self.gain) - self.bar > MARGIN[self.measure] else "within noise"
        )


# book/06-2-model-variations.ipynb, cell compare
def runs_of(record: dict[str, Any], row: str) -> list[dict[str, Any]]:
    """The runs of a row that did not fail."""
    return [run for run in record["runs"] if run["row"] == row and "error" not in run]


def compare(record: dict[str, Any], better: str, worse: str, measure: Measure) -> Comparison:
    """Two rows in the record of a sweep.

    Parameters
    ----------
    record : dict
        What `sweep` gives, or `read_record`.
    better, worse : str
        Names of rows.
    measure : str
        `perplexity`, whose logarithm is compared, or `bleu`.
    """

    def goodness(run: dict[str, Any]) -> float:
        return -100 * math.log(run["perplexity"]) if measure == "perplexity" else float(run["bleu"])

    one, other = ([goodness(run) for run in runs_of(record, name)] for name in (better, worse))
    seeds = min(len(one), len(other))
    if seeds < 2:
        return Comparison(better, worse, measure, math.nan, math.nan, seeds)
    error = math.sqrt(stdev(one) ** 2 / len(one) + stdev(other) ** 2 / len(other))
    return Comparison(better, worse, measure, mean(one) - mean(other), BAR[min(seeds, 5)] * error, seeds)


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a statement of several comparisons: the worst of theirs."""
    order: tuple[Verdict, ...] = ("too few runs", "does not at this scale", "within noise")
    return next((verdict for verdict in order if verdict in verdicts), "holds")


# book/06-2-model-variations.ipynb, cell read-record
def read_record(out: Path) -> dict[str, Any] | None:
    """What a sweep has written so far; None if there is nothing.

    Raises
    ------
    InputError
        If the file holds something else.
    """
    try:
        record: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        for run in record["runs"]:
            if run["row"] not in ROWS or not run["seed"] > 0:
                raise ValueError("a run of no row or no seed")
            scored = "error" in run or (0 < run["perplexity"] < math.inf and 0 <= run["bleu"] <= 100)
            if not scored or not run.get("parameters", "error" in run) > 0:
                raise ValueError(f"{run['row']}, seed {run['seed']}: its numbers make no sense")
        return record
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{out}: not the record of a sweep ({error}); take another --out") from None


# book/06-2-model-variations.ipynb, cell report
def spread(values: list[float]) -> str:
    """Mean, and standard deviation if there are several."""
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def report(record: dict[str, Any]) -> str:
    """The record of a sweep as a table, the paper's columns beside it; then the runs that failed."""
    lines = [f"{'row':16}{'runs':>5}{'parameters':>12}{'perplexity':>16}{'paper':>7}{'BLEU':>15}{'paper':>7}"]
    for row in ROWS.values():
        if runs := runs_of(record, row.name):
            perplexity, score = (spread([run[name] for run in runs]) for name in ("perplexity", "bleu"))
            ours = f"{row.name:16}{len(runs):5}{runs[0]['parameters']:12,}"
            lines.append(f"{ours}{perplexity:>16}{row.perplexity:7.2f}{score:>15}{row.bleu:7.1f}")
    failed = [run for run in record["runs"] if "error" in run]
    return "\n".join([*lines, *(f"{run['row']}, seed {run['seed']}: {run['error']}" for run in failed)])
