"""Recovery from a server: an executor that runs already opens a big store of which it has no local file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pyspark.sql import SparkSession

from campaigns.bench.harness import BenchStore, new_store
from campaigns.bench.plan import Job
from campaigns.bench.spi import FILL_ROWS, fill, update

_WARM_RECOVERIES: Final = 3


def leave_store(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Fill a store, let maintenance settle it, and commit a few batches on top.

    Returns:
        ``versions``, their number.
    """
    return {"versions": _leave(_store(spark, job, "measured"), job)}


def first_batch(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Run one batch on that store, in a JVM that has warmed up on small ones at the same place.

    Returns:
        Nanoseconds: ``opened`` (a new provider object), and those of each step of the batch, see ``spi.update``.
    """
    for attempt in range(_WARM_RECOVERIES):
        name, small = f"warm-{job.round}-{attempt}", replace(job, keys=job.warm_keys, rows=job.warm_keys // 10)
        versions = _leave(_store(spark, small, name), small)
        _first_batch(_store(spark, small, name), versions, small)
    versions = len(range(0, job.keys, FILL_ROWS)) + job.rounds
    return _first_batch(_store(spark, job, "measured"), versions, job)


def _leave(store: BenchStore, job: Job) -> int:
    store.open(0)
    fill(store, job.keys)
    for number in range(job.rounds):
        update(store, number, job.rows)
    store.close()
    return store.version()


def _first_batch(store: BenchStore, version: int, job: Job) -> dict[str, int]:
    times = {"opened": store.open(version), **update(store, job.rounds, job.rows)}
    store.close()
    return times


def _store(spark: SparkSession, job: Job, name: str) -> BenchStore:
    return new_store(spark, f"{job.url}/{job.keys}/{name}", job.keys, job.value_longs)
