"""The input: batch n always has the same rows in the same order, whatever was disturbed before."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

ROWS = 150
"""Of a batch: a part of the keys, so that older segments are still needed, and are merged."""
KEYS = 200
BATCH_SECONDS = 8
"""Event time from a batch to the next; rows are up to this early or late, one in 20 by two minutes more."""
START = 1_767_225_600
"""2026-01-01 in UTC."""


def events(spark: SparkSession) -> DataFrame:
    """A stream of key, value, ts; its source numbers the rows.

    The file source can't be used: a driver that dies after the source has noted a file and before the offset log has
    noted the batch makes Spark's next batch take two files, so that later watermarks differ. This source keeps no log.
    """
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS)
    numbers = source.option("numPartitions", 1).load().select(F.col("value").alias("number"))
    batch = F.floor(F.col("number") / ROWS)
    late = F.when(_draw(4, 20) == 0, 120).otherwise(0)
    second = START + BATCH_SECONDS * batch + _draw(3, 2 * BATCH_SECONDS) - BATCH_SECONDS - late
    return numbers.select(
        F.concat(F.lit("key-"), _draw(1, KEYS)).alias("key"),
        _draw(2, 1000).alias("value"),
        F.timestamp_seconds(second).alias("ts"),
    )


def _draw(number: int, below: int) -> Column:
    """The row's random number of this number."""
    return F.pmod(F.xxhash64("number", F.lit(number)), F.lit(below))
