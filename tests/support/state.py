"""The state of a checkpoint as Spark's own state reader sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from support.rows import Records, normal_rows

EXPIRY = "ttlExpirationMs"


@dataclass(frozen=True)
class Store:
    """One state store of a query, over all its partitions.

    Attributes:
        operator_id: Number of the operator in the query.
        operator: Spark's short name of it, such as "dedupe".
        name: Name of the store; "default" for operators that have one store only.
        partitions: Number of partitions.
        variable: The state variable to read; empty where an operator has no variables.
    """

    operator_id: int
    operator: str
    name: str
    partitions: int
    variable: str = ""

    def __str__(self) -> str:
        return f"{self.operator_id} {self.operator}/{self.variable or self.name}"


def stores(spark: SparkSession, checkpoint: Path) -> Iterator[Store]:
    """Yields the stores that the operator metadata of the checkpoint names."""
    metadata = spark.read.format("state-metadata").load(str(checkpoint))
    for row in metadata.orderBy("operatorId", "stateStoreName").collect():
        properties = json.loads(row.operatorProperties) if row.operatorProperties else {}
        for variable in sorted(_variables(properties)) or [""]:
            yield Store(row.operatorId, row.operatorName, row.stateStoreName, row.numPartitions, variable)


def _variables(properties: Mapping[str, Any]) -> Iterator[str]:
    for variable in properties.get("stateVariables", []):
        if not variable["stateName"].startswith("$"):
            yield variable["stateName"]


def read_store(spark: SparkSession, checkpoint: Path, store: Store, batch: int | None = None) -> DataFrame:
    """Returns the rows of a store: key (a struct), value, partition_id; of a variable all but what the clock decides.

    Args:
        spark: The session.
        checkpoint: Checkpoint of a stopped query.
        store: The store.
        batch: The batch after which to read; None means the last one.
    """
    reader = spark.read.format("statestore").option("operatorId", store.operator_id).option("storeName", store.name)
    if batch is not None:
        reader = reader.option("batchId", batch)
    if store.variable:
        return _without_expiry(reader.option("stateVarName", store.variable).load(str(checkpoint)))
    return reader.load(str(checkpoint)).select("key", "value", "partition_id")


def _without_expiry(rows: DataFrame) -> DataFrame:
    """The rows of a variable with a time to live, each value without the time at which it expires."""
    expiring = [f.name for f in rows.schema if EXPIRY in getattr(f.dataType, "names", ())]
    return rows.select(*(F.col(c).getField("value").alias(c) if c in expiring else c for c in rows.columns))


def read_state(spark: SparkSession, checkpoint: Path, batch: int | None = None) -> Records:
    """Returns every row of every store, by store."""
    when = "last batch" if batch is None else f"batch {batch}"
    return {
        f"state of {store} after the {when}": normal_rows(read_store(spark, checkpoint, store, batch).collect())
        for store in stores(spark, checkpoint)
    }
