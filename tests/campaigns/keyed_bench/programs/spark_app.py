"""A stateful query of Spark: ``python spark_app.py JOB RESULT``. The job names the query."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

import keygroups as kg
from campaigns.keyed_bench.programs import functions

COUNTS = "key bigint, n bigint"
ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.stateStore.rocksdb.blockCacheSizeMB": "512",
}


class SparkCount(StatefulProcessor):
    """A count a key, in value state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        del timerValues
        known = self.count.get()
        count = (known[0] if known else 0) + sum(1 for _ in rows)
        self.count.update((count,))
        yield Row(key=key[0], n=count)


def pandas_count(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """The same in applyInPandasWithState."""
    count = (state.get[0] if state.exists else 0) + sum(map(len, frames))
    state.update((count,))
    yield pd.DataFrame({"key": [key[0]], "n": [count]})


def floor(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sums per key of each Arrow batch, without state."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        sums = pa.TableGroupBy(table, ["key"], use_threads=False).aggregate([("amount", "sum")])
        yield from sums.select(["key", "amount_sum"]).rename_columns(["key", "n"]).to_batches()


def _ours(function: Callable[[], Any]) -> Callable[[DataFrame], DataFrame]:
    return lambda rows: kg.key_by(rows, "key").process(function(), COUNTS, uid="bench")


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "floor": lambda rows: rows.repartition("key").mapInArrow(floor, COUNTS),
    "transformWithState": lambda rows: rows.groupBy("key").transformWithState(SparkCount(), COUNTS, "update", "none"),
    "applyInPandasWithState": lambda rows: rows.groupBy("key").applyInPandasWithState(
        pandas_count, COUNTS, "n long", "update", GroupStateTimeout.NoTimeout
    ),
    **{name: _ours(function) for name, function in functions.FUNCTIONS.items()},
}


def main() -> None:
    """Run a query over the files of its input, a batch each, and give the seconds of each batch."""
    job = json.loads(sys.argv[1])
    folder = Path(job["folder"])
    spark = _session(job, folder)
    reader = spark.readStream.schema("key bigint, amount bigint").option("maxFilesPerTrigger", 2)
    rows = reader.parquet(job["input"])
    writer = QUERIES[job["query"]](rows).writeStream.format("noop").outputMode("update").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    query.awaitTermination()
    progress = [p for p in query.recentProgress if p["numInputRows"]]
    found = {
        "rows": [p["numInputRows"] for p in progress],
        "seconds": [p["durationMs"]["triggerExecution"] / 1000 for p in progress],
    }
    spark.stop()
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="utf-8")


def _session(job: dict[str, Any], folder: Path) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2)
    settings = {
        "spark.driver.memory": job.get("heap", "4g"),
        "spark.ui.enabled": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        **{f"spark.sql.streaming.stateStore.{name}": value for name, value in job["settings"].items()},
        **({} if job["query"] in functions.FUNCTIONS else ROCKSDB),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    builder = kg.configure(builder) if job["query"] in functions.FUNCTIONS else builder
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    main()
