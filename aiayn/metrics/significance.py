# Made by `make export` from book/3-workshop/08-ablations-and-statistics.ipynb
"""What a few noisy runs can tell: differences, intervals, and what they decide."""

# book/3-workshop/08-ablations-and-statistics.ipynb, cell evidence-imports
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats


# book/3-workshop/08-ablations-and-statistics.ipynb, cell difference
@dataclass(frozen=True)
class Difference:
    """How much better one is than another, with a 95% interval."""

    mean: float  # the difference
    low: float  # of its interval
    high: float  # of its interval
    p: float  # the chance of one as large if there is none, on either side
    error: float  # the standard error
    freedom: float  # degrees, of Student's t

    def above(self, margin: float = 0.0) -> bool | None:
        """Whether it is more than `margin`; None if the interval holds both answers."""
        return True if self.low > margin else False if self.high < margin else None

    def within(self, margin: float) -> bool | None:
        """Whether it is nearly nothing: two one-sided tests at 5% against `margin`."""
        reach = stats.t.ppf(0.95, self.freedom) * self.error
        if abs(self.mean) + reach < margin:
            return True
        return False if self.low > margin or self.high < -margin else None

    def __str__(self) -> str:
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


# book/3-workshop/08-ablations-and-statistics.ipynb, cell paired
def paired(one: Sequence[float], other: Sequence[float]) -> Difference:
    """`one` minus `other`, run by run: luck that both share, as of a seed, cancels.

    Raises
    ------
    ValueError
        If there are less than two pairs, or runs without a partner.
    """
    if len(one) < 2 or len(one) != len(other):
        raise ValueError(
            f"{len(one)} and {len(other)} runs: there must be two pairs or more"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of runs that do not differ
        found = stats.ttest_rel(one, other)
    low, high = found.confidence_interval(0.95)
    mean, freedom = (low + high) / 2, found.df
    error = (high - low) / 2 / stats.t.ppf(0.975, freedom)
    # By the signs, where all pairs differ by the same.
    p = found.pvalue if error else 0.5**freedom if mean else 1.0
    return Difference(*map(float, (mean, low, high, p, error, freedom)))


# book/3-workshop/08-ablations-and-statistics.ipynb, cell decide
def holm(differences: Sequence[Difference], level: float = 0.05) -> list[bool | None]:
    """Which of several differences are above 0, which below; None where undecided.

    Holm's correction keeps the chance of any wrong answer among all of them below
    `level`.
    """
    order = sorted(range(len(differences)), key=lambda k: differences[k].p)
    verdicts: list[bool | None] = [None] * len(differences)
    for rank, k in enumerate(order):
        if differences[k].p * (len(differences) - rank) >= level:
            break
        verdicts[k] = differences[k].mean > 0
    return verdicts


def within_tolerance(value: float, figure: float, tolerance: float) -> bool | None:
    """Whether one run comes as near to a figure as the tolerance allows.

    None if it misses by less than twice that much: with another seed it might not.
    """
    off = abs(value - figure)
    return True if off <= tolerance else None if off < 2 * tolerance else False


def all_of(verdicts: Sequence[bool | None]) -> bool | None:
    """The verdict on a statement of several parts: that of its weakest."""
    return False if False in verdicts else None if None in verdicts else True


def all_above(differences: Sequence[Difference]) -> bool | None:
    """Whether all of several differences are above 0, at the level of 5%.

    For a yes each of them must be, and needs no correction. For a no one that is below
    is enough, and Holm's correction is for that.
    """
    below = False in holm(differences)
    return False if below else all_of([each.above() or None for each in differences])
