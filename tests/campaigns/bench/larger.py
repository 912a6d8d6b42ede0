"""State larger than memory: a query whose values of 1 KB do not fit in what all its processes have."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from campaigns.bench.harness import jvm_pid
from campaigns.bench.plan import Job
from campaigns.bench.procs import own_bytes, peak_of

JVM_FLAGS: Final = "-Xms{heap} -XX:+AlwaysPreTouch"
"""Make the whole heap resident from the start, so that what grows is outside of it."""

_HASHES: Final = 4  # of 128 digits each, and all of them twice: 1 KB that compresses by half in either provider


def write_input(folder: Path, job: Job) -> None:
    """Write the input: files of new keys, each a batch, then files of random ones.

    Args:
        folder: Where the files go; exists.
        job: Its ``keys`` are filled in ``gets`` batches, then come ``rounds`` batches of ``rows``.
    """
    random = np.random.default_rng(42)
    fills = np.array_split(random.permutation(job.keys), job.gets)
    updates = [random.integers(0, job.keys, job.rows) for _ in range(job.rounds)]
    for batch, keys in enumerate([*fills, *updates]):
        pq.write_table(pa.table({"key": keys, "batch": np.full(len(keys), batch)}), folder / f"{batch:04}.parquet")


def measure_larger(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Keep the newest value of each key.

    Returns:
        ``fill`` and ``update``: milliseconds of each batch. ``peak``: bytes of JVM and children without pages of files.

    Raises:
        RuntimeError: The query lost a batch or a key.
    """
    with peak_of(jvm_pid(spark), own_bytes) as memory:
        progress = _run(spark, job)
    keys = [p["stateOperators"][0]["numRowsTotal"] for p in progress]
    if keys[-1] != job.keys:
        raise RuntimeError(f"expected {job.keys} keys at the end, found {keys}")
    return {**_times(progress, job), "peak": memory.value}


def measure_larger_empty(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Run the same query on a provider that keeps nothing. Returns its ``fill`` and ``update``."""
    return _times(_run(spark, job), job)


def _run(spark: SparkSession, job: Job) -> list[Any]:
    """The progress of each batch of the query."""
    rows = spark.readStream.schema("key long, batch long").option("maxFilesPerTrigger", 1).parquet(str(job.input))
    newest = rows.groupBy("key").agg(F.max_by(F.expr(_value()), "batch"))
    writer = newest.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(job.folder / "checkpoint")).start()
    query.awaitTermination()
    progress = [p for p in query.recentProgress if p["numInputRows"]]
    if len(progress) != job.gets + job.rounds:
        raise RuntimeError(f"expected {job.gets} + {job.rounds} batches, found {len(progress)}")
    return progress


def _times(progress: list[Any], job: Job) -> dict[str, list[int]]:
    times = [p["durationMs"]["triggerExecution"] for p in progress]
    return {"fill": times[: job.gets], "update": times[job.gets :]}


def _value() -> str:
    hashes = ", ".join(f"sha2(concat_ws('-', key, batch, {number}), 512)" for number in range(_HASHES))
    return f"repeat(concat({hashes}), 2)"
