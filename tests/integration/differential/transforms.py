"""transformWithState in Python: value, list and map state, time to live, timers, initial state, a chain."""

# ruff: noqa: N802, N803, ARG002 - names and arguments are those of Spark's StatefulProcessor
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from support.case import Case

OUTPUT = "name string, what string, number long"
PAIR = ("keygroups", "rocksdb")
"""Spark lets no other provider run transformWithState."""

NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
"""With timers in processing time there is always one more batch to come; a query that ends needs this off."""

HOUR = 3_600_000
Key = tuple[Any, ...]
Rows = Iterator[tuple[Any, ...]]


class _Counts(StatefulProcessor):
    """Keeps of each name its count, its last values, and the sum of each flag; timers report and forget."""

    ttl: int | None = None
    seconds = 60
    timers = True

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        ttl = self.ttl
        self.count = handle.getValueState("count", "n long", ttl)
        self.last = handle.getListState("last", "v int", ttl)
        self.sums = handle.getMapState("sums", "flag string", "total long", ttl)

    def rows(self, key: Key, values: list[tuple[int, str]], now: int) -> Rows:
        before = self.count.get()
        count = (before[0] if before else 0) + len(values)
        self.count.update((count,))
        if count % 5 == 0:
            self.last.put([(values[0][0],), (values[-1][0],)])
        for v, flag in values:
            if v % 11 == 0:
                self.last.clear()
            self.last.appendValue((v,))
            known = self.sums.getValue((flag,))
            self.sums.updateValue((flag,), ((known[0] if known else 0) + v,))
        if count % 7 == 0 and self.sums.containsKey(("None",)):
            self.sums.removeKey(("None",))
        if self.timers:
            self._timer(now)
        yield (*key, "count", count)
        yield (*key, "last", hash(tuple(v for (v,) in self.last.get())) % 1_000_003)
        for (flag,), (total,) in sorted(self.sums.iterator()):
            yield (*key, f"sum of {flag}", total)

    def _timer(self, now: int) -> None:
        for registered in list(self.handle.listTimers()):
            self.handle.deleteTimer(registered)
        self.handle.registerTimer(now + 1000 * self.seconds)

    def expired(self, key: Key) -> Rows:
        count = self.count.get()
        yield (*key, "expired", count[0] if count else -1)
        self.count.clear()
        self.last.clear()
        self.sums.clear()

    def close(self) -> None:
        pass


def _now(timers: TimerValues, event_time: bool) -> int:
    return int(timers.getCurrentWatermarkInMs() if event_time else timers.getCurrentProcessingTimeInMs())


class RowCounts(_Counts):
    """The processor on rows."""

    event_time = True

    def handleInputRows(self, key: Key, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        values = sorted((row.v, str(row.flag)) for row in rows)
        for row in self.rows(key, values, _now(timerValues, self.event_time)):
            yield Row(name=row[0], what=row[1], number=row[2])

    def handleExpiredTimer(
        self, key: Key, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        for row in self.expired(key):
            yield Row(name=row[0], what=row[1], number=row[2])

    def handleInitialState(self, key: Key, initialState: Row, timerValues: TimerValues) -> None:
        self.count.update((initialState.n,))
        self.last.appendValue((int(initialState.n),))


class PandasCounts(_Counts):
    """The processor on frames of pandas."""

    event_time = True

    def handleInputRows(
        self, key: Key, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        values = sorted(
            (int(v), str(flag)) for frame in rows for v, flag in zip(frame["v"], frame["flag"], strict=True)
        )
        yield _frame(self.rows(key, values, _now(timerValues, self.event_time)))

    def handleExpiredTimer(
        self, key: Key, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        yield _frame(self.expired(key))


class LivingCounts(RowCounts):
    """With a time to live that is far away, and timers in processing time that never fire within the test."""

    ttl = HOUR
    seconds = 3600
    event_time = False


def _frame(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=["name", "what", "number"])


def _prepared(events: DataFrame) -> DataFrame:
    return events.select("ts", F.coalesce("name", F.lit("-")).alias("name"), "v", F.col("flag").cast("string"))


def in_rows(events: DataFrame, mode: str = "update") -> DataFrame:
    """Rows, timers in event time."""
    keyed = _prepared(events).withWatermark("ts", "30 seconds").groupBy("name")
    return keyed.transformWithState(RowCounts(), OUTPUT, mode, "EventTime")


def in_pandas(events: DataFrame) -> DataFrame:
    """Frames, timers in event time."""
    keyed = _prepared(events).withWatermark("ts", "30 seconds").groupBy("name")
    return keyed.transformWithStateInPandas(PandasCounts(), OUTPUT, "update", "EventTime")


def with_ttl(events: DataFrame) -> DataFrame:
    """Rows, timers in processing time, a time to live for each state."""
    return _prepared(events).groupBy("name").transformWithState(LivingCounts(), OUTPUT, "update", "ProcessingTime")


def with_initial_state(events: DataFrame) -> DataFrame:
    """Counts that begin where another query left them."""
    known = events.sparkSession.createDataFrame([(f"name {i}", i) for i in range(9)], "name string, n long").union(
        events.sparkSession.createDataFrame([("-", 100)], "name string, n long")
    )
    keyed = _prepared(events).withWatermark("ts", "30 seconds").groupBy("name")
    return keyed.transformWithState(RowCounts(), OUTPUT, "update", "EventTime", initialState=known.groupBy("name"))


def then_window(events: DataFrame) -> DataFrame:
    """Chained with a count a window."""
    keyed = _prepared(events).withWatermark("ts", "30 seconds").groupBy("name")
    output = f"{OUTPUT}, ts timestamp"
    rows = keyed.transformWithState(Stamped(), output, "append", "EventTime", eventTimeColumnName="ts")
    return rows.groupBy(F.window("ts", "1 minute"), "what").count()


class Stamped(RowCounts):
    """Each row with a time that is not late: of the newest event, or of the watermark."""

    def handleInputRows(self, key: Key, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        events = list(rows)
        newest = max(row.ts for row in events)
        for row in super().handleInputRows(key, iter(events), timerValues):
            yield Row(**row.asDict(), ts=newest)

    def handleExpiredTimer(
        self, key: Key, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        now = pd.Timestamp(expiredTimerInfo.getExpiryTimeInMs(), unit="ms").to_pydatetime()
        for row in super().handleExpiredTimer(key, timerValues, expiredTimerInfo):
            yield Row(**row.asDict(), ts=now)


CASES = [
    Case("transform rows", in_rows, "update", providers=PAIR, history=False),
    Case("transform pandas", in_pandas, "update", providers=PAIR, history=False),
    Case("transform with ttl", with_ttl, "update", {NO_DATA: "false"}, providers=PAIR, history=False),
]

MORE_CASES = [
    Case("transform append", partial(in_rows, mode="append"), providers=PAIR, history=False),
    Case("transform with initial state", with_initial_state, "update", providers=PAIR, history=False),
    Case("transform, window", then_window, providers=PAIR, history=False),
]
