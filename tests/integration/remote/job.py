"""Runs queries over all files there are, then ends: ``python job.py JOB.json``.

JOB.json: ``input`` (a local folder), ``output`` (a local folder, gets <query>/<batch>.json), ``checkpoint`` (any URL),
``provider``, ``queries``, ``conf`` (of Spark), ``class_path``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from integration.remote.queries import QUERIES, SCHEMA, Queries
from keygroups.configure import configure
from support.spark import PROVIDERS, prepare_environment

STATE = "spark.sql.streaming.stateStore."
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # With them, where a query stopped shows in the numbers of its batches.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    STATE + "maintenanceInterval": "1s",
    "spark.sql.streaming.minBatchesToRetain": "2",
}


def main(job: dict[str, Any]) -> None:
    """Run the job."""
    prepare_environment()
    spark = session(job)
    for name in job["queries"]:
        start(spark, name, job).awaitTermination()
    spark.stop()


def session(job: dict[str, Any]) -> SparkSession:
    """Start the job's session."""
    builder = SparkSession.builder.master("local[2]").appName("keygroups-remote")
    conf = SETTINGS | {"spark.driver.extraClassPath": job["class_path"]} | job["conf"]
    for name, value in conf.items():
        builder.config(name, value)
    spark = configure(builder).config(STATE + "providerClass", PROVIDERS[job["provider"]]).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def start(
    spark: SparkSession,
    name: str,
    job: dict[str, Any],
    queries: Queries = QUERIES,
    after: Callable[[int], None] = lambda _batch: None,
) -> StreamingQuery:
    """Start one query, which ends with its input; ``after`` is called when the rows of a batch are written."""
    build, mode = queries[name]
    output = Path(job["output"]) / name
    output.mkdir(parents=True, exist_ok=True)
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(job["input"])
    writer = build(events).writeStream.outputMode(mode).foreachBatch(partial(write, output, after))
    return writer.option("checkpointLocation", f"{job['checkpoint']}/{name}").trigger(availableNow=True).start()


def write(output: Path, after: Callable[[int], None], rows: DataFrame, batch: int) -> None:
    """Keep the rows of a batch; a second attempt must have those of the first."""
    found = sorted(([*row] for row in rows.collect()), key=str)
    path = output / f"{batch}.json"
    if path.exists() and (first := json.loads(path.read_text())) != found:
        raise AssertionError(f"batch {batch} had other rows in its first attempt: {first}; this one has {found}")
    path.with_suffix(".part").write_text(json.dumps(found))
    path.with_suffix(".part").rename(path)
    print(f"batch {batch}", flush=True)
    after(batch)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
