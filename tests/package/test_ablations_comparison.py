"""Rows of Table 3 compared: paired by seed, after a validity check, with Holm's
correction; and as text.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aiayn.ablations import ROWS, Comparison, compare, judge, judge_statement
from aiayn.ablations.comparison import comparison_table, gains, validity_check
from aiayn.ablations.record import read_sweep
from aiayn.metrics.significance import paired

RUNS = Path(__file__).parents[2] / "book" / "runs"
LEVEL = [2.1, *[2.0] * 10]  # a perplexity that has stopped to fall


def made_up(
    data: str = "corpus", validations: list[float] = LEVEL, **rows: list[float]
) -> dict[str, Any]:
    """A record with these scores; the perplexity is a tenth of them."""
    usual = {"parameters": 1000, "validations": validations}
    runs = [
        {"row": row, "seed": seed, "bleu": value, "perplexity": value / 10, **usual}
        for row, values in rows.items()
        for seed, value in enumerate(values, start=1)
    ]
    return {"data": data, "runs": runs}


BASE, CLEAR = [25.0, 26.0, 27.0, 25.5, 26.5], [29.1, 30.0, 30.9, 29.4, 30.6]
BETTER = Comparison("big", "base", "bleu")


def verdicts(record: dict[str, Any], *comparisons: Comparison) -> list[bool | None]:
    """Whether each holds, does not, or is undecided."""
    return [found.verdict for found in judge(record, comparisons)]


def test_differences_are_paired_by_seed() -> None:
    record = made_up(base=BASE, big=CLEAR)
    record["runs"].reverse()
    found = compare(record, "big", "base", "bleu")
    assert (
        found == paired(CLEAR, BASE)
        and found is not None
        and found.mean == pytest.approx(4.0)
    )
    assert found.high - found.low < 0.5  # the seeds differ by much more than that
    less = compare(record, "base", "big", "perplexity")  # of which less is better
    assert less is not None and less.mean == pytest.approx(
        np.log(np.divide(CLEAR, BASE)).mean()
    )
    assert verdicts(record, BETTER, Comparison("base", "big", "bleu")) == [True, False]


def test_a_wide_spread_drowns_a_difference() -> None:
    assert verdicts(made_up(base=BASE, big=[26.0, 24.0, 33.0, 22.0, 30.0]), BETTER) == [
        None
    ]


def test_a_verdict_needs_five_seeds_that_both_rows_have() -> None:
    record = made_up(base=BASE, big=CLEAR[:4])
    assert verdicts(record, BETTER) == [None]
    record["runs"].append({"row": "big", "seed": 5, "error": "no luck"})
    assert verdicts(record, BETTER) == [None]
    record["runs"][-1] = made_up(big=CLEAR)["runs"][-1] | {"seed": 6}
    assert verdicts(record, BETTER) == [None]  # five each, four of them in common
    record["runs"][-1]["seed"] = 5
    assert verdicts(record, BETTER) == [True]
    assert compare(made_up(base=BASE, big=[29.0]), "big", "base", "bleu") is None


def falling(start: float) -> dict[str, Any]:
    """A record of base whose perplexity falls from there."""
    return made_up(base=BASE, validations=[2.1, *[start] * 5, *[2.0] * 5])


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (made_up("synthetic", base=[90.1] * 5), ""),
        (
            made_up("synthetic", base=[89.0] * 5),
            "base 89 BLEU on synthetic, less than 90",
        ),
        (made_up("multi30k", base=[36.0] * 5), ""),
        (
            made_up("multi30k", base=[14.0] * 5),
            "base 14 BLEU on multi30k, less than 36",
        ),
        (made_up("multi30k", big=CLEAR), "no base on multi30k"),
        (
            made_up(base=BASE, validations=LEVEL[-9:]),
            "less than 10 validations of base",
        ),
        (falling(2.019), ""),
        (falling(2.021), "fell by 1.0%"),
        # One bad checkpoint decides nothing, wherever it is.
        (made_up(base=BASE, validations=[2.1, *[2.0] * 4, 2.06, *[2.0] * 5]), ""),
    ],
)
def test_base_passes_a_gate_or_nothing_is_decided(
    record: dict[str, Any], why: str
) -> None:
    found = validity_check(record)
    assert why in found and bool(found) == bool(why)
    assert (found == "") or found.endswith(": fails the validity check")
    validations = record["runs"][0]["validations"]
    other = [run["bleu"] + 9.0 - 0.1 * k for k, run in enumerate(record["runs"])]
    record["runs"] += made_up(validations=validations, E=other)["runs"]
    asked = [Comparison("E", "base", "bleu", alike=alike) for alike in (False, True)]
    assert verdicts(record, *asked) == ([None, None] if why else [True, False])


@pytest.mark.parametrize("name", ["synthetic", "multi30k"])
def test_an_old_record_without_validations_decides_nothing(name: str) -> None:
    record = read_sweep(RUNS / f"table3-{name}.json") or {"runs": []}
    known = all("validations" in run for run in record["runs"])
    assert known or validity_check(record)


def test_many_comparisons_need_more_of_each() -> None:
    """Holm: a difference that counts alone does not count among twenty."""
    rows = {"big": [26.0, 26.6, 28.4, 26.1, 27.9]}
    (alone,) = judge(made_up(base=BASE, **rows), [BETTER])
    assert alone.gain is not None and 0.0025 < alone.gain.p < 0.05 and alone.verdict
    others = {
        name: [x + 0.1 * (-1) ** k for k, x in enumerate(BASE)]
        for name in list(ROWS)[1:-1]
    }
    comparisons = [BETTER, *(Comparison(name, "base", "bleu") for name in others)]
    assert verdicts(made_up(base=BASE, **rows, **others), *comparisons) == [None] * 19
    # They are no part of the correction.
    alike = [Comparison(name, "base", "bleu", alike=True) for name in others]
    assert verdicts(made_up(base=BASE, **rows, **others), BETTER, *alike) == [True] * 19


def test_a_statement_needs_all_of_its_comparisons() -> None:
    """Each alone for a yes, with Holm's correction for a no."""
    rows = {"big": [26.0, 26.6, 29.4, 25.9, 27.5], "E": CLEAR, "C N=8": BASE[::-1]}
    record = made_up(base=BASE, **rows)
    weak, clear, none = (Comparison(name, "base", "bleu") for name in rows)
    assert verdicts(record, weak, clear, none) == [None, True, None]  # Holm among three
    assert judge_statement(record, [weak, clear]) is True
    assert judge_statement(record, [weak, clear, none]) is None
    lost = [Comparison("base", name, "bleu") for name in rows]
    assert judge_statement(record, [lost[0]]) is False
    assert judge_statement(record, [lost[0], none, none]) is None  # one bad in three
    assert judge_statement(record, [lost[1], none, none]) is False
    assert judge_statement(record | {"data": "synthetic"}, [clear]) is None


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ((0.1, -0.1, 0.0, 0.1, -0.1), True),
        ((2.1, -2.1, 0.0, 1.1, -1.1), None),
        ((0.4, 0.6, 0.5, 0.4, 0.6), None),
        ((3.0, 3.1, 2.9, 3.0, 3.1), False),
        ((-3.0, -3.1, -2.9, -3.0, -3.1), False),
    ],
)
def test_nearly_identical_has_to_be_shown(
    gains: tuple[float, ...], verdict: bool | None
) -> None:
    other = [b - gain for b, gain in zip(BASE, gains, strict=True)]
    alike = Comparison("base", "E", "bleu", alike=True)
    assert verdicts(made_up(base=BASE, E=other), alike) == [verdict]


