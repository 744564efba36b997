"""Stopping a comparison of two checkpoints early, with a guarantee that holds at every stopping time.

Items are shuffled by a committed seed; y is new minus baseline, in {-1, 0, 1}. Under "the full run's mean is at most m"
what is left has at most mean m_t, so a bet on more cannot be expected to grow (Ville). The claim is about what the full
run would have said; nothing is assumed about items or clusters. Sources: Waudby-Smith & Ramdas 2020 (NeurIPS), 2024
(JRSS-B 86); Stark 2023 (Ann Appl Stat). R has no counterpart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from variantbench.stats.cells import Floats

_STAKE = 0.5  # of what is at risk, at most


class Verdict(StrEnum):
    """PASS: refuted that the full run lost the margin. FAIL: refuted that it lost no more than the tolerance."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Stopped:
    """The verdict after ``used`` of ``total`` items, the mean of those used, and both wealths (reject at 1/level)."""

    verdict: Verdict
    used: int
    total: int
    mean: float
    wealth_pass: float
    wealth_fail: float


class Bet:
    """Wealth against "the mean of all ``total`` values is at most ``null``", for each null of an array at once.

    Where ``sign`` is -1 the values count with the opposite sign: against "the mean is at least -null".
    """

    def __init__(self, null: ArrayLike, total: int, *, sign: ArrayLike = 1.0) -> None:
        self.null = np.atleast_1d(np.asarray(null, dtype=np.float64))
        self.sign = np.broadcast_to(np.asarray(sign, dtype=np.float64), self.null.shape)
        self.total = total
        self.seen, self.sum, self.square = 0, 0.0, 0.0
        self.wealth = np.ones(self.null.shape)

    def add(self, value: float) -> Floats:
        """The wealth after one more value between -1 and 1."""
        if not -1 <= value <= 1 or self.seen >= self.total:
            raise ValueError(f"value {value} after {self.seen} of {self.total}: from -1 to 1, no more than the total")
        so_far = self.sign * self.sum
        m = (self.total * self.null - so_far) / (self.total - self.seen)
        mean = so_far / (self.seen + 1)
        spread = (0.25 + self.square - self.sum**2 / max(self.seen, 1)) / (self.seen + 1)
        most = _STAKE / np.maximum(1 + m, 1e-12) * (np.abs(m) < 1)
        stake = np.minimum(np.maximum((mean - m) / max(spread, 1e-6), 0.0), most)
        self.wealth = self.wealth * (1 + stake * (self.sign * value - m))
        self.wealth[m < -1 - 1e-12] = np.inf  # what is left cannot bring the mean down to the null
        self.seen, self.sum, self.square = self.seen + 1, self.sum + value, self.square + value**2
        if self.seen == self.total:
            self.wealth[self.sign * self.sum > self.total * self.null + 1e-9] = np.inf
        return self.wealth


class SequentialGate:
    """Both bets of a gate, difference by difference, in shuffled order.

    PASS when "mean <= -margin" is refuted, FAIL when "mean >= -tolerance" is; wrong either way with probability
    ``level`` at most, however often one looks. After all ``total`` items one of the two is certain, unless the mean
    lies on a bound. Raises ValueError unless 0 <= tolerance <= margin.
    """

    def __init__(self, total: int, *, margin: float = 0.03, tolerance: float = 0.01, level: float = 0.05) -> None:
        if not 0 <= tolerance <= margin:
            raise ValueError(
                f"tolerance {tolerance}, margin {margin}: 0 <= tolerance <= margin, as shares (0.03 is 3 points)"
            )
        self.total, self.level = total, level
        self.verdict = Verdict.UNDECIDED
        self._bet = Bet([-margin, tolerance], total, sign=[1, -1])

    def add(self, difference: float) -> Verdict:
        """The verdict after one more difference, new minus baseline, of -1, 0 or 1; once given, it stays."""
        if self.verdict is Verdict.UNDECIDED:
            kept, lost = self._bet.add(difference)
            if max(kept, lost) >= 1 / self.level:
                self.verdict = Verdict.PASS if kept >= lost else Verdict.FAIL
        return self.verdict

    def result(self) -> Stopped:
        """What is known so far."""
        bet = self._bet
        mean = bet.sum / bet.seen if bet.seen else 0.0
        return Stopped(self.verdict, bet.seen, self.total, mean, float(bet.wealth[0]), float(bet.wealth[1]))


def sequential_gate(
    differences: Iterable[float], total: int, *, margin: float = 0.03, tolerance: float = 0.01, level: float = 0.05
) -> Stopped:
    """The verdict on ``differences``, in shuffled order, as soon as it is due: items after it are not asked for.

    >>> sequential_gate([0.0] * 5000, 5000).verdict
    <Verdict.PASS: 'pass'>
    """
    gate = SequentialGate(total, margin=margin, tolerance=tolerance, level=level)
    for value in differences:
        if gate.add(value) is not Verdict.UNDECIDED:
            break
    return gate.result()


def confidence_sequence(
    differences: Iterable[float], total: int, *, level: float = 0.05, steps: int = 400
) -> Iterator[tuple[float, float]]:
    """After each difference, ends between which the full run's mean lies; all of them hold at once, but for ``level``.

    Both one-sided bets at level / 2 over a grid of ``steps`` means; an end is the innermost mean beyond
    which all are refuted so far.
    """
    grid = np.linspace(-1, 1, steps + 1)
    bet = Bet(np.concatenate([grid, -grid]), total, sign=np.repeat([1.0, -1.0], steps + 1))
    refuted = np.zeros(bet.null.shape, dtype=bool)
    for value in differences:
        refuted |= bet.add(value) >= 2 / level
        low, high = np.flatnonzero(~refuted[: steps + 1]), np.flatnonzero(~refuted[steps + 1 :])
        below = low[0] - 1 if len(low) else steps
        above = high[-1] + 1 if len(high) else 0
        yield float(grid[max(below, 0)]), float(grid[min(above, steps)])
