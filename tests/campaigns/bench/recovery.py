"""Recovery in a running executor: it opens a big store that another one left in the checkpoint."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from campaigns.bench.harness import BenchStore, new_store
from campaigns.bench.plan import Job
from campaigns.bench.spi import loaded, update

_WARM_RECOVERIES: Final = 3


def prepare(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Leave two checkpoints of one store: before maintenance ever ran, and after it with a few batches on top.

    Returns:
        The ``version`` of each checkpoint, and its ``bytes``.
    """
    store = new_store(spark, _place(job), job.keys, job.value_longs)
    store.open(0)
    store.begin()
    store.load()
    store.commit()
    for number in range(job.rounds):
        update(store, number, job.rows)
    versions = {"plain": store.version()}
    shutil.copytree(_place(job), job.folder / "plain")
    store.maintain()
    for number in range(2):
        update(store, job.rounds + number, job.rows)
    versions["settled"] = store.version()
    store.close()
    _place(job).rename(job.folder / "settled")
    (job.folder / "versions").write_text(json.dumps(versions), encoding="utf-8")
    return {"version": versions, "bytes": {case: folder_bytes(job.folder / case) for case in versions}}


def recover(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Recover each checkpoint in a JVM that has warmed up on a small store, our server running.

    Returns:
        Nanoseconds from a new provider object to the first row read, for ``settled`` and ``plain``.
    """
    _warm_up(spark, job)
    versions = json.loads((job.folder / "versions").read_text(encoding="utf-8"))
    return {case: _first_row(spark, job, case, versions[case]) for case in ("settled", "plain")}


def _warm_up(spark: SparkSession, job: Job) -> None:
    """Write and recover a small store a few times."""
    for attempt in range(_WARM_RECOVERIES):
        folder = job.folder / f"warm-{job.round}-{attempt}"
        store = new_store(spark, folder, job.warm_keys, job.value_longs)
        loaded(store)
        for number in range(job.rounds):
            update(store, number, job.warm_keys // 10)
        store.close()
        _recovered(new_store(spark, folder, job.warm_keys, job.value_longs), store.version())


def _first_row(spark: SparkSession, job: Job, case: str, version: int) -> int:
    """Recover a checkpoint from the path that it was written to."""
    (job.folder / case).rename(_place(job))
    took = _recovered(new_store(spark, _place(job), job.keys, job.value_longs), version)
    _place(job).rename(job.folder / case)
    return took


def _place(job: Job) -> Path:
    return job.folder / "checkpoint"


def _recovered(store: BenchStore, version: int) -> int:
    took = store.open(version) + store.begin() + store.get(0, 1)
    store.abort()
    store.close()
    return took


def folder_bytes(folder: Path) -> int:
    """Sum the sizes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