def test_a_record_is_shown_beside_the_paper() -> None:
    record = made_up(base=[25.0, 26.0], big=[29.0])
    record["runs"].append({"row": "big", "seed": 2, "error": "no luck"})
    record["trials"] = [{"row": "E", "seed": 0, "error": "too high"}]
    lines = comparison_table(record).splitlines()
    assert len(lines) == 5 and lines[-2:] == [
        "E, seed 0: too high",
        "big, seed 2: no luck",
    ]
    assert lines[1].split() == (
        "base 2 1,000 2.550 ± 0.071 4.92 25.50 ± 0.71 25.8".split()
    )
    assert lines[2].split() == ["big", "1", "1,000", "2.900", "4.33", "29.00", "26.4"]


def test_gains_over_base_with_intervals_and_verdicts() -> None:
    rows = {"E": [25.1, 26.3, 26.4, 25.9, 26.3], "C N=2": [20.0]}
    record = made_up(base=BASE, big=CLEAR, **rows)
    passes, family, *lines = gains(record).splitlines()
    assert passes == "validity check: base passes"
    assert "Holm over 6 comparisons" in family
    found = [line.split()[-1] for line in lines]
    assert found == [*["undecided"] * 4, "worse", "better"]
    assert lines[0] == "C N=2           nats  less than two seeds in common undecided"
    assert lines[-1].startswith(f"big             BLEU  {paired(CLEAR, BASE)}")
    missed, _, *lines = gains(record | {"data": "synthetic"}).splitlines()
    assert missed == (
        "validity check: base 26 BLEU on synthetic, less than 90:"
        " fails the validity check"
    )
    assert all(line.endswith("undecided") for line in lines)
    assert gains(made_up(base=BASE)) == "validity check: base passes"
