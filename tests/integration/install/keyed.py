"""A keyed function where pandas is not installed: ``keyed.py FOLDER`` counts words, in a batch job and in a stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession

import keygroups
from keygroups.errors import SettingError
from keygroups.functions import KeyedProcessFunction
from keygroups.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    """Counts the rows of a word."""

    def open(self, runtime_context: Any) -> None:
        """Ask for the state."""
        self.count = runtime_context.get_state(ValueStateDescriptor("count", "bigint", default=0))

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[str, int]]:  # noqa: ARG002
        """Count one."""
        self.count.update(self.count.value() + 1)
        yield value.value, self.count.value()


def main(folder: Path) -> None:
    """Print the counts of both as JSON, as the last line; that of the stream is the error if there is one."""
    builder = SparkSession.Builder().master("local[1]").config("spark.sql.shuffle.partitions", 1)
    spark = keygroups.configure(builder.config("spark.ui.enabled", False)).getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    (folder / "input").mkdir()
    (folder / "input" / "0.txt").write_text("a\nb\na\n", encoding="ascii")
    given = str(folder / "input")
    print(msgspec.json.encode([bounded(spark.read.text(given)), streamed(spark, folder)]).decode())
    spark.stop()


def counted(words: DataFrame) -> DataFrame:
    """Give the counts of words."""
    return keygroups.key_by(words, "value").process(Count(), "word string, n bigint", uid="count")


def bounded(words: DataFrame) -> list[tuple[str, int]]:
    """Count without a stream."""
    return sorted((row.word, row.n) for row in counted(words).collect())


def streamed(spark: SparkSession, folder: Path) -> list[tuple[str, int]] | str:
    """Count in a stream."""
    try:
        counts = counted(spark.readStream.text(str(folder / "input")))
    except SettingError as error:
        return str(error)
    writer = counts.writeStream.outputMode("update").format("memory").queryName("counts")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return sorted((row.word, row.n) for row in spark.table("counts").collect())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
