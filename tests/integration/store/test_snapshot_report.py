"""What a provider tells Spark's coordinator, which warns of stores whose snapshots lag."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from integration.store.driver import Driver


def commit_next(driver: Driver, base: int) -> int:
    """Commit a version on the base; the version that the provider reported last."""
    driver.open(base, "")
    driver.put("key", base, "value")
    driver.commit()
    return int(driver.reportedVersion())


def test_a_loaded_version_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    """Once, with the first load: later ones come with maintenance, as RocksDBStateStoreProvider's do."""
    first = Driver(spark, tmp_path)
    assert [commit_next(first, base) for base in range(2)] == [-1, -1]
    first.maintain()
    assert commit_next(first, 2) == 2
    first.close()

    restarted = Driver(spark, tmp_path)
    assert [commit_next(restarted, base) for base in range(3, 5)] == [3, 3]
    restarted.maintain()
    assert commit_next(restarted, 5) == 5
    restarted.close()


def test_versions_are_reported_between_two_maintenances(spark: SparkSession, tmp_path: Path) -> None:
    """As often as Spark's providers write snapshots, here after 3: else Spark warns of a query of many fast batches."""
    driver = Driver(spark, tmp_path)
    assert [commit_next(driver, base) for base in range(8)] == [-1, -1, 3, 3, 3, 6, 6, 6]
    driver.close()
