"""What a query reports while it runs: one line a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

_POLL_SECONDS = 0.5

_COLUMNS = f"{'rows':>8} {'rows/s':>8} {'state rows':>11} {'state bytes':>12} {'commit':>9}  watermark"

HEADER = f"{'query':<10} {'batch':>5} {_COLUMNS}"
"""Heads the columns of `Batch.line`."""


@dataclass(frozen=True)
class Batch:
    """The figures of one micro-batch.

    Attributes:
        query: Name of the query.
        number: Batch id.
        rows: Input rows.
        millis: Duration of the whole batch, in ms.
        state_rows: Rows in the state after the batch, all partitions.
        state_bytes: Memory that the state store reports, all partitions.
        commit_millis: Time in commits of the state store, in ms, summed over partitions and stores.
        dropped: Rows that came after the watermark.
        watermark: The watermark during the batch, to the minute, or "" where there is none (yet).
    """

    query: str
    number: int
    rows: int
    millis: int
    state_rows: int
    state_bytes: int
    commit_millis: int
    dropped: int
    watermark: str

    @property
    def rows_per_second(self) -> float:
        """Input rows per second of the whole batch."""
        return 1000 * self.rows / max(self.millis, 1)

    def line(self) -> str:
        """Render the batch as one line under `HEADER`."""
        return (
            f"{self.query:<10} {self.number:>5} {self.rows:>8,} {self.rows_per_second:>8,.0f} {self.state_rows:>11,} "
            f"{size(self.state_bytes):>12} {self.commit_millis:>6} ms  {self.watermark}"
        ).rstrip()


def follow(query: StreamingQuery, show: Callable[[Batch], None]) -> list[Batch]:
    """Wait until a query ends and show each batch once, in order, soon after it is done.

    Args:
        query: A query that ends by itself.
        show: Called with each batch.

    Returns:
        All batches. The session must keep at least as many progress reports
        (``spark.sql.streaming.numRecentProgressUpdates``).

    Raises:
        StreamingQueryException: The query failed.
    """
    batches: list[Batch] = []
    ended = False
    while not ended:
        ended = bool(query.awaitTermination(_POLL_SECONDS))  # type: ignore[arg-type]
        done = [batch for report in query.recentProgress if (batch := parse(report))]
        for batch in done[len(batches) :]:
            show(batch)
        batches = done
    return batches


def parse(report: Mapping[str, Any]) -> Batch | None:
    """Read one progress report.

    Args:
        report: Spark's StreamingQueryProgress, as a mapping.

    Returns:
        The batch, or None where the report is of a trigger that had nothing to do.
    """
    if "addBatch" not in report["durationMs"]:
        return None
    operators = report["stateOperators"]
    return Batch(
        query=report["name"],
        number=report["batchId"],
        rows=report["numInputRows"],
        millis=report["durationMs"]["triggerExecution"],
        state_rows=sum(operator["numRowsTotal"] for operator in operators),
        state_bytes=sum(operator["memoryUsedBytes"] for operator in operators),
        commit_millis=sum(operator["commitTimeMs"] for operator in operators),
        dropped=sum(operator["numRowsDroppedByWatermark"] for operator in operators),
        watermark=_watermark(report["eventTime"].get("watermark", "")),
    )


def _watermark(time: str) -> str:
    # Spark's first watermark is the epoch: it says that no row was seen.
    return "" if time.startswith("1970") else time[:16].replace("T", " ")


def size(count: float) -> str:
    """Render a number of bytes for people, such as ``1.5 MB``."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
