"""What a table of results is made of, and when a target is met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from providers import OURS


@dataclass(frozen=True)
class Target:
    """What our figure must not exceed.

    Attributes:
        at_most: Limit in the line's unit, or None.
        times: Largest ratio to each peer named.
    """

    at_most: float | None = None
    times: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        """Word it for the table."""
        absolute = [] if self.at_most is None else [f"<= {self.at_most:g}"]
        return ", ".join([*absolute, *(f"<= {limit:g}x {peer}" for peer, limit in self.times.items())])

    def verdict(self, values: dict[str, float]) -> str:
        """Say ``met`` or ``missed``, or nothing where a figure is absent."""
        if not {OURS, *self.times} <= values.keys():
            return ""
        limits = [limit * values[peer] for peer, limit in self.times.items()]
        limits += [] if self.at_most is None else [self.at_most]
        return "met" if values[OURS] <= min(limits) else "missed"


@dataclass(frozen=True)
class Line:
    """One figure: its name with unit, the value of each provider, and our target if there is one."""

    label: str
    values: dict[str, float]
    target: Target | None = None


@dataclass(frozen=True)
class Table:
    """One part's lines under a title; ``note`` says what a reader must know of how they were measured."""

    title: str
    lines: Sequence[Line]
    note: str
