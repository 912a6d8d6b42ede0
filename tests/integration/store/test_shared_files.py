"""Versions whose files are another store's, of which some key groups count, through Spark's interface."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from integration.store.driver import Driver, Rows
from integration.store.test_faults import files, filled
from keygroups.checkpoint.manifest import FileRef, read_manifest
from support.shared import filtered, lend, put_version, ranges_of

VERSION = 4
G = 28_800
THIRDS = [
    frozenset(range(9_000)),
    frozenset(range(9_000, 20_000, 2)),
    frozenset([*range(9_001, 20_000, 2), *range(20_000, G)]),
]
"""Key groups next to each other, at a distance, and both."""


def test_a_version_of_filtered_files_is_read_written_merged_and_cleaned_up(spark: SparkSession, tmp_path: Path) -> None:
    """Each third of a store's key groups in a checkpoint of its own place; together they have all rows."""
    driver, rows = filled(spark, tmp_path / "whole", VERSION)
    driver.close()
    found = Rows()
    for number, groups in enumerate(THIRDS):
        folder = tmp_path / f"third {number}"
        found |= one_third(spark, tmp_path / "whole", folder, groups)
    assert found == rows


def one_third(spark: SparkSession, whole: Path, folder: Path, groups: frozenset[int]) -> Rows:
    """Its rows, after it was read, written to, merged and cleaned up."""
    operator = folder / "state" / "0"
    lender = operator / "1"
    lender.mkdir(parents=True)
    for path in files(whole, "*"):
        (lender / path.name).write_bytes(path.read_bytes())
    newest = files(whole, "v*")[-1]
    manifest = read_manifest(newest, newest.name)
    own = FileRef(f"1/{newest.name}", manifest.rows, newest.stat().st_size, manifest.checksum)
    moved = [FileRef(f"1/{ref.name}", ref.rows, ref.bytes, ref.checksum, ref.span, ref.follows)
             for ref in manifest.segments]  # fmt: skip
    refs = [ref for one in (own, *moved) if (ref := filtered(one, groups, range(G))) is not None]
    assert all(ref.key_groups == ranges_of(groups) for ref in refs)
    lend(operator, "0", refs, VERSION + 1)
    put_version(operator, "0", 0, refs, manifest.catalog, VERSION + 1, G)
    rows = used(Driver(spark, folder))
    again = Driver(spark, folder)
    again.open(VERSION + 3, "")
    assert again.rows() == rows
    again.abort()
    again.close()
    newest = max((operator / "0").glob("v*"))
    assert all(ref.store == "0" and ref.key_groups is None for ref in read_manifest(newest, newest.name).segments)
    return rows


def used(driver: Driver) -> Rows:
    """The rows of a store, which is read, written to, merged and cleaned up."""
    driver.open(VERSION + 1, "")
    rows = driver.rows()
    assert all(driver.get(*key) == value for key, value in rows.items())
    assert driver.get("v0", 1_000_000) is None
    driver.put("new", 1, "value")
    driver.commit()
    driver.maintain()
    driver.open(VERSION + 2, "")
    assert driver.rows() == rows | {("new", 1): "value"}
    driver.remove("new", 1)
    driver.commit()
    driver.close()
    return rows
