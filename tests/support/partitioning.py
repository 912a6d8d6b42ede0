"""In which partition Spark's own partitioning puts each row of a state, recomputed from the rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from support.state import Store, read_store

ONE_PARTITION = ("globalLimit",)
"""Operators without partition columns although their key has a column."""


@dataclass(frozen=True)
class Placement:
    """Where a row is and where it should be.

    Attributes:
        key: The key, as text.
        found: Partition in which the state reader found the row.
        placed: Partition in which Spark's HashPartitioning puts it.
        h: Spark's Murmur3 (seed 42) of the partition columns; None for an operator without any.
    """

    key: str
    found: int
    placed: int
    h: int | None


def partition_columns(store: Store, key_columns: list[str]) -> list[str]:
    """Returns the key columns that Spark partitions a store's operator by; none means that all rows are in partition 0.

    Args:
        store: The store.
        key_columns: Names of the key's columns in their order.
    """
    if store.operator in ONE_PARTITION:
        return []
    if store.operator.startswith("sessionWindow") or store.name.endswith("keyWithIndexToValue"):
        return key_columns[:-1]  # without the start of the session, or the row's number among those of its join key
    return key_columns


def placements(spark: SparkSession, checkpoint: Path, store: Store) -> list[Placement]:
    """Returns the placement of every row of a store.

    Args:
        spark: Session with the settings of the query.
        checkpoint: Checkpoint of a stopped query.
        store: One of its stores.
    """
    rows = read_store(spark, checkpoint, store)
    columns = [F.col("key").getField(name) for name in partition_columns(store, rows.select("key.*").columns)]
    if not columns:
        return [Placement(str(row.key), row.partition_id, 0, None) for row in rows.collect()]
    spread = rows.repartition(store.partitions, *columns)
    found = spread.select("key", "partition_id", F.spark_partition_id().alias("placed"), F.hash(*columns).alias("h"))
    return [Placement(str(row.key), row.partition_id, row.placed, row.h) for row in found.collect()]


def misplaced(rows: list[Placement], partitions: int) -> list[Placement]:
    """Returns the rows that are not where HashPartitioning puts them, or not where `pmod(h, partitions)` says."""
    return [row for row in rows if row.found != row.placed or (row.h is not None and row.found != row.h % partitions)]


def hashes(rows: list[Placement]) -> dict[int, Counter[int]]:
    """Returns how often each hash occurs, by the partition in which the rows were found."""
    counted: dict[int, Counter[int]] = {}
    for row in rows:
        if row.h is not None:
            counted.setdefault(row.found, Counter())[row.h] += 1
    return counted
