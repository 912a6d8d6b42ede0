"""A provider that Spark closes beside a task which still has it, as Spark 4.2 does with `unloadOnCommit`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX, Driver, kill_servers

SMALL_BUFFERS = {PREFIX + "overlayBytes": "64kb"}


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """Where the store process of a test keeps its files."""
    folder = tmp_path / "local"
    folder.mkdir()
    return folder


def stores(local: Path) -> list[Path]:
    """Folders of the stores that are open."""
    return [path for path in local.glob("*/*") if path.is_dir()]


def test_a_task_goes_on_past_the_close(spark: SparkSession, tmp_path: Path, local: Path) -> None:
    """It writes, sorts full buffers and commits; the store's local files go with it."""
    kill_servers()
    driver = Driver(spark, tmp_path / "checkpoint", SMALL_BUFFERS | {PREFIX + "localDir": str(local)})
    driver.open(0, "")
    driver.putRange("before", 0, 2_000, "value")
    driver.close()
    driver.putRange("after", 0, 2_000, "value")
    assert len(stores(local)) == 1
    assert driver.commit() == 1
    assert driver.count() == 4_000
    assert not stores(local)

    fresh = Driver(spark, tmp_path / "checkpoint")
    fresh.open(1, "")
    assert fresh.count() == 4_000
    fresh.abort()
    fresh.close()


def test_an_aborted_task_lets_go_of_the_store(spark: SparkSession, tmp_path: Path, local: Path) -> None:
    """As one that commits does."""
    kill_servers()
    driver = Driver(spark, tmp_path / "checkpoint", {PREFIX + "localDir": str(local)})
    driver.open(0, "")
    driver.close()
    assert len(stores(local)) == 1
    driver.abort()
    assert not stores(local)


def test_a_closed_provider_opens_again(spark: SparkSession, tmp_path: Path, local: Path) -> None:
    """For the task that was handed it just before."""
    kill_servers()
    driver = Driver(spark, tmp_path / "checkpoint", {PREFIX + "localDir": str(local)})
    driver.close()
    for version in range(3):
        driver.open(version, "")
        driver.put("key", version, "value")
        driver.commit()
        assert not stores(local)
    driver.open(3, "")
    assert driver.rows() == {("key", version): "value" for version in range(3)}
    driver.abort()
    assert not stores(local)


def test_a_closed_provider_outlives_its_process(spark: SparkSession, tmp_path: Path) -> None:
    """The task fails as without the close, and the next attempt has a new process."""
    driver = Driver(spark, tmp_path)
    driver.open(0, "")
    driver.put("key", 0, "value")
    driver.commit()
    driver.open(1, "")
    driver.close()
    kill_servers()
    driver.abort()
    driver.open(1, "")
    assert driver.rows() == {("key", 0): "value"}
    driver.abort()
