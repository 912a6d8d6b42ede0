"""No lock is held while a segment is mapped and indexed: whoever waits for that lock would wait for the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration.store.driver import PREFIX, Driver

ROWS = 400_000
"""Whose indexes take some ten milliseconds."""
MAPPERS = {"VersionLoader.load", "Committer.commit", "StoreHost.$anonfun$sortChunks", "OpenStore.hold"}
"""A load, a commit, a spill, and a merge."""
MOST_ROUNDS = 20
"""A mapping may lie between two looks; then another one is waited for."""


def test_loads_commits_spills_and_merges_map_without_a_lock(spark: SparkSession, tmp_path: Path) -> None:
    """Each of them is seen while it maps."""
    jvm: Any = spark._jvm
    watch = jvm.keygroups.tests.MappingLocks()
    try:
        for number in range(MOST_ROUNDS):
            _write(spark, tmp_path, 2 * number, "8m")
            _write(spark, tmp_path, 2 * number + 1, "1g")
            mappers = "\n".join(watch.mappers())
            if all(method in mappers for method in MAPPERS):
                break
        else:
            raise AssertionError(f"seen while they mapped: {mappers}")
    finally:
        watch.close()
    assert not list(watch.held())


def _write(spark: SparkSession, folder: Path, version: int, overlay: str) -> None:
    """Load a version in a new store, write the next with memtables of that size, and merge."""
    driver = Driver(spark, folder, {PREFIX + "overlayBytes": overlay, PREFIX + "compactionFanout": "2"})
    driver.open(version, "")
    driver.putRange(f"v{version}", 0, ROWS, "value")
    driver.commit()
    driver.maintain()
    driver.close()
