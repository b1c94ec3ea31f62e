"""What a few noisy runs can tell: differences, intervals, and what they decide.

From "Sweeps and evidence" (paper, section 6.2):
https://github.com/OWNER/aiayn/blob/main/book/11-12-sweeps-and-evidence.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-12-sweeps-and-evidence.ipynb, cell evidence-imports
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy


# book/11-12-sweeps-and-evidence.ipynb, cell difference
@dataclass(frozen=True)
class Difference:
    """How much better one is than another, with a 95% interval.

    Attributes
    ----------
    mean, low, high : float
        The difference, and its interval.
    p : float
        The chance of one as large if there is none, on either side.
    error, freedom : float
        The standard error, and the degrees of freedom of Student's t.
    """

    mean: float
    low: float
    high: float
    p: float
    error: float
    freedom: float

    def above(self, margin: float = 0.0) -> bool | None:
        """Whether it is more than `margin`; None if the interval holds both answers."""
        return True if self.low > margin else False if self.high < margin else None

    def within(self, margin: float) -> bool | None:
        """Whether it is nearly nothing: two one-sided tests at 5% against `margin`."""
        reach = scipy.stats.t.ppf(0.95, self.freedom) * self.error
        if abs(self.mean) + reach < margin:
            return True
        return False if self.low > margin or self.high < -margin else None

    def __str__(self) -> str:
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


# book/11-12-sweeps-and-evidence.ipynb, cell paired
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
    gains = np.asarray(one, float) - np.asarray(other, float)
    error = float(gains.std(ddof=1)) / len(gains) ** 0.5
    return _difference(float(gains.mean()), error, len(gains) - 1)


# book/11-12-sweeps-and-evidence.ipynb, cell welch
def welch(one: Sequence[float], other: Sequence[float]) -> Difference:
    """`one` minus `other`, where no run of the one belongs to a run of the other.

    Raises
    ------
    ValueError
        If there are less than two runs of one of them.
    """
    if min(len(one), len(other)) < 2:
        raise ValueError(
            f"{len(one)} and {len(other)} runs: there must be two of each or more"
        )
    squares = [float(np.var(runs, ddof=1)) / len(runs) for runs in (one, other)]
    total = sum(squares)
    spread = sum(
        s**2 / (len(runs) - 1) for s, runs in zip(squares, (one, other), strict=True)
    )
    gain = float(np.mean(one) - np.mean(other))
    return _difference(gain, total**0.5, total**2 / spread if spread else 1.0)


def _difference(mean: float, error: float, freedom: float) -> Difference:
    """With Student's t; by their signs, where all pairs differ by the same."""
    reach = scipy.stats.t.ppf(0.975, freedom) * error
    if error:
        p = 2 * scipy.stats.t.sf(abs(mean) / error, freedom)
    else:
        p = 0.5**freedom if mean else 1.0
    numbers = mean, mean - reach, mean + reach, p, error, freedom
    return Difference(*map(float, numbers))


# book/11-12-sweeps-and-evidence.ipynb, cell decide
def decide(differences: Sequence[Difference], level: float = 0.05) -> list[bool | None]:
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


def near(value: float, figure: float, tolerance: float) -> bool | None:
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
    below = False in decide(differences)
    return False if below else all_of([each.above() or None for each in differences])
