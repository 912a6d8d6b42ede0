"""Counters and gauges of a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from keygroups.functions.context import MetricGroup
from keygroups.state.errors import StateError


@dataclass
class Count:
    """A ``Counter``."""

    count: int = 0

    def inc(self, n: int = 1) -> None:
        """Count up."""
        self.count += n

    def dec(self, n: int = 1) -> None:
        """Count down."""
        self.count -= n

    def get_count(self) -> int:
        """Give the number of this task."""
        return self.count


@dataclass
class Metrics(MetricGroup):
    """The metrics of one task.

    Args:
        operator: Named in errors.

    Attributes:
        counters: By their names.
        gauges: What gives the number of each, by its name.
    """

    operator: str
    counters: dict[str, Count] = field(default_factory=dict)
    gauges: dict[str, Callable[[], int]] = field(default_factory=dict)
    _sealed: bool = False

    def counter(self, name: str) -> Count:
        """Give the counter of a name."""
        if name not in self.counters:
            self._require_new(name)
            self.counters[name] = Count()
        return self.counters[name]

    def gauge(self, name: str, function: Callable[[], int]) -> None:
        """Register a number that is asked for at the end of each batch."""
        self._require_new(name)
        self.gauges[name] = function

    def seal(self) -> None:
        """Refuse other names from now on: Spark has to know them before a batch."""
        self._sealed = True

    def names(self) -> list[str]:
        """Give the names of all, in the order of their registration."""
        return [*self.counters, *self.gauges]

    def values(self) -> dict[str, int]:
        """Give what each shows now."""
        counts = {name: counter.count for name, counter in self.counters.items()}
        return counts | {name: int(function()) for name, function in self.gauges.items()}

    def _require_new(self, name: str) -> None:
        if self._sealed:
            raise StateError(
                f"operator {self.operator!r} registers the metric {name!r} after open",
                expected=", ".join(self.names()) or "no metric",
                fix="register each counter and gauge in open: Spark must know their names before the first row",
            )
        if not name or name.__class__ is not str or name in self.names():
            raise StateError(
                f"operator {self.operator!r} registers a metric with a wrong name",
                expected="a text that no other metric of it has",
                found=repr(name),
            )
