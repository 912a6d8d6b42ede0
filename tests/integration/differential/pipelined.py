"""``pipelined.py FOLDER OVERLAY_BYTES``: counts keys where one thread of a task reads state and another writes it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from keygroups.configure import configure

KEYS = 3000
BATCHES = 2
PAYLOAD_TIMES = 300
"""Rows of 1 KB: with short ones, Spark has read the whole input before it writes the first group."""


def count(key: tuple[int], frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """Count the rows of a key over all batches."""
    total = (state.get[0] if state.exists else 0) + sum(map(len, frames))
    state.update((total,))
    yield pd.DataFrame({"k": [key[0]], "n": [total]})


def main(folder: str, overlay_bytes: str) -> None:
    """Print how many keys have which count, for each batch, and the keys in the state."""
    builder = configure(SparkSession.Builder().master("local[1]"))
    builder.config("spark.python.udf.pipelined.enabled", True).config("spark.ui.enabled", False)
    builder.config("spark.sql.shuffle.partitions", 1).config("spark.sql.execution.arrow.maxRecordsPerBatch", 100)
    builder.config("spark.sql.streaming.stateStore.keyGroups.overlayBytes", overlay_bytes)
    spark = builder.getOrCreate()
    rows = spark.range(KEYS).selectExpr("id AS k", f"repeat(string(id), {PAYLOAD_TIMES}) AS payload").coalesce(1)
    for _ in range(BATCHES):
        rows.write.mode("append").parquet(f"{folder}/input")
    counts: list[dict[int, int]] = []
    reader = spark.readStream.schema("k long, payload string").option("maxFilesPerTrigger", 1)
    groups = reader.parquet(f"{folder}/input").groupBy("k")
    query = (
        groups.applyInPandasWithState(count, "k long, n long", "n long", "update", GroupStateTimeout.NoTimeout)
        .writeStream.outputMode("update")
        .foreachBatch(lambda batch, _: counts.append({r.n: r["count"] for r in batch.groupBy("n").count().collect()}))
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    keys = [progress["stateOperators"][0]["numRowsTotal"] for progress in query.recentProgress]
    print(json.dumps({"counts": counts, "keys": keys}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
