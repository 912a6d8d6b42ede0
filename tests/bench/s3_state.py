"""A streaming aggregation whose checkpoint is on S3: what each batch asks of the store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from e2e import batches_of
from plan import Job
from servers.s3 import s3

LATENCY: Final = 0.02
"""Seconds that a request takes at least: S3 within its region answers small ones in 10 to 40 ms."""
_STATE: Final = re.compile(r"(/|%2F)state(/|%2F)")


def measure_s3(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Run the query over all batches.

    Returns:
        Lists with one number a batch: ``batch`` (triggerExecution, ms), ``requests`` for state of all partitions, and
        ``puts``, those of them that write. The last batch has no requests: there is no next one to say where they end.
    """
    job.folder.mkdir(parents=True, exist_ok=True)
    with s3(job.folder) as server:
        server.gateway.latency = LATENCY
        hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
        for name, value in server.conf.items():
            hadoop.set(name.removeprefix("spark.hadoop."), value)
        starts: list[int] = []

        def mark(rows: DataFrame, _batch: int) -> None:
            starts.append(len(server.gateway.requests))
            rows.write.format("noop").mode("overwrite").save()

        counts = batches_of(spark, job).groupBy("key").agg(F.count("*"), F.sum("amount"))
        writer = counts.writeStream.foreachBatch(mark).outputMode("update").trigger(availableNow=True)
        query = writer.option("checkpointLocation", f"{server.url}/{job.provider}").start()
        query.awaitTermination()
        seen = [server.gateway.requests[a:b] for a, b in pairwise(starts)]
    progress = [p for p in query.recentProgress if p["numInputRows"]]
    return {
        "batch": [p["durationMs"]["triggerExecution"] for p in progress],
        "requests": [_count(requests, ("GET", "HEAD", "PUT", "POST", "DELETE")) for requests in seen],
        "puts": [_count(requests, ("PUT",)) for requests in seen],
    }


def _count(requests: Sequence[tuple[str, str]], methods: Sequence[str]) -> int:
    return sum(method in methods and _STATE.search(path) is not None for method, path in requests)
