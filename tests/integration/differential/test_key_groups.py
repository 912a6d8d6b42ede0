"""The checks of partitions and key groups notice what is wrong; the hash is that of Spark's partitioning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from support.events import KEY_TYPES, SCHEMA, Shape, random_batches
from support.partitioning import Placement, misplaced
from support.state import Store
from support.state_files import StateFile


def test_a_misplaced_row_is_noticed() -> None:
    right = [Placement("a", found=1, placed=1, h=-2), Placement("b", found=0, placed=0, h=None)]
    assert misplaced(right, 3) == []
    wrong = [Placement("c", found=1, placed=2, h=1), Placement("d", found=2, placed=2, h=1)]
    assert misplaced(wrong, 3) == wrong


def test_a_wrong_column_of_a_file_is_noticed() -> None:
    store = Store(0, "dedupe", "default", 3)
    right = StateFile(
        path=Path("v1.arrows"),
        manifest={"max_parallelism": 6},
        family=0,
        encoder="NoPrefix",
        key_group=np.array([2, 5], np.uint16),
        keys=["a", "b"],
        live=np.array([True, False]),
    )
    assert right.broken_rules(2, store) == []
    assert right.broken_rules(1, store) == ["the key group modulo N is the partition"]
    assert replace(right, key_group=right.key_group + 3).broken_rules(2, store) == ["there are G key groups"]
    assert replace(right, keys=["a", "a"]).broken_rules(2, store) == ["a key comes once"]
    assert replace(right, key_group=right.key_group[::-1]).broken_rules(2, store) == ["key groups ascend"]


def test_hash_is_the_hash_of_sparks_partitioning(spark: SparkSession) -> None:
    """`pmod(hash(columns), N)` says where HashPartitioning puts a row, for each key type and all together."""
    rows = [event for batch in random_batches(Random(1), Shape(batches=3, rows=100)) for event in batch]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=SCHEMA))
    for columns in [*[[name] for name in KEY_TYPES], list(KEY_TYPES)]:
        placed = frame.repartition(7, *columns).select(F.spark_partition_id(), F.pmod(F.hash(*columns), F.lit(7)))
        pairs = placed.collect()
        assert len(pairs) == len(rows)
        assert all(found == computed for found, computed in pairs), columns
