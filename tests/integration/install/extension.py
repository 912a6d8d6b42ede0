"""A session that knows the jar and the provider and sets no extension: ``extension.py JAR FOLDER``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from keygroups.configure import PROVIDER, PROVIDER_CLASS


class Count(StatefulProcessor):
    """Counts rows."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self.count = handle.getValueState("count", "n long")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: tuple[Any, ...],
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803 - Spark's name
    ) -> Iterator[Row]:
        """Count."""
        count = sum(1 for _ in rows)
        self.count.update((count,))
        yield Row(value=key[0], n=count)

    def close(self) -> None:
        """Nothing to close."""


def main(jar: str, folder: Path) -> None:
    """Run transformWithState over one file and print what it shows."""
    builder = SparkSession.Builder().master("local[1]").config("spark.jars", jar).config(PROVIDER_CLASS, PROVIDER)
    spark = builder.config("spark.ui.enabled", False).config("spark.sql.shuffle.partitions", 1).getOrCreate()
    assert spark.conf.get("spark.sql.extensions", None) is None
    (folder / "input").mkdir()
    (folder / "input" / "0.txt").write_text("a\nb\na", encoding="ascii")
    words = spark.readStream.text(str(folder / "input")).groupBy("value")
    counts = words.transformWithState(Count(), "value string, n long", "update", "none")
    writer = counts.writeStream.outputMode("update").format("memory").queryName("counts")
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    print(sorted((row.value, row.n) for row in spark.table("counts").collect()))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
