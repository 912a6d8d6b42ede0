"""Queries that are started for one batch and end, in one application."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from support.spark import session_with

RUNS = 9
RETAINED = 3
MOST_FILES = 20
CONF = {
    "spark.sql.streaming.minBatchesToRetain": str(RETAINED),
    "spark.sql.streaming.stateStore.maintenanceInterval": "1h",
    "spark.sql.shuffle.partitions": "1",
}


def test_a_query_that_is_started_for_each_batch_keeps_few_files(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing but its commits merges and deletes: no maintenance runs."""
    session = session_with(spark, CONF)
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    files, merged = [], 0
    for run in range(RUNS):
        session.range(run * 100, run * 100 + 200).coalesce(1).write.mode("append").parquet(str(source))
        counts = session.readStream.schema("id long").parquet(str(source)).groupBy("id").count()
        writer = counts.writeStream.outputMode("update").format("noop").option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        progress = query.lastProgress
        assert progress is not None
        merged += progress["stateOperators"][0]["customMetrics"]["keyGroupsMergedBytes"]
        files.append(len([path for path in (checkpoint / "state/0/0").iterdir() if path.name[0] in "vs"]))
    assert max(files) < RUNS
    assert max(files) <= MOST_FILES
    assert merged > 0
    rows = session.read.format("statestore").load(str(checkpoint)).select("key.id", F.col("value.count"))
    assert dict(rows.collect()) == {n: 1 + (100 <= n < RUNS * 100) for n in range(RUNS * 100 + 100)}  # type: ignore[arg-type]
