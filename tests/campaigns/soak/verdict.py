"""Whether figures stay flat: the same moments of one wave after another are compared."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from campaigns.soak.query import Wave
from campaigns.soak.sample import Figures

WARM_UP = 2
"""Waves that don't count: compiled code, thread pools and Spark's histories fill in them."""
PER_BATCHES = 1000
"""Limits of growth are for so many batches, and for all of a run that judges fewer."""


@dataclass(frozen=True)
class Trend:
    """One figure at the same moment of each wave.

    Attributes:
        waves: its median of each wave, those of the warm-up too.
        period: batches of a wave.
        limit: by how much it may grow in ``PER_BATCHES``; None if it is not judged. It is fixed: a limit that follows
            from the samples rises with their noise, and hides a leak that comes in steps.
    """

    waves: Sequence[float]
    period: int
    limit: float | None = None

    @property
    def is_flat(self) -> bool:
        """Whether it grows within the limit, by the line through the waves and by their halves."""
        if self.limit is None:
            return True
        judged = self.period * (len(self._counted) - 1)
        return max(self.slope * judged / PER_BATCHES, self.growth) <= self.limit * max(1.0, judged / PER_BATCHES)

    @property
    def growth(self) -> float:
        """By how much the second half of the waves lies above the first half, after the warm-up."""
        half = len(self._counted) // 2
        return statistics.fmean(self._counted[-half:]) - statistics.fmean(self._counted[:half])

    @property
    def slope(self) -> float:
        """By how much it grows in ``PER_BATCHES``: least squares over the waves after the warm-up."""
        line = statistics.linear_regression(range(len(self._counted)), self._counted)
        return line.slope * PER_BATCHES / self.period

    @cached_property
    def _counted(self) -> Sequence[float]:
        return self.waves[WARM_UP:]


def trend(samples: Sequence[Figures], wave: Wave, moment: str, figure: str, limit: float | None = None) -> Trend:
    """The trend of one figure, which not every sample need have."""
    chosen = [taken for taken in samples if figure in taken and wave.moment(int(taken["batch"])) == moment]
    numbers = range(len(samples) // wave.period)
    values = [[taken[figure] for taken in chosen if taken["batch"] // wave.period == number] for number in numbers]
    return Trend([statistics.median(found) for found in values], wave.period, limit)
