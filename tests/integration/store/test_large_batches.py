"""Batches larger than a write buffer: their rows are uploaded as they go, and belong to one version."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX, JavaObject, field
from integration.store.test_families import family_driver
from keygroups.checkpoint.manifest import Manifest, read_manifest
from support.everyday import first_every_day
from support.spark import session_with

ROWS = 60
LETTERS = 9000
LISTS = ("lists", "stamps")


def test_each_full_buffer_is_a_file_of_the_version(spark: SparkSession, tmp_path: Path) -> None:
    """A key that is in several of them has its last value, also after a restart and in the change feed."""
    driver = family_driver(session_with(spark, {PREFIX + "overlayBytes": "64k"}), tmp_path)
    driver.open(0)
    for letter in "abc":
        for number in range(ROWS):
            driver.put("values", "key", number, letter * LETTERS)
    assert driver.commit() == 1
    manifest = manifest_of_version(tmp_path, 1)
    assert manifest.spilled == len(manifest.segments) > 10
    assert all((files(tmp_path) / str(ref.name)).exists() for ref in manifest.segments)
    for _ in range(2):
        driver.open(1)
        assert driver.numKeys() == ROWS
        assert {driver.get("values", "key", number) for number in range(ROWS)} == {"c" * LETTERS}
        driver.abort()
        driver.restart()
    driver.open(1)
    driver.put("values", "key", ROWS, "d")
    assert driver.commit() == 2
    assert manifest_of_version(tmp_path, 2).spilled == 0
    changes = list(driver.changes("values", 1, 1))
    assert sorted(changes) == sorted(f"0 put_record key {number} {'c' * LETTERS}" for number in range(ROWS))
    driver.close()


def test_a_commit_takes_over_what_is_mapped(spark: SparkSession, tmp_path: Path) -> None:
    """Mapped again, a segment would have two indexes for a while, and its values would count twice."""
    driver = family_driver(session_with(spark, {PREFIX + "overlayBytes": "64k"}), tmp_path)
    driver.open(0)
    for number in range(ROWS):
        driver.put("values", "key", number, "a" * LETTERS)
    session = field(driver, "store").session()
    before = [session.sortedSegments().apply(number) for number in range(session.sortedSegments().size())]
    assert len(before) > 5
    driver.commit()
    after = list(session.version().segments())
    assert all(any(segment.equals(other) for other in after) for segment in before)
    driver.abort()
    driver.close()


@pytest.mark.parametrize("family", ["values", *first_every_day("lists", "maps", "longs", "stamps")])
def test_a_batch_knows_its_keys_in_all_its_segments(spark: SparkSession, tmp_path: Path, family: str) -> None:
    """Filters say which keys its own segments may hold: each kind of key, written, removed and appended to."""
    rng = Random(family)
    driver = family_driver(spark, tmp_path, conf={PREFIX + "overlayBytes": "64k"})
    driver.open(0)
    model: dict[int, list[str]] = {number: ["base"] for number in range(0, 2000, 3)}
    for number in model:
        driver.putList(family, "key", number, "base") if family in LISTS else driver.put(family, "key", number, "base")
    driver.commit()
    driver.open(1)
    for number in rng.choices(range(3000), k=3000):
        value = f"{number}{rng.choice('abc') * 1000}"
        match rng.choice(["write", "write", "remove", "append"]):
            case "remove":
                driver.remove(family, "key", number)
                model.pop(number, None)
            case "append" if family in LISTS:
                driver.append(family, "key", number, value)
                model.setdefault(number, []).append(value)
            case _:
                driver.putList(family, "key", number, value) if family in LISTS else driver.put(
                    family, "key", number, value
                )
                model[number] = [value]
        other = rng.randrange(3500)
        assert values_of(driver, family, other) == model.get(other, [])
    assert field(driver, "store").session().sortedSegments().size() > 10
    for _ in range(2):
        assert {n: values_of(driver, family, n) for n in range(3500)} == {n: model.get(n, []) for n in range(3500)}
        assert driver.numKeys() == len(model)
        driver.commit()
        driver.open(2)
    driver.abort()
    driver.close()


def values_of(driver: JavaObject, family: str, number: int) -> list[str]:
    """The values of a key."""
    if family in LISTS:
        return list(driver.list(family, "key", number))
    value = driver.get(family, "key", number)
    return [] if value is None else [value]


def files(checkpoint: Path) -> Path:
    """The folder of the store's files."""
    (version,) = checkpoint.rglob("v*1_*.arrows")
    return version.parent


def manifest_of_version(checkpoint: Path, version: int) -> Manifest:
    """The manifest of a version file."""
    (path,) = checkpoint.rglob(f"v{version:020d}_*.arrows")
    return read_manifest(path, path.name)
