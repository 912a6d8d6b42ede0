"""Cold recovery: a fresh executor opens a big store that another one left in the checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from harness import BenchStore, new_store
from plan import Job
from spi import loaded, update

_WARM_RECOVERIES: Final = 3


def prepare(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Leave two checkpoints of one store: before maintenance ever ran, and after it with a few batches on top.

    Returns:
        The ``version`` to recover of each checkpoint, and its ``bytes``.
    """
    store = new_store(spark, job.folder / "settled", job.keys, job.value_longs)
    store.open(0)
    store.begin()
    store.load()
    store.commit()
    for number in range(job.rounds):
        update(store, number, job.rows)
    versions = {"plain": store.version()}
    shutil.copytree(job.folder / "settled", job.folder / "aside")
    store.maintain()
    for number in range(2):
        update(store, job.rounds + number, job.rows)
    versions["settled"] = store.version()
    store.close()
    sizes = {"plain": folder_bytes(job.folder / "aside"), "settled": folder_bytes(job.folder / "settled")}
    return {"version": versions, "bytes": sizes}


def recover_settled(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Recover the checkpoint with maintenance in a JVM that has warmed up on a small store, our server running.

    Returns:
        Nanoseconds from a new provider object to the first row read.
    """
    _warm_up(spark, job)
    return {"settled": _first_row(spark, job, "settled")}


def recover_plain(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Recover the checkpoint without maintenance, likewise, from the path it was written to."""
    _warm_up(spark, job)
    (job.folder / "settled").rename(job.folder / "done")
    (job.folder / "aside").rename(job.folder / "settled")
    return {"plain": _first_row(spark, job, "plain")}


def recover_cold(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Recover as the first thing that a new JVM does: class loading, JIT and, for us, the server's start included."""
    return {"cold": _first_row(spark, job, "settled")}


def _warm_up(spark: SparkSession, job: Job) -> None:
    """Write and recover a small store a few times."""
    for attempt in range(_WARM_RECOVERIES):
        folder = job.folder / f"warm-{job.part}-{job.round}-{attempt}"
        store = new_store(spark, folder, job.warm_keys, job.value_longs)
        loaded(store)
        for number in range(job.rounds):
            update(store, number, job.warm_keys // 10)
        store.close()
        _recovered(new_store(spark, folder, job.warm_keys, job.value_longs), store.version())


def _first_row(spark: SparkSession, job: Job, case: str) -> int:
    return _recovered(new_store(spark, job.folder / "settled", job.keys, job.value_longs), job.version[case])


def _recovered(store: BenchStore, version: int) -> int:
    took = store.open(version) + store.begin() + store.get(0, 1)
    store.abort()
    store.close()
    return took


def folder_bytes(folder: Path) -> int:
    """Sum the sizes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
