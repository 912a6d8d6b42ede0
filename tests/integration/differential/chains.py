"""Global limit, and several stateful operators in one query."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from integration.differential.joins import in_range
from support.case import Case
from support.events import Shape


def limited(events: DataFrame) -> DataFrame:
    """Global limit: the state is one counter, in partition 0."""
    return events.select("id", "name").limit(60)


def limited_distinct(events: DataFrame) -> DataFrame:
    """Deduplication, then a limit that is reached in the middle."""
    return events.dropDuplicates(["k"]).select("k").limit(9)


def distinct_then_window(events: DataFrame) -> DataFrame:
    """Deduplication, then a count per window."""
    distinct = events.withWatermark("ts", "1 minute").dropDuplicatesWithinWatermark(["k", "name"])
    return distinct.groupBy(F.window("ts", "1 minute")).count()


def window_then_window(events: DataFrame) -> DataFrame:
    """Counts per minute and key, then sums per two minutes."""
    minutes = events.withWatermark("ts", "30 seconds").groupBy(F.window("ts", "1 minute"), "k").count()
    return minutes.groupBy(F.window(F.window_time("window"), "2 minutes"), "k").agg(F.sum("count"), F.count("*"))


def join_then_window(left: DataFrame, right: DataFrame) -> DataFrame:
    """A join of two streams, then a count per window: five stores."""
    return in_range(left, right, "inner").groupBy(F.window("ts", "1 minute"), "k").count()


def session_then_window(events: DataFrame) -> DataFrame:
    """Sessions, then how many end in each window."""
    keyed = events.withWatermark("ts", "30 seconds").groupBy(F.session_window("ts", "20 seconds"), "k")
    ended = keyed.count().select(F.window_time("session_window").alias("ts"), "count")
    return ended.groupBy(F.window("ts", "2 minutes")).agg(F.sum("count"), F.count("*"))


MATCHING = Shape(batches=8, rows=25, keys=3, empty=0.1)
"""Enough pairs that the windows behind a join fill and close."""

CASES = [
    Case("limit", limited),
    Case("dedupe, limit", limited_distinct, shape=Shape(batches=6)),
    Case("dedupe, window", distinct_then_window),
    Case("window, window", window_then_window),
    Case("join, window", join_then_window, inputs=2, shape=MATCHING, history=False),
    Case("session, window", session_then_window),
]

MORE_CASES: list[Case] = []
