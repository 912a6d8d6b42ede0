"""Queries to be disturbed. Each gives the rows of the plain aggregation, or all rows so far."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from integration.remote.queries import QUERIES as PLAIN
from integration.remote.queries import Queries, aggregation


def slow(events: DataFrame) -> DataFrame:
    """The aggregation; each row takes 10 ms on its way out of the state, before the commit."""
    return aggregation(events).where(F.expr("java_method('java.lang.Thread', 'sleep', 10L) IS NOT NULL"))


def python(events: DataFrame) -> DataFrame:
    """The aggregation; a Python function takes 10 ms for each row."""
    return _through(events, _linger)


def failing(events: DataFrame) -> DataFrame:
    """The aggregation; the first attempt at one task of each batch fails."""
    return _through(events, _fail_first)


def stalling(events: DataFrame) -> DataFrame:
    """The aggregation; the first attempt at one task of each batch takes long.

    In complete mode the state's rows come after the commit, so the slow attempt has committed when the second begins.
    """
    return _through(events, _stall_first)


def _through(events: DataFrame, function: Callable[[int], int]) -> DataFrame:
    return aggregation(events).withColumn("total", F.udf(function, "long", useArrow=False)("total"))


def _linger(total: int) -> int:
    threading.Event().wait(0.01)
    return total


def _is_first() -> bool:
    task = TaskContext.get()
    return task is not None and task.partitionId() == 1 and task.attemptNumber() == 0


def _fail_first(total: int) -> int:
    if _is_first():
        raise RuntimeError("the first attempt fails, as the test wants")
    return total


def _stall_first(total: int) -> int:
    if _is_first():
        threading.Event().wait(0.1)
    return total


QUERIES: Queries = {
    **PLAIN,
    "slow": (slow, "update"),
    "python": (python, "update"),
    "failing": (failing, "update"),
    "stalling": (stalling, "update"),
    "stalling after commit": (stalling, "complete"),
}
"""How each is built, and its output mode."""
