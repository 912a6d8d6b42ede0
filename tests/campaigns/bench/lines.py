"""What a table of results is made of: figures with their spread, ratios, and targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from campaigns.bench.providers import OURS, PROVIDERS

LEAST_RUNS: Final = 3
"""Fewer runs of a job have no spread to speak of."""


@dataclass(frozen=True)
class Spread:
    """The figures of several runs of one job, or a ratio of two such."""

    median: float
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Take the median, the smallest and the largest value."""
        ordered = sorted(values)
        return cls(median(ordered), ordered[0], ordered[-1], len(ordered))

    def over(self, other: Spread) -> Spread | None:
        """Divide by another: the interval holds the ratio of any run of the one to any run of the other."""
        if other.low <= 0 or self.low < 0:
            return None
        runs = min(self.runs, other.runs)
        return Spread(self.median / other.median, self.low / other.high, self.high / other.low, runs)

    @property
    def differs(self) -> bool:
        """Whether all of a ratio is below 1, or all of it above, in enough runs and as it is printed."""
        return self.runs >= LEAST_RUNS and (round(self.high, 2) < 1 or round(self.low, 2) > 1)


Values = dict[str, Spread]
"""A figure of each provider."""


def best(values: Values, family: str) -> Spread | None:
    """Give the figure of the provider of a family that has the smallest median."""
    members = [values[name] for name in values if PROVIDERS[name].family == family]
    return min(members, key=lambda spread: spread.median, default=None)


@dataclass(frozen=True)
class Target:
    """What our median must not exceed.

    Attributes:
        at_most: Limit in the line's unit, or None.
        times: Largest ratio to the best of each family named.
    """

    at_most: float | None = None
    times: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        """Word it for the table."""
        absolute = [] if self.at_most is None else [f"<= {self.at_most:g}"]
        return ", ".join([*absolute, *(f"<= {limit:g}x {family}" for family, limit in self.times.items())])

    def verdict(self, values: Values) -> str:
        """Say ``met`` or ``missed``, or nothing where a figure is absent."""
        peers = {family: best(values, family) for family in self.times}
        if OURS not in values or None in peers.values():
            return ""
        limits = [self.times[family] * peer.median for family, peer in peers.items() if peer]
        limits += [] if self.at_most is None else [self.at_most]
        return "met" if values[OURS].median <= min(limits) else "missed"


@dataclass(frozen=True)
class Line:
    """One figure: its name, unit, the value of each provider, and our target if there is one.

    Attributes:
        headline: Its name in README's table; empty for a line that is not there.
    """

    label: str
    unit: str
    values: Values
    target: Target | None = None
    headline: str = ""


@dataclass(frozen=True)
class Table:
    """One part's lines under a title; ``note`` says what a reader must know of how they were measured."""

    title: str
    lines: Sequence[Line]
    note: str
