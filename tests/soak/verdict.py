"""Whether figures stay flat: the same moments of one wave after another are compared."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from soak.query import Wave
from soak.sample import Figures

WARM_UP = 2
"""Waves that don't count: compiled code, thread pools and Spark's histories fill in them."""
MARGIN, NOISES = 0.03, 2.0
"""A figure may grow by this part of itself, and this many times its noise, in 1,000 batches."""


@dataclass(frozen=True)
class Trend:
    """One figure at the same moment of each wave.

    Attributes:
        waves: its median of each wave, those of the warm-up too.
        period: batches of a wave.
        judged: whether it has to be flat.
    """

    waves: Sequence[float]
    period: int
    judged: bool = True

    @property
    def is_flat(self) -> bool:
        """Whether it grows by no more than the margin, by the line through the waves and by their halves."""
        return not self.judged or max(self.slope, self.growth) <= MARGIN + NOISES * self.noise

    @property
    def growth(self) -> float:
        """By which part of itself the second half of the waves lies above the first half, after the warm-up."""
        half = len(self._counted) // 2
        return (
            statistics.fmean(self._counted[-half:]) / self._mean - statistics.fmean(self._counted[:half]) / self._mean
        )

    @property
    def slope(self) -> float:
        """By which part of itself it grows in 1,000 batches: least squares over the waves after the warm-up."""
        return self._line.slope / self._mean * 1000 / self.period

    @property
    def noise(self) -> float:
        """How far the waves lie from that line, as part of the figure: standard deviation."""
        line = self._line
        off = [value - line.intercept - line.slope * number for number, value in enumerate(self._counted)]
        return statistics.pstdev(off) / self._mean

    @cached_property
    def _counted(self) -> Sequence[float]:
        return self.waves[WARM_UP:]

    @cached_property
    def _mean(self) -> float:
        return statistics.fmean(self._counted) or 1.0

    @cached_property
    def _line(self) -> statistics.LinearRegression:
        return statistics.linear_regression(range(len(self._counted)), self._counted)


def trend(samples: Sequence[Figures], wave: Wave, moment: str, figure: str, *, judged: bool = True) -> Trend:
    """The trend of one figure, which not every sample need have."""
    chosen = [taken for taken in samples if figure in taken and wave.moment(int(taken["batch"])) == moment]
    numbers = range(len(samples) // wave.period)
    values = [[taken[figure] for taken in chosen if taken["batch"] // wave.period == number] for number in numbers]
    return Trend([statistics.median(found) for found in values], wave.period, judged)
