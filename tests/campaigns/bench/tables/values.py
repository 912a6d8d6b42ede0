"""Lines of a table: a value of each job, and its spread over the repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from statistics import median
from typing import Any, Final

import numpy as np

from campaigns.bench.lines import Line, Spread, Target
from campaigns.bench.providers import OURS

Record = dict[str, Any]
"""One job as it ran: ``group``, ``part``, ``provider``, sizes, and its ``figures``."""
Value = Callable[[Record], float]
BOTH: Final = ("rocksdb", "hdfs")


def line(records: Iterable[Record], name: str, value: Value, target: Target | None = None, headline: str = "") -> Line:
    """Apply ``value`` to each record; ``name`` is the label and, after the last comma, the unit."""
    groups: dict[str, list[float]] = {}
    for record in records:
        groups.setdefault(record["provider"], []).append(value(record))
    label, unit = name.rsplit(", ", 1)
    return Line(label, unit, {name: Spread.of(values) for name, values in groups.items()}, target, headline)


def times(limit: float, *families: str) -> Target:
    """Give the most that ours may take, as a multiple of the best peer of each of the families."""
    return Target(times=dict.fromkeys(families, limit))


def records_of(records: list[Record], *parts: str, group: str = "", variant: str = "", keys: int = 0) -> list[Record]:
    """Choose the records of some parts."""
    wanted = {name: value for name, value in (("group", group), ("variant", variant), ("keys", keys)) if value}
    return [r for r in records if r["part"] in parts and all(r[name] == value for name, value in wanted.items())]


def cases(records: list[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Give the records of each size of state, with a title."""
    for keys, longs in sorted({(r["keys"], r["value_longs"]) for r in records}):
        case = [r for r in records if (r["keys"], r["value_longs"]) == (keys, longs)]
        yield f"{keys:,} keys of 16 bytes, values of {8 + 8 * longs} bytes", case


def each(figure: str, scale: float = 1.0, skip: int = 0) -> Value:
    """The median over rounds or batches."""
    return lambda record: median(record["figures"][figure][skip:]) / scale


def once(figure: str, scale: float) -> Value:
    """Give a figure that a job has once."""
    return lambda record: record["figures"][figure] / scale


def above(value: Value, empty: list[Record]) -> Value:
    """What a record has above the same query on a provider that keeps nothing, or over few keys."""
    floor = median(map(value, empty))
    return lambda record: value(record) - floor


def per_row(step: str, size: str) -> Value:
    """Microseconds a row: the median over rounds, by the number of keys read or of rows put."""
    return lambda record: median(record["figures"][step]) / (record[size] or record["keys"]) / 1e3


def percentile(step: str, percent: int) -> Value:
    """Milliseconds, of all rounds."""
    return lambda record: float(np.percentile(record["figures"][step], percent)) / 1e6


def between(name: str, larger: list[float], smaller: list[float], limit: float) -> Line:
    """How many times one figure of ours is another, run by run; a job may have failed, and then one has fewer runs."""
    ratios = [a / b for a, b in zip(larger, smaller, strict=False)]
    return Line(name, "times", {OURS: Spread.of(ratios)}, Target(limit), name)
