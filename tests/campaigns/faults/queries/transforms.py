"""transformWithState in Python: value, list and map state; timers in event time, or a time to live."""

# ruff: noqa: N802, N803, ARG002 - names of methods and arguments are those of Spark's StatefulProcessor
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState, ValueState

OUTPUT = "key string, what string, number long"
IDLE_MS = 16_000
AT_ONCE_MS = 1
"""A time to live that is over in the next batch: Spark counts from the time of the batch, which the offset log keeps
for a second attempt, and no batch begins in the millisecond of the one before."""
NEVER_MS = 30 * 24 * 3_600_000
Key = tuple[Any, ...]
Frames = Iterator[pd.DataFrame]


def timers(events: DataFrame) -> DataFrame:
    """Counts, last values and a map of sums; a timer deletes all of a key that has been idle for two batches."""
    keyed = events.withWatermark("ts", "10 seconds").groupBy("key")
    return keyed.transformWithStateInPandas(_Idle(), OUTPUT, "update", "EventTime")


def ttl(events: DataFrame) -> DataFrame:
    """A map whose entries live on, and a map and a value that expire before the next batch."""
    return events.groupBy("key").transformWithStateInPandas(_Expiring(), OUTPUT, "update", "ProcessingTime")


class _Idle(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.count = handle.getValueState("count", "n long")
        self.last = handle.getListState("last", "value long")
        self.sums = handle.getMapState("sums", "digit long", "total long")

    def handleInputRows(self, key: Key, rows: Frames, timerValues: TimerValues) -> Frames:
        values = _values(rows)
        count = _number(self.count) + len(values)
        self.count.update((count,))
        self.last.appendList([(value,) for value in values[-2:]])
        for value in values:
            _add(self.sums, value)
        if values[0] % 7 == 0:
            self.last.clear()
        self._set_timer(timerValues.getCurrentWatermarkInMs())
        listed = [value for (value,) in self.last.get()]
        yield _frame([(key[0], "count", count), (key[0], "last", sum(listed)), *_entries(key, self.sums)])

    def _set_timer(self, watermark: int) -> None:
        for registered in list(self.handle.listTimers()):
            self.handle.deleteTimer(registered)
        self.handle.registerTimer(watermark + IDLE_MS)

    def handleExpiredTimer(self, key: Key, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo) -> Frames:
        yield _frame([(key[0], "expired", _number(self.count)), *_entries(key, self.sums)])
        for state in (self.count, self.last, self.sums):
            state.clear()

    def close(self) -> None:
        pass


class _Expiring(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.sums = handle.getMapState("sums", "digit long", "total long", NEVER_MS)
        self.brief = handle.getMapState("brief", "digit long", "total long", AT_ONCE_MS)
        self.seen = handle.getValueState("seen", "n long", AT_ONCE_MS)

    def handleInputRows(self, key: Key, rows: Frames, timerValues: TimerValues) -> Frames:
        values = _values(rows)
        before = _number(self.seen)
        self.seen.update((len(values),))
        found = [(key[0], "seen", before), *_entries(key, self.brief, "brief")]
        for value in values:
            _add(self.sums, value)
            _add(self.brief, value)
        if values[0] % 7 == 0:
            self.sums.removeKey((values[0] % 3,))
        yield _frame([*found, *_entries(key, self.sums), *_entries(key, self.brief, "brief")])

    def close(self) -> None:
        pass


def _values(rows: Frames) -> list[int]:
    return sorted(int(value) for frame in rows for value in frame["value"])


def _number(state: ValueState) -> int:
    known = state.get()
    return known[0] if known else 0


def _add(sums: MapState, value: int) -> None:
    known = sums.getValue((value % 3,))
    sums.updateValue((value % 3,), ((known[0] if known else 0) + value,))


def _entries(key: Key, sums: MapState, what: str = "sum") -> list[tuple[object, ...]]:
    return [(key[0], f"{what} of {digit}", total) for (digit,), (total,) in sorted(sums.iterator())]


def _frame(rows: list[tuple[object, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["key", "what", "number"])
