"""Stateful operators end to end: session windows, joins, and transformWithState in Python with each kind of state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from campaigns.bench.harness import sampler
from campaigns.bench.plan import Job

_FILES_PER_BATCH: Final = 2  # one a core, so that both cores read
_SCHEMA: Final = "key long, amount long, ts timestamp"
_START: Final = 1_700_000_000_000_000
_MINUTE: Final = 60_000_000
MAP_ENTRIES: Final = 100


def write_input(folder: Path, keys: int, batches: int) -> None:
    """Write the input: a batch is two Parquet files with a row for each key, a minute after the batch before.

    Args:
        folder: Where the files go; exists.
        keys: Number of distinct keys, and rows of a batch.
        batches: Number of batches.
    """
    random = np.random.default_rng(42)
    for batch in range(batches):
        times = _START + batch * _MINUTE + random.integers(0, _MINUTE, keys)
        columns = {
            "key": pa.array(random.permutation(keys) * 1_000_003),
            "amount": pa.array(random.integers(0, 1000, keys)),
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
        }
        for part, rows in enumerate(np.array_split(np.arange(keys), _FILES_PER_BATCH)):
            table = pa.table({name: column.take(pa.array(rows)) for name, column in columns.items()})
            pq.write_table(table, folder / f"{batch:04}-{part}.parquet")


def measure_operator(spark: SparkSession, job: Job) -> dict[str, Any]:
    """Run the query that the job's part names over all batches.

    Returns:
        ``batch``: triggerExecution in ms, and ``state_rows``, one number a batch with input. ``samples``: where the
        threads were that serve state to Python, in number of samples, if they were sampled.

    Raises:
        RuntimeError: The query lost a batch.
    """
    frame, mode = QUERIES[job.part](lambda: _source(spark, job))
    writer = frame.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
    with _sampled(spark, job.variant == "sampled") as samples:
        query = writer.option("checkpointLocation", str(job.folder / "checkpoint")).start()
        query.awaitTermination()
    progress = [p for p in query.recentProgress if p["numInputRows"]]
    if len(progress) != job.rounds:
        raise RuntimeError(f"expected {job.rounds} batches, found {len(progress)}")
    return {
        "batch": [p["durationMs"]["triggerExecution"] for p in progress],
        "state_rows": [sum(o["numRowsTotal"] for o in p["stateOperators"]) for p in progress],
        "samples": samples,
    }


@contextmanager
def _sampled(spark: SparkSession, sampled: bool) -> Iterator[dict[str, int]]:
    samples: dict[str, int] = {}
    if sampled:
        sampler(spark).start("TransformWithStateInPySparkStateServer")
    yield samples
    if sampled:
        samples |= dict(sampler(spark).stop())


def _source(spark: SparkSession, job: Job) -> DataFrame:
    return spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", _FILES_PER_BATCH).parquet(str(job.input))


Source = Callable[[], DataFrame]


def _sessions(source: Source) -> tuple[DataFrame, str]:
    """A prefix scan for each key; sessions close three batches later."""
    keyed = source().withWatermark("ts", "2 minutes").groupBy("key", F.session_window("ts", "45 seconds"))
    return keyed.agg(F.count("*"), F.sum("amount")), "append"


def _join(source: Source) -> tuple[DataFrame, str]:
    """Rows of two streams with one key, at most a minute apart."""
    left = source().withWatermark("ts", "1 minute").alias("a")
    right = source().withWatermark("ts", "1 minute").alias("b")
    within = F.expr("a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts")
    return left.join(right, within).select("a.key", "a.ts", F.expr("a.amount + b.amount")), "append"


def _transform(processor: type[StatefulProcessor]) -> Callable[[Source], tuple[DataFrame, str]]:
    def query(source: Source) -> tuple[DataFrame, str]:
        keyed = source().groupBy("key")
        return keyed.transformWithState(processor(), "key long, number long", "update", "none"), "update"

    return query


Rows = Iterator[Row]
Key = tuple[Any, ...]


class Counts(StatefulProcessor):
    """A count a key, in value state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self.count = handle.getValueState("count", "n long")

    def handleInputRows(self, key: Key, rows: Rows, timerValues: TimerValues) -> Rows:  # noqa: ARG002, N802, N803
        """Count."""
        before = self.count.get()
        count = (before[0] if before else 0) + sum(1 for _ in rows)
        self.count.update((count,))
        yield Row(key=key[0], number=count)

    def close(self) -> None:
        """Nothing to close."""


class Appends(Counts):
    """All amounts of a key, appended to list state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self.amounts = handle.getListState("amounts", "amount long")

    def handleInputRows(self, key: Key, rows: Rows, timerValues: TimerValues) -> Rows:  # noqa: ARG002, N802, N803
        """Append."""
        amounts = [(row.amount,) for row in rows]
        self.amounts.appendList(amounts)
        yield Row(key=key[0], number=len(amounts))


class Entries(Counts):
    """A map of 100 entries a key: a row reads all and writes one."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self.entries = handle.getMapState("entries", "slot long", "amount long")

    def handleInputRows(self, key: Key, rows: Rows, timerValues: TimerValues) -> Rows:  # noqa: ARG002, N802, N803
        """Read all, write one; the first row fills the map."""
        known = {slot: amount for (slot,), (amount,) in self.entries.iterator()}
        for row in rows:
            slots = [row.amount % MAP_ENTRIES] if known else range(MAP_ENTRIES)
            for slot in slots:
                self.entries.updateValue((slot,), (row.amount,))
        yield Row(key=key[0], number=len(known))


QUERIES: Final[dict[str, Callable[[Source], tuple[DataFrame, str]]]] = {
    "sessions": _sessions,
    "join": _join,
    "counts": _transform(Counts),
    "appends": _transform(Appends),
    "entries": _transform(Entries),
}
"""Queries by the name of their part."""

TITLES: Final = {
    "sessions": "session windows",
    "join": "stream-stream join",
    "counts": "transformWithState, a count a key",
    "appends": "transformWithState, appends to a list",
    "entries": "transformWithState, a map of 100 entries",
}
