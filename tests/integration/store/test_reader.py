"""The reader of fifty lines, written from ARCHITECTURE.md, reads what the provider writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX
from keygroups.configure import PROVIDER
from support.everyday import first_every_day
from support.reader import read_version
from support.spark import session_with

TEXTS = ("", "a", "a text", "ein längerer Text ☃", "b" * 60)
SINGLE = ("values", "maps", "longs", "floats", "times")
LISTS = ("lists", "stamps")


@pytest.mark.parametrize("seed", first_every_day(1, 2, 3))
def test_all_kinds_of_families(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Texts, numbers and nulls, in each order of keys; lists that are appended to; merges and a dropped family."""
    random = Random(seed)
    conf = {"compactionFanout": "2", "blockBytes": "4096", "overlayBytes": "65536"}
    session = session_with(spark, {PREFIX + name: value for name, value in conf.items()})
    driver = cast(Any, spark)._jvm.keygroups.tests.FamilyDriver(session._jsparkSession, PROVIDER, str(tmp_path))
    for batch in range(7):
        driver.open(batch)
        for _ in range(400):
            _write(driver, random, batch)
        if batch == 4:
            driver.drop("maps")
        driver.commit()
        if batch % 3 == 2:
            driver.maintain()
    driver.open(7)
    expected = {name: list(driver.scan(name)) for name in SINGLE}
    expected |= {name: list(driver.scanLists(name)) for name in LISTS}
    driver.abort()
    driver.close()
    found = read_version(tmp_path / "state" / "0" / "0")
    shown = {name: _shown(found[name], _values if name in LISTS else _value) for name in expected}
    assert {name: sorted(rows) for name, rows in shown.items()} == {
        name: sorted(rows) for name, rows in expected.items()
    }
    assert all(expected.values())


def _write(driver: Any, random: Random, batch: int) -> None:  # noqa: ANN401 - a JVM object
    """Put, append or remove a row."""
    text, number = random.choice(TEXTS), random.randint(-20, 20)
    value = random.choice(["", "v" * random.randint(1, 40), f"☃ {batch}"])
    name = random.choice((*SINGLE, *LISTS))
    if random.random() < 0.15:
        driver.remove(name, text, number)
    elif name in LISTS and random.random() < 0.7:
        driver.append(name, text, number, value)
    else:
        (driver.putList if name in LISTS else driver.put)(name, text, number, value)


def _shown(rows: list[tuple[Any, Any]], values: Callable[[Any], list[str]]) -> list[str]:
    """Rows as the driver shows them: the text, the number and the value of each."""
    shown: list[str] = []
    for key, value in rows:
        (number,) = (part for name, part in key.items() if name != "text")
        shown += [f"{_text(key['text'])} {'null' if number is None else number} {one}" for one in values(value)]
    return shown


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _value(value: dict[str, Any]) -> list[str]:
    return [_text(value["value"])]


def _values(value: bytes) -> list[str]:
    """The values of a list: of each its length and its UnsafeRow, which has null bits, size and place of the text."""
    found = []
    while value:
        length, size, place = (int.from_bytes(value[at : at + n], "little") for at, n in ((0, 8), (16, 4), (20, 4)))
        row, value = value[8 : 8 + length], value[8 + length :]
        found.append(row[place : place + size].decode())
    return found
