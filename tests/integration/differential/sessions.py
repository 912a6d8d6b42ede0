"""Session windows, whose stores are scanned by key prefix."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from support.case import Case

MERGE_LOCALLY = "spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition"


def sessions(events: DataFrame) -> DataFrame:
    """Sessions with a fixed gap per composite key of fixed and variable width."""
    return _aggregate(events, F.session_window("ts", "20 seconds"), "name", "flag")


def dynamic_gap(events: DataFrame) -> DataFrame:
    """The gap depends on the row."""
    gap = F.when(F.col("v") % 2 == 0, "5 seconds").otherwise("40 seconds")
    return _aggregate(events, F.session_window("ts", gap), "k")


def _aggregate(events: DataFrame, window: Column, *keys: str) -> DataFrame:
    late = events.withWatermark("ts", "30 seconds")
    return late.groupBy(window, *keys).agg(F.count("*").alias("n"), F.sum("v").alias("sum"), F.max("id").alias("last"))


CASES = [
    Case("sessions append", sessions),
    Case("sessions dynamic gap", dynamic_gap),
]

MORE_CASES = [
    Case("sessions complete", sessions, "complete"),
    Case("sessions merged locally", sessions, conf={MERGE_LOCALLY: "true"}),
]
