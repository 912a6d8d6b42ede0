"""The whole state of a query through Spark's state reader: stores, state variables, timers."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

from pyspark.sql import SparkSession

from support import state
from support.rows import normal_rows

TRANSFORM = "transformWithState"
TIMERS = "timers of "


def read_state(spark: SparkSession, checkpoint: Path) -> dict[str, list[Hashable]]:
    """Every row of every store, by store, and the timers of transformWithState."""
    found = dict(state.read_state(spark, checkpoint))
    for store in state.stores(spark, checkpoint):
        if store.operator.startswith(TRANSFORM):
            reader = spark.read.format("statestore").option("operatorId", store.operator_id)
            timers = reader.option("readRegisteredTimers", True).load(str(checkpoint))
            found[f"{TIMERS}{store.operator_id} {store.operator}"] = normal_rows(timers.collect())
    return found
