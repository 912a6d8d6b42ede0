"""The change feed with each write, against Spark's RocksDB provider with a changelog."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX
from integration.store.test_families import FAMILIES, Both, family_driver, random_write
from support.spark import session_with

WRITES = {
    PREFIX + "changeFeed": "writes",
    PREFIX + "overlayBytes": "64kb",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
VERSIONS, CALLS = 4, 150


def test_each_write_comes_in_its_order(spark: SparkSession, tmp_path: Path) -> None:
    """Superseded ones too, of batches that fill the write buffer more than once."""
    random, both = Random(7), Both(session_with(spark, WRITES), tmp_path)
    for version in range(VERSIONS):
        both.do("open", version)
        for _ in range(CALLS):
            name, *arguments = random_write(random)
            # RocksDB also logs the removal of what is not there; for us it changes nothing.
            if name != "remove" or both.drivers[0].get(*arguments) is not None:
                value = [f"{arguments.pop()} {'long' * 500}"] if name == "put" else []
                both.do(name, *arguments, *value)
        both.same("commit")
        both.do("maintain")
    both.do("restart")
    both.do("open", VERSIONS)
    for family in FAMILIES:
        both.same("changes", family, 1, VERSIONS)
        both.same("changes", family, 2, 3)
    both.do("abort")
    both.do("close")


def test_what_is_not_kept_comes_by_key(spark: SparkSession, tmp_path: Path) -> None:
    """The default writes no changelog; a query may begin to keep one, and stop again."""
    feed = []
    for version, conf in enumerate([{}, WRITES, {}]):
        driver = family_driver(session_with(spark, conf), tmp_path)
        driver.open(version)
        for value in ("first", "second"):
            driver.put("values", "key", 1, value)
        driver.commit()
        feed = list(driver.changes("values", 1, version + 1))
        driver.close()
    assert feed == [
        "0 put_record key 1 second",
        *("1 put_record key 1 first", "1 put_record key 1 second"),
        "2 put_record key 1 second",
    ]
    assert [path.name[:21] for path in changelogs(tmp_path)] == [f"c{2:020d}"]


def test_a_changelog_goes_with_its_version(spark: SparkSession, tmp_path: Path) -> None:
    """Retention deletes it, and a version that failed leaves none behind for good."""
    conf = WRITES | {"spark.sql.streaming.minBatchesToRetain": "1"}
    driver = family_driver(session_with(spark, conf), tmp_path)
    for version in range(6):
        driver.open(version)
        driver.put("values", "key", version, "value")
        driver.commit()
    (changelogs(tmp_path)[0].parent / f"c{1:020d}_{'0' * 32}.arrows").write_bytes(b"of a failed attempt")
    driver.maintain()
    driver.close()
    assert [path.name[:21] for path in changelogs(tmp_path)] == [f"c{version:020d}" for version in (5, 6)]


@pytest.mark.parametrize("damage", ["deleted", "cut", "flipped"])
def test_a_damaged_changelog_is_named(spark: SparkSession, tmp_path: Path, damage: str) -> None:
    """The feed says which file it is; the state does not need it."""
    driver = family_driver(session_with(spark, WRITES), tmp_path)
    driver.open(0)
    driver.put("values", "key", 1, "value")
    driver.commit()
    (path,) = changelogs(tmp_path)
    content = path.read_bytes()
    middle = len(content) // 2
    if damage == "deleted":
        path.unlink()
    else:
        path.write_bytes(
            content[:middle] + (b"" if damage == "cut" else bytes([content[middle] ^ 1]) + content[middle + 1 :])
        )
    driver.restart()
    driver.open(1)
    assert driver.get("values", "key", 1) == "value"
    with pytest.raises((Py4JJavaError, PySparkException), match=path.name):
        driver.changes("values", 1, 1)
    driver.abort()
    driver.close()


def changelogs(folder: Path) -> list[Path]:
    """The changelogs of the store of a checkpoint, by version."""
    return sorted((folder / "state" / "0" / "0").glob("c*"))
