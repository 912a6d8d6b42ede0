"""Queries that one release begins and another one continues.

As a program it begins them: ``python queries.py JAR FOLDER`` with the package of a release on the path. The checkpoints
beside this file were made so with release 0.1.0, and packed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

OLD_BATCHES: Final = 3
KEPT: Final = "36500d"
"""How long the file source remembers files. By default it forgets those that are 7 days older than the newest one, and
reads them again: the files of the recorded checkpoints have the time of their recording."""
_SCHEMA: Final = "word string, n bigint, amount decimal(30, 4), at timestamp"


def _counts(rows: DataFrame) -> DataFrame:
    return rows.groupBy("word").agg(f.count("*").alias("rows"), f.sum("amount"), f.max("at"), f.max("word"))


def _sessions(rows: DataFrame) -> DataFrame:
    return rows.groupBy(f.session_window("at", "1 minute"), "word").agg(f.count("*"), f.sum("n"))


def _distinct(rows: DataFrame) -> DataFrame:
    return rows.select("word", "n").dropDuplicates()


def _join(rows: DataFrame) -> DataFrame:
    left = rows.where("n % 2 = 0").select("word", "n")
    right = rows.where("n % 2 = 1").select("word", f.col("n").alias("m"))
    return left.join(right, "word")


QUERIES: Final[dict[str, tuple[Callable[[DataFrame], DataFrame], str]]] = {
    "counts": (_counts, "complete"),
    "sessions": (_sessions, "complete"),
    "distinct": (_distinct, "append"),
    "join": (_join, "append"),
}
"""Each with its output mode."""


def write_batch(folder: Path, batch: int) -> None:
    """Add the rows of a batch to a folder: words of earlier batches and new ones, some null."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "word": None if n % 17 == 0 else f"word {n % (20 + 5 * batch)} ü" + "x" * (n % 5),
            "n": n % 7 + batch,
            "amount": None if n % 11 == 0 else f"{n * 10**12}.{batch:04}",
            "at": f"2026-01-01T00:{(n + 13 * batch) % 60:02}:00Z",
        }
        for n in range(60)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{batch}.json").write_text(text, encoding="utf-8")


def read_rows(spark: SparkSession, folder: Path) -> DataFrame:
    """All rows of a folder, as a batch."""
    return spark.read.schema(_SCHEMA).json(str(folder))


def run(spark: SparkSession, name: str, folder: Path, checkpoint: Path) -> list[Row]:
    """Have a query read what is new in a folder, a file a batch; gives the rows of the last batch with any."""
    query, mode = QUERIES[name]
    found: list[Row] = []

    def see(rows: DataFrame, batch: int) -> None:
        del batch
        found[:] = rows.collect() or found

    stream = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).option("maxFileAge", KEPT)
    rows = stream.json(str(folder))
    writer = query(rows).writeStream.foreachBatch(see).outputMode(mode).trigger(availableNow=True)
    writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()
    return found


def main() -> None:
    """Begin the queries."""
    jar, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    builder = SparkSession.builder.master("local[2]").config("spark.jars", jar)
    builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC")
    builder.config(
        "spark.sql.streaming.stateStore.providerClass", "io.keygroups.spark.KeyGroupStateStoreProvider"
    ).config("spark.driver.extraClassPath", jar)
    spark = builder.getOrCreate()
    for batch in range(OLD_BATCHES):
        write_batch(folder / "input", batch)
    for name in QUERIES:
        run(spark, name, folder / "input", folder / "checkpoints" / name)
    spark.stop()


if __name__ == "__main__":
    main()
