"""Queries of Spark's own operators."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

DELAY = "10 seconds"


def aggregation(events: DataFrame) -> DataFrame:
    """Count and sum of each key: inserts and updates."""
    return events.groupBy("key").agg(F.count("*").alias("n"), F.sum("value").alias("total"))


def texts(events: DataFrame) -> DataFrame:
    """Count of each key, and the greatest of texts of 1.2 KB: rows that are mostly value."""
    text = F.repeat(F.format_string("%03d", "value"), 400)
    return events.groupBy("key").agg(F.count("*").alias("n"), F.max(text).alias("text"))


def windows(events: DataFrame) -> DataFrame:
    """The same for each window of 10 seconds, once the watermark has passed it: inserts, updates and evicts."""
    window = F.window("ts", "10 seconds")
    counted = events.withWatermark("ts", DELAY).groupBy(window, "key")
    return counted.agg(F.count("*").alias("n"), F.sum("value").alias("total"))


def dedupe(events: DataFrame) -> DataFrame:
    """Each of 20 keys once a second: inserts and evicts; half of the rows are duplicates."""
    few = events.select(F.pmod("value", F.lit(20)).alias("few"), "ts")
    return few.withWatermark("ts", DELAY).dropDuplicates(["few", "ts"])


def sessions(events: DataFrame) -> DataFrame:
    """Sessions of each key with a gap of 10 seconds: sessions are merged, which replaces rows, and evicted."""
    session = F.session_window("ts", "10 seconds")
    grouped = events.withWatermark("ts", DELAY).groupBy(session, "key")
    return grouped.agg(F.count("*").alias("n"), F.sum("value").alias("total"))


def outer_join(events: DataFrame) -> DataFrame:
    """Large values with the small ones of 20 keys within five seconds, or alone: evicts both sides."""
    timed = events.withWatermark("ts", DELAY).withColumn("key", F.pmod(F.xxhash64("key"), F.lit(20)))
    large = timed.where("value >= 700")
    small = timed.where("value < 200").select(
        F.col("key").alias("k2"), F.col("value").alias("v2"), F.col("ts").alias("t2")
    )
    near = "key = k2 AND t2 BETWEEN ts - INTERVAL 5 SECONDS AND ts + INTERVAL 5 SECONDS"
    return large.join(small, F.expr(near), "left").select("key", "value", "ts", "v2", "t2")
