"""Recovery as a user meets it: a query is started again, in new processes, after it was stopped or has died."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import Event
from typing import Any, Final

import psutil
from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from campaigns.bench.e2e import FILES_PER_BATCH, aggregated, batches_of
from campaigns.bench.plan import Job

_MAINTENANCE_SECONDS: Final = 2
SNAPSHOT_AFTER: Final = "spark.sql.streaming.stateStore.minDeltasForSnapshot"
MAINTENANCE: Final = {"spark.sql.streaming.stateStore.maintenanceInterval": f"{_MAINTENANCE_SECONDS}s"}


def leave(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Run the query over all keys and some small batches, and stop it after maintenance.

    Returns:
        ``batches``, their number.
    """
    for batch in range(job.rounds):
        _offer(job, batch)
    query = _writer(spark, job).trigger(processingTime="0 seconds").start()
    query.processAllAvailable()
    Event().wait(4 * _MAINTENANCE_SECONDS)  # snapshots are uploaded by maintenance, in a thread of its own
    query.stop()
    return {"batches": job.rounds}


def restart(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Start the query again with one more batch in its input.

    Returns:
        Milliseconds to the end of that batch, from the start of the query (``query``) and of the process (``process``).

    Raises:
        RuntimeError: The query did not run that batch, or did not find all keys.
    """
    _offer(job, job.rounds + job.round)
    born, start = psutil.Process(os.getpid()).create_time(), time.time()
    query = _writer(spark, job).trigger(availableNow=True).start()
    query.awaitTermination()
    end = time.time()
    (progress,) = [p for p in query.recentProgress if p["numInputRows"]]
    if progress["numInputRows"] != job.rows or progress["stateOperators"][0]["numRowsTotal"] not in (0, job.keys):
        raise RuntimeError(f"expected {job.rows} rows and {job.keys} keys, found {progress}")
    return {"query": (end - start) * 1000, "process": (end - born) * 1000}


def _writer(spark: SparkSession, job: Job) -> DataStreamWriter:
    writer = aggregated(batches_of(spark, _visible(job))).writeStream.format("noop").outputMode("update")
    return writer.option("checkpointLocation", f"{job.url}/checkpoint")


def _offer(job: Job, batch: int) -> None:
    """Put the files of a batch into the query's folder."""
    visible = _visible(job)
    visible.mkdir(parents=True, exist_ok=True)
    for part in range(FILES_PER_BATCH):
        name = f"{batch:04}-{part}.parquet"
        os.link(job.input / name, visible / name)


def _visible(job: Job) -> Path:
    return job.folder.parent / "visible" / f"{job.variant}-{job.provider}"
