"""Scans that are left unread, closed, or read while write buffers are spilled: right rows, and bounded memory."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX, Driver, as_rows, field
from integration.store.test_faults import fails
from integration.store.test_memory import held_by
from keygroups.configure import PROVIDER
from support.everyday import first_every_day
from support.spark import session_with

TURNS, ROWS, VALUE = 16, 150, "v" * 9000
"""Each turn fills a write buffer of 1 MB, which takes three pages or more."""
MANY_PAGES = 30


@pytest.fixture
def families(spark: SparkSession, tmp_path: Path) -> JavaObject:
    """A driver of column families with write buffers of 1 MB, and version 0 open."""
    session = session_with(spark, {PREFIX + "overlayBytes": "1m"})
    driver = cast(Any, spark)._jvm.keygroups.tests.FamilyDriver(session._jsparkSession, PROVIDER, str(tmp_path))
    driver.open(0)
    return driver


def fill(driver: JavaObject, family: str, turn: int) -> None:
    for number in range(ROWS):
        driver.put(family, "text", 1 + turn * ROWS + number, VALUE)


@pytest.mark.parametrize("family", ["maps", "longs", "times"])
def test_scans_in_key_order_that_nobody_reads_on_hold_no_buffers(
    spark: SparkSession, families: JavaObject, family: str
) -> None:
    """Spark's map state asks whether it is empty with a scan of which it reads one row and that it does not close."""
    before = held_by(spark)[0]  # of sessions that have just ended
    for turn in range(TURNS):
        fill(families, family, turn)
        scan = families.beginPrefix(family, "text") if family == "maps" else families.beginScan(family)
        assert families.nextRow(scan) is not None
    assert held_by(spark)[0] < before + MANY_PAGES
    families.abort()
    families.close()


def test_closed_scans_hold_no_buffers(spark: SparkSession, families: JavaObject) -> None:
    """A scan of all rows of a family by hash reads the buffers that it began with until it is closed."""
    before = held_by(spark)[0]  # of sessions that have just ended
    for turn in range(TURNS):
        fill(families, "values", turn)
        scan = families.beginScan("values")
        assert families.nextRow(scan) is not None
        families.closeScan(scan)
        assert families.nextRow(scan) is None
    assert held_by(spark)[0] < before + MANY_PAGES
    families.abort()
    families.close()


def test_scans_left_open_hold_few_buffers(spark: SparkSession, families: JavaObject) -> None:
    """The newest scans can be read on; the oldest end with an error instead of taking ever more memory."""
    before, scans = held_by(spark)[0], []
    for turn in range(TURNS):
        fill(families, "values", turn)
        scans.append(families.beginScan("values"))
        assert families.nextRow(scans[-1]) is not None
    assert held_by(spark)[0] < before + MANY_PAGES
    with fails("scan", "left open", "'values'"):
        families.nextRow(scans[0])
    assert 1 + families.countRows(scans[-1]) == TURNS * ROWS
    families.abort()
    families.close()


class Writer:
    """Random writes to one family, and what a scan may return of them."""

    def __init__(self, driver: JavaObject, family: str, random: Random) -> None:
        self._driver, self._family, self._random = driver, family, random
        self.had: dict[str, set[str]] = {}
        self.removed: set[str] = set()

    def key_of(self, number: int) -> str:
        """A key as the driver shows it."""
        if self._family != "floats":
            return f"text {number}"
        return f"text {number / 2 if number % 5 else 'null'}"

    def put(self, number: int) -> None:
        value = f"{self._random.random()}" + "v" * self._random.choice((10, 9000))
        self._driver.put(self._family, "text", number, value)
        self.had.setdefault(self.key_of(number), set()).add(value)

    def some(self) -> None:
        """Some writes to any key, a fifth of them removals."""
        for _ in range(self._random.choice((0, 1, 8))):
            number = self._random.randint(1, 400)
            if self._random.random() < 0.2:
                self._driver.remove(self._family, "text", number)
                self.removed.add(self.key_of(number))
            else:
                self.put(number)


@pytest.mark.parametrize("seed", first_every_day(1, 2, 3))
@pytest.mark.parametrize("family", ["values", *first_every_day("times", "maps", "longs", "floats")])
def test_a_scan_is_whole_while_buffers_are_spilled(families: JavaObject, family: str, seed: int) -> None:
    """Rows of its beginning come once unless they are removed, in order, with a value that they had meanwhile."""
    writer, numbers = Writer(families, family, Random(seed)), range(1, 400, 2)
    for number in numbers[:120]:
        writer.put(number)
    families.commit()
    families.open(1)
    for number in numbers[80:]:
        writer.put(number)
    scan = families.beginPrefix(family, "text") if family == "maps" else families.beginScan(family)
    keys = []
    while (row := families.nextRow(scan)) is not None:
        key, _, value = row.rpartition(" ")
        assert value in writer.had[key]
        keys.append(key)
        writer.some()
    assert len(set(keys)) == len(keys)
    assert {writer.key_of(number) for number in numbers} - writer.removed <= set(keys)
    if family in ("longs", "times"):
        assert keys == sorted(keys, key=lambda key: int(key.split()[1]))
    families.abort()
    families.close()


def test_a_whole_range_of_timed_keys_is_read_once_while_buffers_are_spilled(families: JavaObject) -> None:
    """Its rows are in order within each key only: the rest of the scan begins at a key of one locator."""
    texts, numbers = "abcdefgh", range(1, 31)
    for text in texts[:4]:
        for number in numbers:
            families.put("times", text, number, VALUE)
    families.commit()
    families.open(1)
    for text in texts[4:]:
        for number in numbers:
            families.put("times", text, number, VALUE)
    scan, keys = families.beginRange("times"), []
    while (row := families.nextRow(scan)) is not None:
        keys.append(" ".join(row.split()[:2]))
        if len(keys) % 10 == 0:
            for number in numbers:
                families.put("times", texts[len(keys) // 10 % 8], number, VALUE)
    assert sorted(keys) == sorted(f"{text} {number}" for text in texts for number in numbers)
    assert field(families, "store").session().sortedSegments().size() > 2
    families.abort()
    families.close()


def test_a_key_that_is_written_during_a_scan_comes_once(spark: SparkSession, tmp_path: Path) -> None:
    """It lies in a segment, in the buffer that is being sorted when the scan begins, and then in a newer one too."""
    driver = Driver(spark, tmp_path, {PREFIX + "overlayBytes": "65536"})
    driver.open(0, "")
    driver.putRange("text", 0, 300, "old")
    driver.commit()
    driver.open(1, "")
    driver.putRange("text", 0, 200, "long" * 100)
    rows = as_rows(driver.scanAndPut("text", 100, "late"))
    assert set(rows) == {("text", number) for number in range(300)}
    driver.abort()
    driver.close()
