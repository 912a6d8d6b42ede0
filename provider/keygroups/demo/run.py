"""Runs one query as a stream over the feed, then checks its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession

from keygroups.demo.check import Comparison, compare
from keygroups.demo.data import Feed
from keygroups.demo.progress import Batch, follow
from keygroups.demo.queries import Query


@dataclass(frozen=True)
class Outcome:
    """The result of one query.

    Attributes:
        query: The query.
        batches: Its micro-batches.
        comparison: Its answer against the batch job's, without the rows that are held back.
        held_back: Rows of the batch job's answer that the watermark still holds back.
        state: Folder of its state.
        state_rows: Rows that should be in it after the last batch.
    """

    query: Query
    batches: list[Batch]
    comparison: Comparison
    held_back: int
    state: Path
    state_rows: int

    @property
    def rows_per_second(self) -> float:
        """Median over the batches that had input."""
        return median(batch.rows_per_second for batch in self.batches if batch.rows)

    @property
    def problems(self) -> list[str]:
        """What is wrong, one sentence each. Empty if the query is right."""
        found, last = self.comparison, self.batches[-1]
        dropped = sum(batch.dropped for batch in self.batches)
        problems = [] if found.ok else [f"{found.missing:,} rows missing, {found.extra:,} rows wrong", *found.examples]
        if dropped:
            problems.append(f"{dropped:,} rows dropped because they arrived after the watermark")
        if last.state_rows != self.state_rows:
            problems.append(f"{last.state_rows:,} rows in the state after the last batch, expected {self.state_rows:,}")
        return problems


def run(spark: SparkSession, query: Query, feed: Feed, folder: Path, show: Callable[[Batch], None]) -> Outcome:
    """Stream the feed through a query and check the answer.

    Args:
        spark: The session.
        query: What to run.
        feed: The input.
        folder: Gets the folders ``checkpoint/<query>`` and ``answer/<query>``.
        show: Called with each batch when it is done.

    Returns:
        The outcome.

    Raises:
        StreamingQueryException: The query failed.
    """
    checkpoint, answer = folder / "checkpoint" / query.name, folder / "answer" / query.name
    batches = _stream(spark, query, feed, checkpoint, answer, show)
    right = (query.check or query.build)(_table(spark, feed.flights), _table(spark, feed.weather))
    found = spark.read.schema(right.schema).parquet(str(answer))
    released = right.where(f"NOT ({query.held_back})")
    held_back = right.where(query.held_back).count()
    state_rows = query.state_rows(released)
    return Outcome(query, batches, compare(released, found), held_back, checkpoint / "state", state_rows)


def _stream(
    spark: SparkSession, query: Query, feed: Feed, checkpoint: Path, answer: Path, show: Callable[[Batch], None]
) -> list[Batch]:
    rows = query.build(_feed(spark, feed.flights), _feed(spark, feed.weather))
    writer = rows.writeStream.queryName(query.name).outputMode("append").format("parquet")
    # The last file moves the watermark, so AvailableNow ends with a batch without input, which emits the released rows.
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    return follow(writer.start(str(answer)), show)


def _feed(spark: SparkSession, folder: Path) -> DataFrame:
    schema = _table(spark, folder).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def _table(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.parquet(str(folder))
