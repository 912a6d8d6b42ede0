"""The queries whose checkpoints the tests put on remote file systems."""

# ruff: noqa: N802, N803, ARG002 - names of methods and arguments are those of Spark's StatefulProcessor
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

SCHEMA = "key string, value long, ts timestamp"
Queries = Mapping[str, tuple[Callable[[DataFrame], DataFrame], str]]


class _Totals(StatefulProcessor):
    """Count and last values of each key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "n long")
        self.last = handle.getListState("last", "value long")

    def handleInputRows(
        self, key: tuple[str], rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        values = [int(value) for frame in rows for value in frame["value"]]
        known = self.count.get()
        count = (known[0] if known else 0) + len(values)
        self.count.update((count,))
        self.last.appendList([(value,) for value in sorted(values)[-2:]])
        total = sum(value for (value,) in self.last.get())
        yield pd.DataFrame({"key": [key[0]], "n": [count], "total": [total]})

    def close(self) -> None:
        """Nothing is held."""


def aggregation(events: DataFrame) -> DataFrame:
    """Count and sum of each key."""
    return events.groupBy("key").agg(F.count("*").alias("n"), F.sum("value").alias("total"))


def join(events: DataFrame) -> DataFrame:
    """Pairs of large and small values of one key within five seconds; large ones without a partner too."""
    timed = events.withWatermark("ts", "10 seconds")
    large = timed.where("value >= 800").select("key", "value", "ts")
    small = timed.where("value < 100").select(
        F.col("key").alias("k2"), F.col("value").alias("v2"), F.col("ts").alias("t2")
    )
    near = "key = k2 AND t2 BETWEEN ts - INTERVAL 5 SECONDS AND ts + INTERVAL 5 SECONDS"
    return large.join(small, F.expr(near), "left").select("key", "value", "v2")


def transform(events: DataFrame) -> DataFrame:
    """Count, and the sum of each batch's two largest values."""
    return events.groupBy("key").transformWithStateInPandas(
        statefulProcessor=_Totals(),
        outputStructType="key string, n long, total long",
        outputMode="Update",
        timeMode="None",
    )


QUERIES: Queries = {
    "aggregation": (aggregation, "update"),
    "join": (join, "append"),
    "transform": (transform, "update"),
}
"""How each is built, and its output mode."""
