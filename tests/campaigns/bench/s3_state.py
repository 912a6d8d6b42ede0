"""A streaming aggregation whose checkpoint is on S3: what each batch asks of the store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from campaigns.bench.e2e import aggregated, batches_of
from campaigns.bench.places import LATENCY
from campaigns.bench.plan import Job
from servers.s3 import s3

_STATE: Final = re.compile(r"(/|%2F)state(/|%2F)")


CONF: Final = {
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "4s",
}
"""Old versions are deleted while the query runs: maintenance comes with every other batch."""
_TRIGGER: Final = "2 seconds"


def measure_s3(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Run the query over all batches at a fixed pace.

    Returns:
        Lists with one number a batch: ``batch`` (triggerExecution, ms), and requests for state of all partitions up to
        the next batch: ``requests``, ``puts`` and ``deletes``. A bulk delete is one request.
    """
    with s3(job.folder) as server:
        server.gateway.latency = LATENCY
        hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
        for name, value in server.conf.items():
            hadoop.set(name.removeprefix("spark.hadoop."), value)
        starts: list[int] = []

        def mark(rows: DataFrame, _batch: int) -> None:
            starts.append(len(server.gateway.requests))
            rows.write.format("noop").mode("overwrite").save()

        counts = aggregated(batches_of(spark, job.input))
        writer = counts.writeStream.foreachBatch(mark).outputMode("update").trigger(processingTime=_TRIGGER)
        query = writer.option("checkpointLocation", f"{server.url}/{job.provider}").start()
        query.processAllAvailable()
        seen = [server.gateway.requests[a:b] for a, b in pairwise([*starts, len(server.gateway.requests)])]
        query.stop()
    state = [for_state(batch) for batch in seen]
    return {
        "batch": [p["durationMs"]["triggerExecution"] for p in query.recentProgress if p["numInputRows"]],
        "requests": [len(batch) for batch in state],
        "puts": [sum(method == "PUT" for method, _ in batch) for batch in state],
        "deletes": [sum(method in ("DELETE", "POST") for method, _ in batch) for batch in state],
    }


def for_state(requests: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Choose the requests that read, write or delete files of state, by what the gateway has noted."""
    return [(method, path) for method, path in requests if _STATE.search(path)]
