"""The values of an aggregation's keys are read ahead where they are in files, and only there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from keygroups.configure import PROVIDER
from support.spark import session_with

STATE = "spark.sql.streaming.stateStore."
KEYS = 3000
"""More than the rows of one look ahead in each of two partitions."""


@pytest.mark.parametrize("tasks", [2, 1])
@pytest.mark.parametrize(("mapped", "ahead"), [("1", 2 * KEYS), ("1g", 0)])
def test_values_in_files_are_read_ahead(
    spark: SparkSession, tmp_path: Path, mapped: str, ahead: int, tasks: int
) -> None:
    """Also where one task has several partitions, one after the other."""
    batches = tmp_path / "in"
    for number in range(3):
        rows = spark.range(2 * KEYS if number == 0 else KEYS).withColumn("batch", F.lit(number))
        rows.coalesce(1).write.mode("append").parquet(str(batches))
    session = session_with(spark, {f"{STATE}providerClass": PROVIDER, f"{STATE}keyGroups.mappedValueBytes": mapped})
    stream = session.readStream.schema("id long, batch int").option("maxFilesPerTrigger", 1).parquet(str(batches))
    value = F.concat_ws("-", F.repeat(F.lit("x"), 300), "id", "batch")
    newest = stream.groupBy("id").agg(F.max_by(value, "batch").alias("newest")).coalesce(tasks)
    before = _begun(spark)
    writer = newest.writeStream.format("memory").queryName("newest").outputMode("complete").trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    assert _begun(spark) - before == ahead
    last = F.when(F.col("id") < KEYS, 2).otherwise(0)
    table = session.table("newest")
    wrong = table.where(F.col("newest") != F.concat_ws("-", F.repeat(F.lit("x"), 300), "id", last))
    assert (table.count(), wrong.count()) == (2 * KEYS, 0)


@pytest.mark.parametrize(("new", "ahead"), [(5000, 3000), (3000, 1904)])
def test_after_new_keys_rows_pass_without_a_look(spark: SparkSession, tmp_path: Path, new: int, ahead: int) -> None:
    """Rows come in the order of their keys: 2,048 of new keys are looked up for nothing, and as many then pass."""
    batches = tmp_path / "in"
    for number, first in enumerate([0, -new]):
        rows = spark.range(first, KEYS).withColumn("batch", F.lit(number))
        rows.coalesce(1).write.mode("append").parquet(str(batches))
    settings = {"spark.sql.shuffle.partitions": "1", f"{STATE}keyGroups.mappedValueBytes": "1"}
    session = session_with(spark, {f"{STATE}providerClass": PROVIDER, **settings})
    stream = session.readStream.schema("id long, batch int").option("maxFilesPerTrigger", 1).parquet(str(batches))
    value = F.concat_ws("-", F.repeat(F.lit("x"), 300), "id", "batch")
    newest = stream.groupBy("id").agg(F.max_by(value, "batch").alias("newest"))
    before = _begun(spark)
    writer = newest.writeStream.format("memory").queryName("passed").outputMode("complete").trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    assert _begun(spark) - before == ahead
    table = session.table("passed")
    right = table.where(F.col("newest") == F.concat_ws("-", F.repeat(F.lit("x"), 300), "id", F.lit(1)))
    assert (table.count(), right.count()) == (KEYS + new, KEYS + new)


def _begun(spark: SparkSession) -> int:
    jvm: Any = spark.sparkContext._jvm
    return int(jvm.io.keygroups.spark.segment.FileReads.begun())
