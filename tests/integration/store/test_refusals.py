"""Calls that the JVM refuses or gives up: the error says what was wrong, and no state is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX, Driver
from integration.store.test_families import family_driver
from integration.store.test_faults import FAILURE, chain, fails
from support.spark import session_with

CHECKPOINT_IDS = {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}


def test_an_interrupted_commit_is_no_full_disk(spark: SparkSession, tmp_path: Path) -> None:
    """Java closes the file that an interrupted thread writes; the task is retried, the disk has room."""
    driver = Driver(spark, tmp_path)
    driver.open(0, "")
    driver.put("key", 1, "value")
    with pytest.raises(FAILURE) as raised:
        driver.commitInterrupted()
    text = chain(raised.value)
    assert "the task was interrupted" in text
    assert "full" not in text
    driver.abort()
    driver.open(0, "")
    driver.put("key", 1, "value")
    assert driver.commit() == 1
    driver.close()


def test_a_list_that_is_too_long_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Before memory is taken for it; the session can still be used."""
    driver = family_driver(session_with(spark, {PREFIX + "overlayBytes": "1m"}), tmp_path)
    driver.open(0)
    driver.append("lists", "text", 1, "value")
    with fails("too long to be written", "expected at most 1073741824 bytes"):
        driver.putHuge("lists", "text", 2, (1 << 30) + (1 << 27))
    assert list(driver.list("lists", "text", 1)) == ["value"]
    assert driver.commit() == 1
    driver.close()


@pytest.mark.parametrize("checkpoint_id", ["../../../../1/0/v", "0" * 31, "0" * 33, "A" * 32, "x/../../y", "a\nb"])
def test_a_foreign_checkpoint_id_is_refused(spark: SparkSession, tmp_path: Path, checkpoint_id: str) -> None:
    """The ids in Spark's commit log become parts of file names."""
    driver = Driver(spark, tmp_path, CHECKPOINT_IDS)
    driver.open(0, "")
    driver.put("a", 1, "x")
    driver.commit()
    good = driver.checkpointId()
    driver.close()
    fresh = Driver(spark, tmp_path, CHECKPOINT_IDS)
    with fails("commit log names a state store checkpoint id", f"{tmp_path}/commits", checkpoint_id):
        fresh.open(1, checkpoint_id)
    fresh.open(1, good)
    assert fresh.rows() == {("a", 1): "x"}
    fresh.abort()
    fresh.close()
