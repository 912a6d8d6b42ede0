"""A query to be killed: ``python job.py FOLDER``. It counts rows per key, one file a batch, and keeps all answers.

Reads FOLDER/input, writes FOLDER/output/<batch>.json and FOLDER/checkpoint; prints ``batch N`` when N is written. If
there is a file FOLDER/fail, the first attempt of one task of every batch fails while its rows flow.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import keygroups

PREFIX = "spark.sql.streaming.stateStore."


def main(folder: Path) -> None:
    """Run the query over all files there are."""
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.local.dir", str(folder / "local")).config("spark.driver.memory", "1g")
    builder = builder.config("spark.sql.shuffle.partitions", "3").config(PREFIX + "maintenanceInterval", "200ms")
    builder = builder.config("spark.sql.streaming.minBatchesToRetain", "3")
    spark = keygroups.configure(builder, compactionFanout="2", overlayBytes="65536").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def write(rows: DataFrame, batch: int) -> None:
        found = sorted((row.key, row.n, row.total) for row in rows.collect())
        path = folder / "output" / f"{batch}.json"
        path.with_suffix(".part").write_text(json.dumps(found))
        path.with_suffix(".part").rename(path)
        print(f"batch {batch}", flush=True)

    events = spark.readStream.schema("key string, value long").option("maxFilesPerTrigger", 1)
    counts = events.json(str(folder / "input")).groupBy("key")
    answers = counts.agg(F.count("*").alias("n"), F.sum("value").alias("total"))
    if (folder / "fail").exists():
        answers = answers.withColumn("total", F.udf(fail_first_attempt, "long")("total"))
    query = (
        answers.writeStream.outputMode("update")
        .foreachBatch(write)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


def fail_first_attempt(total: int) -> int:
    """The same number, but not for the first attempt at partition 1."""
    task = TaskContext.get()
    if task is not None and task.partitionId() == 1 and task.attemptNumber() == 0:
        raise RuntimeError("the first attempt fails, as the test wants")
    return total


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(Path(sys.argv[1]))
