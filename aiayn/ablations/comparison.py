# Made by `make export` from book/3-workshop/08-ablations-and-statistics.ipynb
"""Whether one row of a record is better than another, given the spread of its seeds."""

# book/3-workshop/08-ablations-and-statistics.ipynb, cell comparison-imports
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any, Literal

from aiayn.ablations.record import runs_of
from aiayn.ablations.rows import ROWS
from aiayn.metrics.significance import Difference, all_of, holm, paired

# book/3-workshop/08-ablations-and-statistics.ipynb, cell comparison
Metric = Literal["perplexity", "bleu"]
MIN_SEEDS = 5  # that a verdict needs
EQUIVALENCE_MARGIN = 0.5  # BLEU; two rows that are closer are nearly identical
# The mean perplexity of base's last five validations must be lower by less than this
# share than that of the five before.
MAX_FALL, VALIDATIONS = 0.01, 5
MIN_BLEU = {"synthetic": 90.0, "multi30k": 36.0}  # that base must reach, by corpus


def validity_check(record: dict[str, Any]) -> str:
    """Why nothing is judged by a record; empty if its base passes."""
    runs, data = runs_of(record, "base"), record.get("data", "")
    if not runs:
        return f"no base on {data}: fails the validity check"
    score = mean(run["bleu"] for run in runs)
    if score < MIN_BLEU.get(data, 0.0):
        return (
            f"base {score:.0f} BLEU on {data}, less than {MIN_BLEU[data]:.0f}:"
            " fails the validity check"
        )
    curves = [run.get("validations", []) for run in runs]
    if min(map(len, curves)) < 2 * VALIDATIONS:
        few = f"less than {2 * VALIDATIONS} validations of base on {data}"
        return f"{few}: fails the validity check"
    fall = mean(
        1 - mean(curve[-VALIDATIONS:]) / mean(curve[-2 * VALIDATIONS : -VALIDATIONS])
        for curve in curves
    )
    if fall >= MAX_FALL:
        shown = f"perplexity on {data} fell by {fall:.1%} at the end"
        return f"base's {shown}: fails the validity check"
    return ""


# book/3-workshop/08-ablations-and-statistics.ipynb, cell compare
@dataclass(frozen=True)
class Comparison:
    """A claim: one row is better than another, or nearly identical to it if `alike`."""

    better: str
    worse: str
    measure: Metric
    alike: bool = False


@dataclass(frozen=True)
class Finding:
    """What a record says of a comparison."""

    comparison: Comparison
    # of `better` over `worse`, in BLEU or nats; None with less than two seeds in common
    gain: Difference | None
    verdict: bool | None  # None if it is undecided


# book/3-workshop/08-ablations-and-statistics.ipynb, cell compare-rows
def compare(
    record: dict[str, Any], better: str, worse: str, measure: Metric
) -> Difference | None:
    """How much better a row is than another in the record of a sweep, seed by seed.

    Parameters
    ----------
    record : dict
        What `run_sweep` gives, or `read_record`.
    better, worse : str
        Names of rows.
    measure : str
        `perplexity`, of which the negative logarithm is compared, or `bleu`.
    """

    def goodness(run: dict[str, Any]) -> float:
        if measure == "perplexity":
            return -math.log(run["perplexity"])
        return float(run["bleu"])

    one, other = (
        {r["seed"]: goodness(r) for r in runs_of(record, name)}
        for name in (better, worse)
    )
    shared = sorted(one.keys() & other.keys())
    if len(shared) < 2:
        return None
    return paired([one[s] for s in shared], [other[s] for s in shared])


# book/3-workshop/08-ablations-and-statistics.ipynb, cell judge
def judge(record: dict[str, Any], comparisons: Sequence[Comparison]) -> list[Finding]:
    """Judge all comparisons of a table; Holm corrects those that say which is better.

    Nothing is decided if base fails the validity check, nor with less than `MIN_SEEDS`
    seeds.
    """
    gains = [compare(record, c.better, c.worse, c.measure) for c in comparisons]
    verdicts: list[bool | None] = [None] * len(gains)
    if not validity_check(record):
        with_all_seeds = {
            k: gain
            for k, gain in enumerate(gains)
            if gain and gain.freedom >= MIN_SEEDS - 1
        }
        better = [k for k in with_all_seeds if not comparisons[k].alike]
        for k, verdict in zip(
            better, holm([with_all_seeds[k] for k in better]), strict=True
        ):
            verdicts[k] = verdict
        for k in with_all_seeds.keys() - better:
            verdicts[k] = with_all_seeds[k].within(EQUIVALENCE_MARGIN)
    return [Finding(*each) for each in zip(comparisons, gains, verdicts, strict=True)]


def judge_statement(
    record: dict[str, Any], comparisons: Sequence[Comparison]
) -> bool | None:
    """The verdict on a statement that holds if all of these comparisons do.

    For a yes each is judged alone; for a no, with Holm's correction among them.
    """
    if any(finding.verdict is False for finding in judge(record, comparisons)):
        return False
    alone = [judge(record, [each])[0].verdict for each in comparisons]
    return all_of([verdict or None for verdict in alone])


# book/3-workshop/08-ablations-and-statistics.ipynb, cell report
def spread(values: list[float], digits: int) -> str:
    """Mean, and standard deviation if there are several."""
    deviation = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{deviation}"


def comparison_table(record: dict[str, Any]) -> str:
    """The record of a sweep as a table beside the paper's columns; then what failed."""
    lines = [
        f"{'row':16}{'runs':>5}{'parameters':>12} {'perplexity':>16}{'paper':>7}"
        f"{'BLEU':>15}{'paper':>7}"
    ]
    for row in ROWS.values():
        if runs := runs_of(record, row.name):
            perplexity = spread([run["perplexity"] for run in runs], 3)
            score = spread([run["bleu"] for run in runs], 2)
            lines.append(
                f"{row.name:16}{len(runs):5}{runs[0]['parameters']:12,}"
                f" {perplexity:>16}{row.perplexity:7.2f}{score:>15}{row.bleu:7.1f}"
            )
    for run in (*record.get("trials", ()), *record["runs"]):
        if "error" in run:
            lines.append(f"{run['row']}, seed {run['seed']}: {run['error']}")
    return "\n".join(lines)


# book/3-workshop/08-ablations-and-statistics.ipynb, cell gains
def gains(record: dict[str, Any]) -> str:
    """Whether the record is valid, and each row against base, with 95% interval."""
    names = [name for name in ROWS if name != "base" and runs_of(record, name)]
    measures: tuple[Metric, ...] = ("perplexity", "bleu")
    comparisons = [Comparison(name, "base", m) for name in names for m in measures]
    findings = judge(record, comparisons)
    units = {"perplexity": "nats", "bleu": "BLEU"}
    words = {True: "better", False: "worse", None: "undecided"}
    lines = [f"validity check: {validity_check(record) or 'base passes'}"]
    if findings:
        lines.append(
            "gain over base, 95% interval;"
            f" verdicts by Holm over {len(findings)} comparisons"
        )
    for each in findings:
        shown = each.gain or "less than two seeds in common"
        name, unit = each.comparison.better, units[each.comparison.measure]
        lines.append(f"{name:16}{unit:5} {shown!s:26} {words[each.verdict]}")
    return "\n".join(lines)
