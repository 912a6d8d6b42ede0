"""Deduplication end to end: every row of a batch is a new key, and the state grows by all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from campaigns.bench.e2e import FILES_PER_BATCH
from campaigns.bench.plan import Job
from campaigns.bench.recovery import folder_bytes

_SCHEMA: Final = "id string"


def write_input(folder: Path, rows: int, batches: int) -> None:
    """Write the input: event ids of 16 hexadecimal digits, as random as those of a UUID.

    Args:
        folder: Where the files go; exists.
        rows: Rows of a batch.
        batches: Number of batches.
    """
    random = np.random.default_rng(42)
    for batch in range(batches):
        for part in range(FILES_PER_BATCH):
            ids = random.integers(0, 2**63, rows // FILES_PER_BATCH)
            table = pa.table({"id": [f"{number:016x}" for number in ids.tolist()]})
            pq.write_table(table, folder / f"{batch:04}-{part}.parquet")


def measure_dedupe(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Run the query over all batches.

    Returns:
        ``batch`` (triggerExecution, ms), one number a batch, and ``state_bytes`` (on disk, below the checkpoint's
        ``state`` folder).

    Raises:
        RuntimeError: The query lost a batch or a key.
    """
    checkpoint = job.folder / "checkpoint"
    source = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", FILES_PER_BATCH).parquet(str(job.input))
    writer = source.dropDuplicates(["id"]).writeStream.format("noop").outputMode("append").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    progress = [p for p in query.recentProgress if p["numInputRows"]]
    updated = sum(p["stateOperators"][0]["numRowsUpdated"] for p in progress)
    if (len(progress), updated) != (job.rounds, job.rows * job.rounds):
        raise RuntimeError(
            f"expected {job.rounds} batches of {job.rows} new keys, found {len(progress)}, {updated} keys"
        )
    batches = [p["durationMs"]["triggerExecution"] for p in progress]
    return {"batch": batches, "state_bytes": folder_bytes(checkpoint / "state")}
