"""Every row of every operator lies in the partition, and in our files in the key group, of its partition columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration.differential.cases import by_name
from support.case import Case
from support.engine import Outcome
from support.events import KEY_TYPES, SCHEMA, Shape, random_batches
from support.partitioning import Placement, hashes, misplaced, placements
from support.run import Run
from support.state import Store, stores
from support.state_files import StateFile, live_key_groups, read_state_files


@by_name
def test_rows_lie_where_spark_partitions_them(case: Case, outcome: Callable[[Case], Outcome]) -> None:
    run, placed = outcome(case).runs[0], 0
    for store in stores(run.spark, run.checkpoint):
        rows = placements(run.spark, run.checkpoint, store)
        wrong = misplaced(rows, store.partitions)
        assert not wrong, f"{run.checkpoint}: {store}: {len(wrong)} of {len(rows)} rows, such as {wrong[0]}"
        if run.provider == "keygroups":
            _assert_files(run, store, rows)
        placed += len(rows)
    assert placed, f"{run.checkpoint}: no row of state"


def _assert_files(run: Run, store: Store, rows: list[Placement]) -> None:
    """The columns of the files agree with each other, and with what the state reader shows of the last version."""
    hashed = all(row.h is not None for row in rows)
    expected = hashes(rows)
    for partition in range(store.partitions if hashed else 1):  # Spark runs one task where all rows go to partition 0
        files = list(read_state_files(run.checkpoint, store, partition))
        assert files, f"{run.checkpoint}: {store}: no file in partition {partition}"
        for file in files:
            assert not file.broken_rules(partition, store), str(file.path)
        if hashed and not store.variable:  # a variable is one of several families
            live = live_key_groups(run.checkpoint, store, partition, run.last_batch() + 1)
            groups: Counter[int] = Counter()
            for h, count in expected.get(partition, Counter()).items():
                groups[h % files[0].manifest["max_parallelism"]] += count
            assert live == groups, f"{run.checkpoint}: {store}, partition {partition}"


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
