"""What a row costs at the SPI: get, put, iterate and commit, and the latency of a small commit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pyspark.sql import SparkSession

from campaigns.bench.harness import BenchStore, new_store
from campaigns.bench.plan import Job

_WARM_ROUNDS: Final = 4
FILL_ROWS: Final = 5_000_000
_MAINTENANCE_EVERY: Final = 10  # batches: what a minute holds when a batch takes six seconds


def measure_rows(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Load a store, then get keys, update some, iterate and commit, round after round.

    Returns:
        Nanoseconds: ``load`` and ``load_commit`` in all, and a list with one number a round for each of ``begin``
        (getStore), ``get``, ``put``, ``iterate`` and ``commit``.
    """
    warm_up(spark, job)
    store = new_store(spark, job.folder / "measured", job.keys, job.value_longs)
    load = loaded(store)
    rounds = [_round(store, number, job) for number in range(job.rounds)]
    store.close()
    return {**load, **{step: [times[step] for times in rounds] for step in rounds[0]}}


def warm_up(spark: SparkSession, job: Job) -> None:
    """Run every operation on a small store until the JIT compiler has seen enough of it."""
    small = replace(job.with_sizes(keys=job.warm_keys, rows=job.warm_keys), gets=0)
    store = new_store(spark, job.folder / "warm", small.keys, small.value_longs)
    loaded(store)
    for number in range(_WARM_ROUNDS):
        _round(store, number, small)
    store.close()


def loaded(store: BenchStore) -> dict[str, int]:
    """Open an empty store, put every key in one version, commit, and let maintenance settle it."""
    store.open(0)
    store.begin()
    times = {"load": store.load(), "load_commit": store.commit()}
    return {**times, "load_maintenance": store.maintain()}


def _round(store: BenchStore, number: int, job: Job) -> dict[str, int]:
    return {
        "begin": store.begin(),
        "get": store.get(number * (job.gets or job.keys), job.gets or job.keys),
        "put": store.put(number * job.rows, job.rows),
        "iterate": store.iterate(),
        "commit": store.commit(),
    }


def measure_commits(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Commit many small batches while maintenance runs beside them now and then, as it does in Spark.

    Returns:
        Nanoseconds of each ``commit`` call and of each whole ``batch`` (getStore, get and put of each row, commit).
    """
    warm_up(spark, job)
    store = new_store(spark, job.folder / "measured", job.keys, job.value_longs)
    store.open(0)
    fill(store, job.keys)
    batches = []
    for number in range(job.rounds):
        batches.append(update(store, number, job.rows))
        if number % _MAINTENANCE_EVERY == _MAINTENANCE_EVERY - 1:
            store.maintainInBackground()
    store.close()
    return {"commit": [batch["commit"] for batch in batches], "batch": [sum(batch.values()) for batch in batches]}


def measure_merging(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Commit small batches while nothing is merged, then as many or more while all of a store is, each row of it twice.

    Returns:
        Nanoseconds of each ``commit`` without a merge, and of each commit while one went on: ``merging``.
    """
    warm_up(spark, job)
    store = new_store(spark, job.folder / "measured", job.keys, job.value_longs)
    store.open(0)
    fill(store, job.keys)
    quiet = [update(store, number, job.rows)["commit"] for number in range(job.rounds)]
    store.maintain()
    merging: list[int] = []
    while len(merging) < job.rounds:
        put_all(store, job.keys)
        store.maintainInBackground()
        while store.isMaintaining():
            merging.append(update(store, job.rounds + len(merging), job.rows)["commit"])
    store.close()
    return {"commit": quiet, "merging": merging}


def fill(store: BenchStore, keys: int) -> None:
    """Put every key of an open, empty store, in a few large batches, and let maintenance settle it."""
    put_all(store, keys)
    store.maintain()


def put_all(store: BenchStore, keys: int) -> None:
    """Put every key, in a few large batches."""
    for first in range(0, keys, FILL_ROWS):
        store.begin()
        store.loadSome(first, min(FILL_ROWS, keys - first))
        store.commit()


def update(store: BenchStore, number: int, rows: int) -> dict[str, int]:
    """Run one batch of an aggregation that meets ``rows`` keys."""
    first = number * rows
    return {
        "begin": store.begin(),
        "get": store.get(first, rows),
        "put": store.put(first, rows),
        "commit": store.commit(),
    }
