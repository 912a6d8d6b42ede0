"""Runs one streaming query on several state store providers with the same input and records all that they show."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from support.events import SCHEMA, Event, Shape, random_batches
from support.rows import normal_rows
from support.source import FileSource
from support.spark import PROVIDER_CLASS, PROVIDERS, settings
from support.state import read_state

DEADLINE = 120
"""Seconds that a query may take for the batches between two restarts; they take 1 to 10."""

COUNTERS = ("numRowsTotal", "numRowsUpdated", "numRowsRemoved", "numRowsDroppedByWatermark")


@dataclass(frozen=True)
class Case:
    """One streaming query and its input.

    Attributes:
        name: Name of the test case.
        build: Makes the query from as many streams of events as it has parameters.
        mode: Output mode.
        conf: Spark settings of the query.
        inputs: Number of streams.
        shape: Size of each stream.
        empty_state: Whether the state may have no rows at the end.
    """

    name: str
    build: Callable[..., DataFrame]
    mode: str = "append"
    conf: Mapping[str, str] = field(default_factory=dict)
    inputs: int = 1
    shape: Shape = Shape()
    empty_state: bool = False


class Run:
    """A case on one provider.

    Attributes:
        provider: Short name of the provider.
        checkpoint: Folder of the checkpoint.
        records: Normal rows by label: the output of every batch, the operators' counters, the final state.
    """

    def __init__(self, case: Case, provider: str, folder: Path) -> None:
        """Starts nothing; `folder` is where the checkpoint goes."""
        self.provider, self.checkpoint = provider, folder / "checkpoint"
        self.records: dict[str, list[Hashable]] = {}
        self._case, self._starts = case, 0

    def start(self, spark: SparkSession, streams: Sequence[DataFrame]) -> StreamingQuery:
        """Starts the query on all the input there is now; it ends by itself."""
        self._starts += 1
        with settings(spark, {**self._case.conf, PROVIDER_CLASS: PROVIDERS[self.provider]}):
            writer = self._case.build(*streams).writeStream.outputMode(self._case.mode).foreachBatch(self._record)
            return writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()

    def finish(self, query: StreamingQuery) -> None:
        """Waits until the query has ended and records the counters of its operators."""
        try:
            if not query.awaitTermination(DEADLINE):
                raise TimeoutError(f"the query did not end within {DEADLINE} s: {query.status}")
        except Exception as error:
            error.add_note(f"on {self.provider}, start {self._starts}, checkpoint {self.checkpoint}")
            raise
        finally:
            query.stop()
        for progress in query.recentProgress:
            counters = [[op.operatorName, *_counters(op.json)] for op in progress.stateOperators]
            self.records.setdefault(self._label("counters", progress.batchId), normal_rows(counters))

    def forget_last_commit(self) -> None:
        """Makes the next start run the last batch again, as after a crash between state commit and commit log."""
        last = max(_batches(self.checkpoint / "commits"))
        (self.checkpoint / "commits" / str(last)).unlink()
        (self.checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)

    def read_state(self, spark: SparkSession) -> None:
        """Records the state after the last batch, and after one in the middle."""
        self.records.update(read_state(spark, self.checkpoint))
        self.records.update(read_state(spark, self.checkpoint, max(_batches(self.checkpoint / "commits")) // 2))

    def used_provider(self) -> str:
        """Returns the class name of the provider that the offset log of the checkpoint names."""
        lines = (self.checkpoint / "offsets" / "0").read_text().splitlines()
        return str(json.loads(lines[1])["conf"][PROVIDER_CLASS])

    def _record(self, frame: DataFrame, batch: int) -> None:
        self.records[self._label("output", batch)] = normal_rows(frame.collect())

    def _label(self, what: str, batch: int) -> str:
        return f"{what} of batch {batch}, start {self._starts}"


def run_case(
    spark: SparkSession, case: Case, providers: Sequence[str], seed: int, folder: Path
) -> list[Run]:
    """Runs a case on each provider, all at the same time, with restarts in the middle.

    The second restart forgets the last commit, so that one batch runs twice.

    Args:
        spark: The session.
        case: What to run.
        providers: Short names of the providers.
        seed: Decides the input, the number of partitions and where the restarts are.
        folder: An existing folder for input and checkpoints.
    """
    rng = Random(f"{case.name} {seed}")
    sources = [FileSource(folder / f"input-{number}", SCHEMA) for number in range(case.inputs)]
    batches = [random_batches(rng, case.shape) for _ in sources]
    runs = [Run(case, provider, folder / provider) for provider in providers]
    partitions = {"spark.sql.shuffle.partitions": str(rng.choice([2, 3, 5]))}
    ends = [*sorted(rng.sample(range(1, case.shape.batches), 2)), case.shape.batches]
    with settings(spark, partitions):
        for restart, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
            _append(sources, batches, slice(begin, end))
            if restart == 2:
                _each(runs, Run.forget_last_commit)
            _run_once(spark, runs, sources)
    _each(runs, lambda run: run.read_state(spark))
    return runs


def _append(sources: Iterable[FileSource], batches: Iterable[list[list[Event]]], part: slice) -> None:
    for source, stream in zip(sources, batches, strict=True):
        for batch in stream[part]:
            source.append(batch)


def _run_once(spark: SparkSession, runs: Iterable[Run], sources: Iterable[FileSource]) -> None:
    started = [(run, run.start(spark, [source.stream(spark) for source in sources])) for run in runs]
    for run, query in started:
        run.finish(query)


def _each(runs: Iterable[Run], action: Callable[[Run], None]) -> None:
    for run in runs:
        action(run)


def _batches(log: Path) -> list[int]:
    return [int(path.name) for path in log.iterdir() if path.name.isdigit()]


def _counters(operator: str) -> list[int]:
    values = json.loads(operator)
    return [values[name] for name in COUNTERS]
