"""No lock is held while a segment is mapped and indexed: whoever waits for that lock would wait for the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from store.driver import PREFIX, Driver

ROWS = 400_000
"""Whose indexes take some ten milliseconds."""
CONF = {PREFIX + "overlayBytes": "8m", PREFIX + "compactionFanout": "2"}


def test_loads_commits_spills_and_merges_map_without_a_lock(spark: SparkSession, tmp_path: Path) -> None:
    """Each of them is seen while it maps."""
    jvm: Any = spark._jvm
    watch = jvm.keygroups.tests.MappingLocks()
    try:
        driver = Driver(spark, tmp_path, CONF)
        for version in range(3):
            driver.open(version, "")
            driver.putRange(f"v{version}", 0, ROWS, "value")
            driver.commit()
        driver.maintain()
        driver.close()
        again = Driver(spark, tmp_path, CONF)
        again.open(3, "")
        again.abort()
        again.close()
    finally:
        watch.close()
    mappers = "\n".join(watch.mappers())
    for method in ("VersionLoader.load", "Committer.commit", "StoreHost.$anonfun$sortChunks", "OpenStore.hold"):
        assert method in mappers, mappers
    assert not list(watch.held())
