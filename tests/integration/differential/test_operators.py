"""Every stateful operator shows the same on our provider and on a built-in one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.differential.aggregation import windowed
from integration.differential.cases import ALL, by_name, longer
from support.case import Case
from support.engine import Outcome, run_case


@by_name
def test_same_answers(case: Case, outcome: Callable[[Case], Outcome]) -> None:
    result = outcome(case)
    result.assert_equal()
    result.assert_telling()


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
