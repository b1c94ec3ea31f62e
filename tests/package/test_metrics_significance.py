"""Differences and their intervals, corrections and equivalence, against SciPy and by
the definition.
"""

import numpy as np
import pytest
from scipy import stats

from aiayn.metrics.significance import (
    all_above,
    all_of,
    holm,
    paired,
    within_tolerance,
)


@pytest.mark.parametrize("seed", range(20))
def test_intervals_are_those_of_scipy(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    n = drawn.integers(2, 9)
    one, other = drawn.normal(1.0, 2.0, n).tolist(), drawn.normal(0.3, 1.0, n).tolist()
    found, theirs = paired(one, other), stats.ttest_rel(one, other)
    interval = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.p, found.freedom) == pytest.approx((theirs.pvalue, theirs.df))
    assert found.above() is {(True, True): True, (False, False): False}.get(
        (bool(interval.low > 0), bool(interval.high > 0))
    )
    assert holm([found]) == [found.above()]


@pytest.mark.parametrize("seed", range(20))
def test_nearly_nothing_is_two_one_sided_tests(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    one, other = drawn.normal(0.1, 0.3, 5), drawn.normal(0.0, 0.3, 5)
    low = stats.ttest_rel(one + 0.5, other, alternative="greater").pvalue
    high = stats.ttest_rel(one - 0.5, other, alternative="less").pvalue
    assert (paired(one.tolist(), other.tolist()).within(0.5) is True) == bool(
        max(low, high) < 0.05
    )


@pytest.mark.parametrize("seed", range(20))
def test_holm_is_that_of_the_step_down(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    found = [
        paired(drawn.normal(shift, 1.0, 5).tolist(), [0.0] * 5)
        for shift in (0, 0, 1, 2, -2, 4)
    ]
    ordered = sorted(each.p for each in found)
    adjusted = np.maximum.accumulate(
        [min(1.0, p * (6 - k)) for k, p in enumerate(ordered)]
    )
    wanted = [
        each.mean > 0 if adjusted[ordered.index(each.p)] < 0.05 else None
        for each in found
    ]
    assert holm(found) == wanted


def test_runs_without_a_partner_and_runs_that_do_not_differ() -> None:
    for one, other in (([1.0], [2.0]), ([1.0, 2.0], [1.0, 2.0, 3.0])):
        with pytest.raises(ValueError, match="there must be two"):
            paired(one, other)
    same, none = paired([3.0, 4.0], [1.0, 2.0]), paired([1.0, 2.0], [1.0, 2.0])
    assert (same.p, none.p) == (0.5, 1.0)  # the signs of two pairs decide nothing
    assert holm([same, none]) == [None, None]
    assert same.above(2.5) is False
    assert none.within(0.1)


def test_all_above_needs_no_correction_for_a_yes_and_holms_for_a_no() -> None:
    clear = paired([1.0, 1.1, 0.9, 1.0, 1.2], [0.0] * 5)
    weak = paired([0.2, 0.9, 0.3, 1.4, 0.6], [0.0] * 5)  # p between 0.025 and 0.05
    none = paired([0.2, -0.9, 0.3, -1.4, 0.6], [0.0] * 5)
    less = paired([0.0] * 5, [0.2, 0.9, 0.3, 1.4, 0.6])
    assert 0.025 < weak.p < 0.05 and holm([weak, none]) == [None, None]
    assert all_above([clear, weak]) is True
    assert all_above([weak, weak]) is True
    assert all_above([clear, none]) is None
    assert all_above([less]) is False
    assert all_above([less, none]) is None
    assert all_above([paired([0.0] * 5, [1.0, 1.1, 0.9, 1.0, 1.2]), none]) is False


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (27.3, True),
        (26.9, True),
        (26.8, None),
        (28.0, None),
        (26.4, False),
        (29, False),
    ],
)
def test_near_a_figure(value: float, verdict: bool | None) -> None:
    assert within_tolerance(value, 27.3, 0.4 + 1e-9) is verdict


def test_a_statement_is_as_good_as_its_weakest_part() -> None:
    assert all_of([True, True]) is True
    assert all_of([True, None]) is None
    assert all_of([None, False, True]) is False
