"""What a stored row costs in memory, in a fresh JVM."""

from __future__ import annotations

from typing import Any

from harness import heap_after_gc, jvm_pid, new_store
from plan import Job
from procs import proportional_bytes
from pyspark.sql import SparkSession
from spi import loaded, update, warm_up

JVM_FLAGS = "-XX:MinHeapFreeRatio=5 -XX:MaxHeapFreeRatio=10"
"""Make G1 return the heap it does not use after a collection, so that garbage is not taken for state."""


def measure_memory(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Weigh the process family with a big store in steady state against the same with none.

    The store is loaded, then updated twice with reads of one row in five, which touch nearly every mapped page, so
    that the providers hold what they hold between two batches.

    Returns:
        Bytes: ``resident`` (proportional set sizes, JVM and its children) and ``heap`` (in use after a collection) as
        pairs before and after, and ``rows`` (the UnsafeRows of all keys and values).
    """
    warm_up(spark, job)
    before = _weigh(spark)
    store = new_store(spark, job.folder / "measured", job.keys, job.value_longs)
    loaded(store)
    for number in range(2):
        update(store, number, job.rows)
        store.begin()
        store.get(number * job.keys // 5, job.keys // 5)
        store.abort()
    after = _weigh(spark)
    result = {name: [before[name], after[name]] for name in before}
    store.close()
    return {**result, "rows": store.bytesPerRow() * job.keys}


def _weigh(spark: SparkSession) -> dict[str, int]:
    heap = heap_after_gc(spark)
    return {"heap": heap, "resident": proportional_bytes(jvm_pid(spark))}
