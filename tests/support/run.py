"""One case on one state store provider: starts and restarts the query and records all that it shows."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from keygroups.configure import PROVIDER_CLASS
from support.case import CHECKPOINT_FORMAT, Case
from support.rows import normal_rows
from support.source import FileSource
from support.spark import PROVIDERS, session_with
from support.state import read_state

DEADLINE = 240
"""Seconds that a query may take for the batches between two restarts; they take 1 to 10."""

COUNTERS = ("numRowsTotal", "numRowsUpdated", "numRowsRemoved", "numRowsDroppedByWatermark")

NO_CHECKPOINT_IDS = ("hdfs", "forgetful")
"""Providers that know checkpoint format 1 only."""


class Run:
    """A case on one provider.

    Attributes:
        spark: Session with the settings of the query.
        provider: Short name of the provider.
        checkpoint: Folder of the checkpoint.
        records: Normal rows by label: the output of every batch, the operators' counters, the state.
    """

    def __init__(self, spark: SparkSession, case: Case, provider: str, conf: Mapping[str, str], folder: Path) -> None:
        """Starts nothing.

        Args:
            spark: The session; the run has one of its own, since the state reader needs the settings too.
            case: What to run.
            provider: Short name of the provider.
            conf: Settings beside those of the case.
            folder: Where the checkpoint goes.
        """
        self.provider, self.checkpoint = provider, folder / "checkpoint"
        self.records: dict[str, list[Hashable]] = {}
        self._case, self._starts = case, 0
        chosen = {**conf, **case.conf, PROVIDER_CLASS: PROVIDERS[provider]}
        if provider in NO_CHECKPOINT_IDS:
            chosen.pop(CHECKPOINT_FORMAT, None)
        self.spark = session_with(spark, chosen)

    def start(self, sources: Sequence[FileSource]) -> StreamingQuery:
        """Starts the query on all the input there is now; it ends by itself."""
        self._starts += 1
        query = self._case.build(*(source.stream(self.spark) for source in sources))
        writer = query.writeStream.outputMode(self._case.mode).foreachBatch(self._record)
        return writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()

    def finish(self, query: StreamingQuery) -> None:
        """Waits until the query has ended and records the counters of its operators.

        Raises:
            RuntimeError: The query failed or did not end in time; the message names the provider and the checkpoint.
        """
        try:
            ended = query.awaitTermination(DEADLINE)
        except Exception as error:
            raise RuntimeError(f"{self._place()} failed: {error}") from error
        finally:
            query.stop()
        if not ended:
            raise RuntimeError(f"{self._place()} did not end within {DEADLINE} s: {query.status}")
        for progress in query.recentProgress:
            counters = [_counters(json.loads(operator.json)) for operator in progress.stateOperators]
            self.records.setdefault(self._label("counters", progress.batchId), normal_rows(counters))

    def forget_last_commit(self) -> None:
        """Makes the next start run the last batch again, as after a crash between state commit and commit log."""
        last = self.last_batch()
        (self.checkpoint / "commits" / str(last)).unlink()
        (self.checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)

    def last_batch(self) -> int:
        """Returns the number of the last committed batch."""
        return max(int(path.name) for path in (self.checkpoint / "commits").iterdir() if path.name.isdigit())

    def read_state(self, batch: int | None = None) -> None:
        """Records the state after a batch; None means the last one."""
        self.records.update(read_state(self.spark, self.checkpoint, batch))

    def used_provider(self) -> str:
        """Returns the class name of the provider that the offset log of the checkpoint names."""
        lines = (self.checkpoint / "offsets" / "0").read_text().splitlines()
        return str(json.loads(lines[1])["conf"][PROVIDER_CLASS])

    def _record(self, frame: DataFrame, batch: int) -> None:
        self.records[self._label("output", batch)] = normal_rows(frame.collect())

    def _label(self, what: str, batch: int) -> str:
        return f"{what} of batch {batch}, start {self._starts}"

    def _place(self) -> str:
        return f"{self._case.name!r} on {self.provider}, start {self._starts}, checkpoint {self.checkpoint},"


def _counters(operator: Mapping[str, object]) -> list[object]:
    return [operator["operatorName"], *(operator[name] for name in COUNTERS)]
