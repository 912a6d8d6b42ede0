"""More rows under one locator than a block can hold."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from integration.store.test_families import family_driver

ROWS = 36_000
LETTERS = 65_520
"""Together 2.2 GiB: 32-bit offsets reach 2 GiB, and the JVM maps a block as one buffer of at most 2 GiB."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_scan_prefix_of_more_than_2_gib(spark: SparkSession, tmp_path: Path) -> None:
    """It is committed, merged, restored, read by key and by scan."""
    driver = family_driver(spark, tmp_path)
    driver.open(0)
    driver.putRange("maps", "a", 0, ROWS, LETTERS)
    driver.put("maps", "b", 1, "other")
    assert driver.commit() == 1
    assert driver.numKeys() == ROWS + 1
    for _ in range(2):
        driver.open(1)
        numbers = list(cast("Iterable[int]", driver.prefixNumbers("maps", "a")))
        assert sorted(numbers) == list(range(ROWS))
        for number in (0, 1, 4095, ROWS // 2, ROWS - 1):
            assert len(driver.get("maps", "a", number)) == LETTERS
        assert driver.get("maps", "a", ROWS) is None
        assert driver.get("maps", "b", 1) == "other"
        driver.abort()
        driver.restart()
    driver.close()
