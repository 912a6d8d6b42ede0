"""Every stateful operator shows the same on our provider and on a built-in one, and its rows lie where they belong.

Both tests of a case look at one run of it, so they stand in one file: a file runs in one process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.differential.aggregation import windowed
from integration.differential.cases import ALL, by_name, longer
from support.case import Case
from support.engine import Outcome, run_case
from support.partitioning import Placement, hashes, misplaced, placements
from support.run import Run
from support.state import Store, stores
from support.state_files import live_key_groups, read_state_files


@by_name
def test_same_answers(case: Case, outcome: Callable[[Case], Outcome]) -> None:
    result = outcome(case)
    result.assert_equal()
    result.assert_telling()


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


@pytest.mark.slow
@pytest.mark.parametrize("more", [1, 2, 3])
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_same_answers_on_all_providers(
    spark: SparkSession, case: Case, more: int, pair: tuple[str, ...], seed: int, tmp_path: Path
) -> None:
    providers = tuple(dict.fromkeys([*pair, "hdfs", "rocksdb"]))
    result = run_case(spark, longer(case), providers, seed + more, tmp_path)
    result.assert_equal()
    result.assert_telling()


def test_a_wrong_provider_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    case = Case("window append on a wrong provider", windowed)
    result = run_case(spark, case, ("hdfs", "forgetful"), 1, tmp_path)
    result.assert_telling()
    with pytest.raises(AssertionError, match="only in forgetful"):
        result.assert_equal()
