"""Cold recovery: a fresh executor opens a big store that another one left in the checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from harness import new_store
from plan import Job
from spi import loaded, update


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


def recover(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Recover both checkpoints in a JVM that has warmed up on a small store (our server is running by then).

    Returns:
        Nanoseconds of ``settled`` and ``plain``, from a new provider object to the first row read.
    """
    for attempt in range(3):
        _warm_up(spark, job, job.folder / f"warm-{job.round}-{attempt}")
    settled = _first_row(spark, job, job.folder / "settled", job.version["settled"])
    return {"settled": settled, "plain": _plain(spark, job)} if job.round == 0 else {"settled": settled}


def recover_cold(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Recover as the first thing that a new JVM does: class loading, JIT and, for us, the server's start included."""
    return {"cold": _first_row(spark, job, job.folder / "settled", job.version["settled"])}


def _plain(spark: SparkSession, job: Job) -> int:
    """Recover the checkpoint without maintenance, from the path it was written to."""
    (job.folder / "settled").rename(job.folder / "done")
    (job.folder / "aside").rename(job.folder / "settled")
    try:
        return _first_row(spark, job, job.folder / "settled", job.version["plain"])
    finally:
        (job.folder / "settled").rename(job.folder / "aside")
        (job.folder / "done").rename(job.folder / "settled")


def _warm_up(spark: SparkSession, job: Job, folder: Path) -> None:
    small = job.with_sizes(keys=job.warm_keys, rows=job.warm_keys // 10)
    store = new_store(spark, folder, small.keys, small.value_longs)
    loaded(store)
    for number in range(job.rounds):
        update(store, number, small.rows)
    version = store.version()
    store.close()
    _first_row(spark, small, folder, version)


def _first_row(spark: SparkSession, job: Job, checkpoint: Path, version: int) -> int:
    store = new_store(spark, checkpoint, job.keys, job.value_longs)
    took = store.open(version) + store.begin() + store.get(0, 1)
    store.abort()
    store.close()
    return took


def folder_bytes(folder: Path) -> int:
    """Sum the sizes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
