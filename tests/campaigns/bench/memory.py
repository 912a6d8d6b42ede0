"""What a stored row costs in memory, in a fresh JVM."""

from __future__ import annotations

from threading import Event
from typing import Any, Final

from pyspark.sql import SparkSession

from campaigns.bench.harness import heap_after_gc, jvm_pid, new_store
from campaigns.bench.plan import Job
from campaigns.bench.procs import proportional_bytes
from campaigns.bench.spi import loaded, update, warm_up

JVM_FLAGS: Final = "-XX:MinHeapFreeRatio=5 -XX:MaxHeapFreeRatio=10"
"""Make G1 return the heap it does not use after a collection, so that garbage is not taken for state."""

_STEADY_BYTES: Final = 1 << 20
_PAUSE_SECONDS: Final = 0.5
_STEADY_WEIGHINGS: Final = 14
"""Seven seconds: ours frees the memory of a big batch five seconds after its end."""
_MOST_WEIGHINGS: Final = 80


def measure_memory(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Weigh the process family with a big store in steady state against the same with none.

    The store is loaded and updated twice, so that the providers hold the versions that they hold between two batches.
    Then one row in five is read: a page holds at least 30 rows, so that touches nearly every mapped page.

    The first weighing comes after the harness has drawn up its order of keys, 4 bytes a key.

    Returns:
        Bytes, as pairs before and after: ``resident`` (proportional set sizes, JVM and its children), ``server`` (the
        children alone) and ``heap`` (in use after a collection). And ``rows``, the UnsafeRows of all keys and values.
    """
    warm_up(spark, job)
    store = new_store(spark, job.folder / "measured", job.keys, job.value_longs)
    before = _weigh(spark)
    loaded(store)
    for number in range(2):
        update(store, number, job.rows)
    store.begin()
    store.get(0, job.keys // 5)
    store.abort()
    after = _weigh(spark)
    result = {name: [before[name], after[name]] for name in before}
    store.close()
    return {**result, "rows": store.bytesPerRow() * job.keys}


def _weigh(spark: SparkSession) -> dict[str, int]:
    heap = heap_after_gc(spark)
    jvm, server = _settled(jvm_pid(spark))
    return {"heap": heap, "resident": jvm + server, "server": server}


def _settled(root: int) -> tuple[int, int]:
    """Weigh until the weight stays: G1 returns what a collection freed bit by bit, from a thread of its own."""
    pause, weights = Event(), [proportional_bytes(root)]
    while not _steady(weights) and len(weights) < _MOST_WEIGHINGS:
        pause.wait(_PAUSE_SECONDS)
        weights.append(proportional_bytes(root))
    return weights[-1]


def _steady(weights: list[tuple[int, int]]) -> bool:
    sums = [sum(weight) for weight in weights[-_STEADY_WEIGHINGS:]]
    return len(sums) == _STEADY_WEIGHINGS and max(sums) - min(sums) <= _STEADY_BYTES
