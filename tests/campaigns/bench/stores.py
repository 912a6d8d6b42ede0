"""Many small stores in one executor: what they take beside the time."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from campaigns.bench.e2e import measure_query
from campaigns.bench.harness import jvm_pid
from campaigns.bench.plan import Job
from campaigns.bench.procs import mappings, open_files, peak_of, threads


def measure_stores(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Run the streaming query with a store for each of its many partitions.

    Returns:
        As ``measure_query``, and the peaks of ``mappings``, ``files`` and ``threads`` of JVM and store process.
    """
    pid = jvm_pid(spark)
    with peak_of(pid, mappings) as mapped, peak_of(pid, open_files) as files, peak_of(pid, threads) as running:
        figures = measure_query(spark, job)
    return {**figures, "mappings": mapped.value, "files": files.value, "threads": running.value}
