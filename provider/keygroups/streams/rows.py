"""The rows of a task through its function: Arrow batches in, Arrow batches out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from keygroups.keyed.operator import Output
from keygroups.keyed.scope import NO_TIME, Scope
from keygroups.keyed.tables import Tables
from keygroups.partition.keys import Key
from keygroups.partition.task import PartitionTask
from keygroups.partition.view import View
from keygroups.segment.arrays import numpy
from keygroups.streams.context import Place, WorkerContext
from keygroups.streams.incoming import row_maker
from keygroups.streams.outgoing import batch_maker
from keygroups.streams.side_outputs import row_of, with_sides
from keygroups.streams.spec import Operator

OUTPUT_ROWS: Final = 10_000
"""Of a batch that goes to the JVM."""
PAGE: Final = 4096

KeysOf = Callable[[pa.RecordBatch, PartitionTask], list[Key]]
"""Gives the key of each row of a batch."""


def open_task(operator: Operator, view: View) -> PartitionTask:
    """Open the function of an operator on a version."""
    place = Place(view.partition, view.partitions, view.max_parallelism)

    def context(tables: Tables, scope: Scope) -> WorkerContext:
        return WorkerContext(operator.uid, tables, scope, operator.parameters, place)

    return PartitionTask(operator.function, view, operator.key, context, operator.uid)


def processed(
    operator: Operator, task: PartitionTask, batches: Iterable[pa.RecordBatch], keys_of: KeysOf
) -> Iterator[Output]:
    """Give what a function makes of the timers that are due, and then of batches."""
    memory, rows_of = _Memory(operator.memory_bytes), row_maker(operator.columns)
    for number, output in enumerate(task.begin(), 1):
        yield output
        if number % OUTPUT_ROWS == 0 and memory.is_exceeded():
            task.spill()
            memory.reset()
    for batch in batches:
        if batch.num_rows:
            times = _times(batch, operator.event_time)
            yield from task.process(zip(keys_of(batch, task), rows_of(batch), times, strict=True))
            if memory.is_exceeded():
                task.spill()
                memory.reset()


def in_batches(operator: Operator, outputs: Iterator[Output]) -> Iterator[pa.RecordBatch]:
    """Give rows as batches of the result."""
    make = batch_maker(with_sides(operator.output, operator.tags, operator.uid), operator.uid)
    rows = map(row_of(operator.output, operator.tags, operator.uid), outputs)
    while some := list(islice(rows, OUTPUT_ROWS)):
        yield make(some)


def _times(batch: pa.RecordBatch, column: int | None) -> list[int]:
    """The event time of each row in milliseconds."""
    if column is None:
        return [NO_TIME] * batch.num_rows
    micros = batch.column(column).cast(pa.int64())
    if micros.null_count:
        return [NO_TIME if value is None else value // 1000 for value in micros.to_pylist()]
    return list((numpy(pc.cast(micros, pa.int64())) // 1000).tolist())


class _Memory:
    """How much a worker's own memory has grown."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._first = self._start = self._own()

    def is_exceeded(self) -> bool:
        return self._own() - self._start > self._limit

    def reset(self) -> None:
        """What has been given back to Python, but not to the system, is used again; up to twice the limit in all."""
        self._start = min(max(self._start, self._own() - self._limit // 2), self._first + self._limit)

    @staticmethod
    def _own() -> int:
        """Bytes of pages that are not those of files."""
        resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
        return (int(resident) - int(shared)) * PAGE
