"""A streaming query of a test, over rows that come batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from support.source import FileSource

DEADLINE = 120
Define = Callable[[DataFrame], DataFrame]


class Stream:
    """Input, checkpoint and output of a query that is started again and again.

    Attributes:
        output: The rows of each batch by its number.
        progress: Of the last run, batch by batch.
    """

    def __init__(self, spark: SparkSession, folder: Path, schema: pa.Schema, mode: str = "update") -> None:
        self._spark, self._source, self._mode = spark, FileSource(folder / "input", schema), mode
        self._names = schema.names
        self.checkpoint = folder / "checkpoint"
        self.output: dict[int, list[Any]] = {}
        self.progress: list[StreamingQueryProgress] = []

    def add(self, *rows: Sequence[Any]) -> None:
        """A batch more."""
        self._source.append([dict(zip(self._names, row, strict=True)) for row in rows])

    def frame(self) -> DataFrame:
        """The input as it will be read by the next run."""
        return self._source.stream(self._spark)

    def start(self, define: Define, **trigger: Any) -> StreamingQuery:
        """Start the query."""
        writer = define(self.frame()).writeStream.outputMode(self._mode).foreachBatch(self._take)
        return writer.option("checkpointLocation", str(self.checkpoint)).trigger(**trigger).start()

    def run(self, define: Define) -> list[Any]:
        """Run the query until its input ends, and give the rows of this run."""
        before = set(self.output)
        query = self.start(define, availableNow=True)
        assert query.awaitTermination(DEADLINE), query.status
        self.progress = query.recentProgress
        return [row for number, rows in sorted(self.output.items()) if number not in before for row in rows]

    def state(self, name: str, **options: str) -> list[Any]:
        """The rows of a state as Spark's own reader shows them."""
        reader = self._spark.read.format("statestore").option("stateVarName", name)
        return reader.options(**options).load(str(self.checkpoint)).collect()

    def _take(self, frame: DataFrame, number: int) -> None:
        self.output[number] = frame.collect()
