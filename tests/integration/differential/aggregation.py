"""Streaming aggregation: grouped, windowed and global."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from support.case import TIGHT, Case
from support.events import Shape

FORMAT = "spark.sql.streaming.aggregation.stateFormatVersion"
WATERMARK = "90 seconds"


def grouped(events: DataFrame) -> DataFrame:
    """Fixed-width and growing values per composite key."""
    numbers = [F.count("*").alias("count"), F.sum("v").alias("sum"), F.max("name").alias("max")]
    return events.groupBy("k", "flag", "name").agg(*numbers, F.collect_list("id").alias("ids"))


def windowed(events: DataFrame) -> DataFrame:
    """Sliding windows, so that a row updates two keys."""
    window = F.window("ts", "2 minutes", "1 minute")
    return events.withWatermark("ts", WATERMARK).groupBy(window, "name").agg(F.count("*").alias("n"), F.sum("v"))


def total(events: DataFrame) -> DataFrame:
    """No grouping: one row, which lies in partition 0."""
    return events.agg(F.count("*").alias("n"), F.sum("v").alias("sum"), F.max("ts").alias("last"))


def newest(events: DataFrame) -> DataFrame:
    """Values much larger than their keys."""
    return events.groupBy("k").agg(F.max_by(F.concat_ws("/", "name", F.repeat("name", 3)), "id").alias("newest"))


UNLOAD = "spark.sql.streaming.stateStore.unloadOnCommit"
MANY_KEYS = Shape(batches=5, rows=4000, keys=2000, padding=60)
IN_FILES = {"spark.sql.streaming.stateStore.keyGroups.mappedValueBytes": "1"}

CASES = [
    Case("grouped update", grouped, "update"),
    Case("grouped, full write buffers", grouped, "update", TIGHT, shape=MANY_KEYS),
    Case(
        "newest, values in files", newest, "update", IN_FILES, shape=Shape(batches=5, rows=1500, keys=500, padding=100)
    ),
    Case("grouped complete, format 1", grouped, "complete", {FORMAT: "1"}),
    Case("window append", windowed),
    Case("window update, format 1", windowed, "update", {FORMAT: "1"}),
    Case("total update", total, "update"),
    Case("grouped update, unloaded after each batch", grouped, "update", {UNLOAD: "true"}),
]

MORE_CASES = [
    Case("grouped update, format 1", grouped, "update", {FORMAT: "1"}),
    Case("grouped complete", grouped, "complete"),
    Case("window complete", windowed, "complete"),
    Case("window append, format 1", windowed, conf={FORMAT: "1"}),
    Case("total complete", total, "complete"),
    Case("total update, format 1", total, "update", {FORMAT: "1"}),
]
