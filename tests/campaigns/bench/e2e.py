"""End to end: a streaming aggregation from files to a noop sink, on each provider, and on one that keeps nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from campaigns.bench.harness import jvm_pid
from campaigns.bench.plan import Job
from campaigns.bench.procs import peak_of
from campaigns.bench.providers import PROVIDERS
from campaigns.bench.recovery import folder_bytes

FILES_PER_BATCH: Final = 2  # one a core, so that both cores read
_SCHEMA: Final = "key long, amount long"


def write_input(folder: Path, keys: int, rows: int, batches: int) -> None:
    """Write the input: a batch is two Parquet files; the first one meets every key, the others random ones.

    Args:
        folder: Where the files go; exists.
        keys: Number of distinct keys.
        rows: Rows of a batch.
        batches: Number of batches.
    """
    random = np.random.default_rng(42)
    for batch in range(batches):
        numbers = random.permutation(keys) if batch == 0 else random.integers(0, keys, rows)
        for part, chunk in enumerate(np.array_split(numbers, FILES_PER_BATCH)):
            table = pa.table({"key": chunk * 1_000_003, "amount": random.integers(0, 1000, len(chunk))})
            pq.write_table(table, folder / f"{batch:04}-{part}.parquet")


def measure_query(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Run the streaming query over all batches in update mode.

    Returns:
        Lists with one number a batch: ``batch`` (triggerExecution, ms), ``commit`` (ms, summed over partitions),
        ``rows`` (in), ``updated`` and ``state_rows``. Then ``peak`` (resident bytes of JVM and children) and
        ``state_bytes`` (on disk, below the checkpoint's ``state`` folder).

    Raises:
        RuntimeError: The query lost a batch or a key.
    """
    with peak_of(jvm_pid(spark)) as memory:
        progress = _run(spark, job)
    columns = _columns(progress)
    complete = len(progress) == job.rounds and columns["updated"][0] == job.keys
    if not complete or (PROVIDERS[job.provider].counts_keys and set(columns["state_rows"]) != {job.keys}):
        found = list(zip(columns["rows"], columns["state_rows"], strict=True))
        raise RuntimeError(f"expected {job.keys} keys after each of {job.rounds} batches, found (rows, keys) {found}")
    return {**columns, "peak": memory.value, "state_bytes": folder_bytes(job.folder / "checkpoint" / "state")}


def measure_query_empty(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Run the same query on a provider that keeps nothing.

    Returns:
        ``batch`` (triggerExecution, ms): one number a batch.

    Raises:
        RuntimeError: The query lost a batch.
    """
    progress = _run(spark, job)
    if len(progress) != job.rounds:
        raise RuntimeError(f"expected {job.rounds} batches, found {len(progress)}")
    return {"batch": _columns(progress)["batch"]}


def _run(spark: SparkSession, job: Job) -> list[Any]:
    """The progress of each batch of the query."""
    rows = aggregated(batches_of(spark, job.input))
    writer = rows.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(job.folder / "checkpoint")).start()
    query.awaitTermination()
    return [p for p in query.recentProgress if p["numInputRows"]]


def batches_of(spark: SparkSession, folder: Path) -> DataFrame:
    """The files of a folder as a stream, batch by batch."""
    return spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", FILES_PER_BATCH).parquet(str(folder))


def _columns(progress: list[Any]) -> dict[str, list[int]]:
    operators = [p["stateOperators"][0] for p in progress]
    return {
        "batch": [p["durationMs"]["triggerExecution"] for p in progress],
        "rows": [p["numInputRows"] for p in progress],
        "updated": [operator["numRowsUpdated"] for operator in operators],
        "state_rows": [operator["numRowsTotal"] for operator in operators],
        "commit": [operator["commitTimeMs"] for operator in operators],
    }


def aggregated(rows: DataFrame) -> DataFrame:
    """Count and sum by key."""
    return rows.groupBy("key").agg(F.count("*").alias("count"), F.sum("amount").alias("sum"))
