"""Late rows in streaming queries of a real Spark: they pass, and never stop a query."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import keygroups as kg
from integration.streams.stream import Define, Stream
from keygroups.functions import Context, KeyedProcessFunction, OnTimerContext
from keygroups.streams.keyed import KeyedStream

TIMED = pa.schema([("user", pa.string()), ("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
SAME = "user string, n bigint, at timestamp"
START = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)


class TimerOfThePast(KeyedProcessFunction):
    """Gives a row at the time of its timer, which is set an hour before the row."""

    def process_element(self, value: Any, ctx: Context) -> None:
        del value
        ctx.timer_service().register_event_time_timer(ctx.timestamp() - 3_600_000)

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), 0, dt.datetime.fromtimestamp(timestamp / 1000, dt.timezone.utc)


def second(number: float) -> dt.datetime:
    return START + dt.timedelta(seconds=number)


def timed(frame: DataFrame) -> KeyedStream:
    return kg.key_by(frame.withWatermark("at", "1 second"), "user")


METHODS: dict[str, Define] = {
    "filter": lambda frame: timed(frame).filter(lambda row: row.n > 0, uid="filter"),
    "reduce": lambda frame: timed(frame).reduce(lambda _, new: new, uid="reduce"),
    "filter_with_state": lambda frame: timed(frame).filter_with_state(lambda _, n: (True, n), "bigint", uid="stays"),
    "map": lambda frame: timed(frame).map(lambda row: (*row,), SAME, uid="map", event_time="at"),
    "flat_map": lambda frame: timed(frame).flat_map(lambda row: [(*row,)], SAME, uid="flat", event_time="at"),
}


def add_late(stream: Stream) -> None:
    """Two batches let the watermark pass for rows that come; the third has a late row."""
    stream.add(("a", 1, second(100)))
    stream.add(("a", 2, second(101)))
    stream.add(("a", 3, second(5)), ("a", 4, second(102)))


@pytest.mark.parametrize("method", METHODS)
def test_a_late_row_passes(method: str, spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, TIMED, mode="append")
    add_late(stream)
    assert [row.n for row in stream.run(METHODS[method])] == [1, 2, 3, 4]
    stream.add(("a", 5, second(6)))
    assert [row.n for row in stream.run(METHODS[method])] == [5], "after a restart"


def test_an_aggregation_behind_drops_and_counts_a_late_row(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, TIMED, mode="append")
    add_late(stream)
    stream.add(("a", 6, second(200)))

    def define(frame: DataFrame) -> DataFrame:
        return METHODS["filter"](frame).groupBy(F.window("at", "50 seconds")).agg(F.sum("n").alias("n"))

    assert [row.n for row in stream.run(define)] == [1 + 2 + 4]
    counts = [[one.numRowsDroppedByWatermark for one in batch.stateOperators] for batch in stream.progress]
    assert [sum(of_one) for of_one in zip(*counts, strict=True)] == [1, 0], "of the aggregation, then of the filter"


def test_a_row_of_a_timer_of_the_past_passes(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, TIMED, mode="append")

    def define(frame: DataFrame) -> DataFrame:
        return timed(frame).process(TimerOfThePast(), SAME, uid="late", event_time="at")

    for number in (100, 101, 102):
        stream.add(("a", 1, second(number)))
    assert len(stream.run(define)) == 3
