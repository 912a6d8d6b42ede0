"""``restarting.py FOLDER RUNS``: starts a query again and again, with budgets that hold its state once, not twice."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

from pyspark.sql import SparkSession

from keygroups.configure import configure
from keygroups.settings import PREFIX

KEYS = 40_000
MEMORY_BUDGET = 208 << 10
INDEX_LIMIT = MEMORY_BUDGET * 5 // 8
DISK_BUDGET = 6 << 20
SETTINGS = {
    PREFIX + "memoryBudget": str(MEMORY_BUDGET),
    PREFIX + "blockBytes": "4k",
    PREFIX + "diskBudget": str(DISK_BUDGET),
    "spark.sql.streaming.stateStore.maintenanceInterval": "1h",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


def main(folder: Path, runs: int) -> None:
    """Print the bytes of indexes and of local files after each run."""
    builder = SparkSession.Builder().master("local[2]").config(PREFIX + "localDir", str(folder / "local"))
    for name, value in SETTINGS.items():
        builder.config(name, value)
    (folder / "local").mkdir()
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for run in range(runs):
        rows = spark.range(KEYS if run == 0 else 10).selectExpr("id", "repeat('x', 40) AS text").coalesce(1)
        rows.write.mode("append").parquet(str(folder / "input"))
        distinct = spark.readStream.schema("id long, text string").parquet(str(folder / "input"))
        writer = distinct.dropDuplicates(["id", "text"]).writeStream.format("noop")
        writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
        writer.start().awaitTermination()
        indexes = cast(Any, spark)._jvm.io.keygroups.spark.memory.IndexMemory.bytes()
        local = sum(path.stat().st_size for path in (folder / "local").rglob("*.arrows"))
        print(indexes, local, flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
