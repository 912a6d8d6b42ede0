"""dropDuplicates with and without a watermark, and dropDuplicatesWithinWatermark."""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from support.case import Case
from support.events import KEY_TYPES, Shape


def every_key_type(events: DataFrame) -> DataFrame:
    """One operator per key type, in the branches of a union: task numbers and store partitions are not the same."""
    branches = [_distinct(events, column) for column in KEY_TYPES]
    return reduce(DataFrame.union, branches)


def composite(events: DataFrame) -> DataFrame:
    """All key columns in one key; the state only grows."""
    return events.dropDuplicates(list(KEY_TYPES))


def with_watermark(events: DataFrame) -> DataFrame:
    """The event time is part of the key, so that the watermark evicts keys."""
    minutes = events.withColumn("ts", F.date_trunc("minute", "ts"))
    return minutes.withWatermark("ts", "1 minute").dropDuplicates(["k", "flag", "ts"]).select("k", "flag", "ts")


def within_watermark(events: DataFrame) -> DataFrame:
    """The event time is not part of the key; each key has a time at which it expires."""
    return events.withWatermark("ts", "1 minute").dropDuplicatesWithinWatermark(["ratio", "tags"])


def _distinct(events: DataFrame, column: str) -> DataFrame:
    text = F.to_json(F.struct(column))
    return events.dropDuplicates([column]).select(F.lit(column).alias("column"), text.alias("value"), "id")


SEVEN_PARTITIONS = {"spark.sql.shuffle.partitions": "7"}
"""7 does not divide 28,800, the usual number of key groups."""

CASES = [
    Case("dedupe of every key type", every_key_type, shape=Shape(batches=4), history=False),
    Case("dedupe composite", composite, conf=SEVEN_PARTITIONS),
    Case("dedupe watermark", with_watermark),
    Case("dedupe within watermark", within_watermark),
]

MORE_CASES = [
    Case("dedupe update", composite, "update"),
    Case("dedupe watermark update", with_watermark, "update"),
    Case("dedupe within watermark update", within_watermark, "update"),
]
