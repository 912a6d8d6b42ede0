"""The rows of a task through its function: Arrow batches in, Arrow batches out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from keygroups.functions.base import KeyedBatchFunction
from keygroups.keyed.operator import Output
from keygroups.keyed.scope import NO_TIME, Scope
from keygroups.keyed.tables import Tables
from keygroups.keyed.yielded import as_yielded
from keygroups.partition.keys import StoredKeys
from keygroups.partition.task import PartitionTask
from keygroups.partition.view import View
from keygroups.segment.arrays import arrow, numpy
from keygroups.state.grouped import Groups
from keygroups.streams.column_outputs import columns_maker, sliced
from keygroups.streams.context import Place, WorkerContext
from keygroups.streams.incoming import joined, row_maker
from keygroups.streams.memory import Memory, few_collections
from keygroups.streams.outgoing import batch_maker
from keygroups.streams.side_outputs import row_of, with_sides
from keygroups.streams.spec import Operator

OUTPUT_ROWS: Final = 10_000
"""Of a batch that goes to the JVM."""
OBJECT_BYTES: Final = 300
"""Of a key and an entry as Python objects."""
BATCH_SHARE: Final = 8
"""Batches are joined up to this part of a worker's memory, with what their keys have in the state: a key is looked for
once in each."""

MOST_BATCH_BYTES: Final = 256 << 20
"""Of a joined batch: the texts of a column of Arrow end at 2 GiB."""

KeysOf = Callable[[pa.RecordBatch], tuple[StoredKeys, Groups]]
"""Gives the different keys of a batch, and for each row the number of its key."""


def open_task(operator: Operator, view: View) -> PartitionTask:
    """Open the function of an operator on a version."""
    place = Place(view.partition, view.partitions, view.max_parallelism)

    def context(tables: Tables, scope: Scope) -> WorkerContext:
        return WorkerContext(operator.uid, tables, scope, operator.parameters, place)

    return PartitionTask(operator.function, view, operator.key, context, operator.uid)


def results(
    operator: Operator, task: PartitionTask, batches: Iterable[pa.RecordBatch], keys_of: KeysOf, *, is_bounded: bool
) -> Iterator[pa.RecordBatch]:
    """Give what a function makes of the timers that are due, of batches, and of the timers that are due after them.

    Args:
        operator: The function.
        task: What runs it.
        batches: The rows.
        keys_of: Finds their keys.
        is_bounded: Whether there are no more rows after these, in this batch or another: all timers fire.
    """
    memory = Memory(operator.memory_bytes)
    task.tables.pause_timers(partial(memory.bound, task), _timers_at_once(operator, task))
    end = task.end_of_input if is_bounded else task.end
    with few_collections():
        if isinstance(operator.function, KeyedBatchFunction):
            yield from in_batches(operator, task.begin())
            yield from _of_batches(operator, task, batches, keys_of, memory)
            yield from in_batches(operator, end())
        else:
            rows = chain.from_iterable(_of_rows(operator, task, batches, keys_of, memory))
            yield from in_batches(operator, chain(task.begin(), rows, end()))


def _of_rows(
    operator: Operator, task: PartitionTask, batches: Iterable[pa.RecordBatch], keys_of: KeysOf, memory: Memory
) -> Iterator[Iterator[Output]]:
    """Give what a function makes of each part of the rows, to be walked before the next one."""
    rows_of = row_maker(operator.columns)
    for batch in joined(batches, _batch_bytes(operator), lambda: task.tables.row_bytes() + OBJECT_BYTES):
        stored, groups = keys_of(batch)
        keys = task.see(stored)
        for start in range(0, batch.num_rows, OUTPUT_ROWS):
            part = batch.slice(start, OUTPUT_ROWS)
            row_keys = list(map(keys.__getitem__, groups[start : start + OUTPUT_ROWS].tolist()))
            rows = zip(row_keys, rows_of(part), _times(part, operator.event_time), strict=True)
            yield task.process(rows, part.num_rows)
            memory.bound(task)


def _of_batches(
    operator: Operator, task: PartitionTask, batches: Iterable[pa.RecordBatch], keys_of: KeysOf, memory: Memory
) -> Iterator[pa.RecordBatch]:
    make = columns_maker(operator)
    for batch in joined(batches, _batch_bytes(operator), task.tables.row_bytes):
        stored, groups = keys_of(batch)
        given = batch.select(list(range(len(operator.columns))))
        for output in task.process_batch(stored, groups, given, _millis(batch, operator.event_time)):
            yield from sliced(make(output), OUTPUT_ROWS)
        memory.bound(task)


def _batch_bytes(operator: Operator) -> int:
    return min(operator.memory_bytes // BATCH_SHARE, MOST_BATCH_BYTES)


def _timers_at_once(operator: Operator, task: PartitionTask) -> int:
    """How many timers fire before the worker's memory is looked at: their state is read together."""
    return max(min(_batch_bytes(operator) // (task.tables.row_bytes() + OBJECT_BYTES), OUTPUT_ROWS), 1)


def in_batches(operator: Operator, outputs: Iterator[Output]) -> Iterator[pa.RecordBatch]:
    """Give rows as batches of the result."""
    schema = with_sides(operator.output, operator.tags, operator.uid)
    make = batch_maker(schema, operator.uid)
    rows = map(row_of(operator.output, operator.tags, operator.uid), outputs) if operator.tags else outputs
    kept = as_yielded(rows, schema.fields)
    while some := list(islice(kept, OUTPUT_ROWS)):
        yield make(some)


def _times(batch: pa.RecordBatch, column: int | None) -> list[int]:
    """The event time of each row in milliseconds."""
    millis = _millis(batch, column)
    if millis is None:
        return [NO_TIME] * batch.num_rows
    return list(millis.fill_null(NO_TIME).to_pylist() if millis.null_count else numpy(millis).tolist())


def _millis(batch: pa.RecordBatch, column: int | None) -> pa.Array | None:
    if column is None:
        return None
    micros = batch.column(column).cast(pa.int64())
    millis = arrow(numpy(micros) // 1000)
    return pc.if_else(micros.is_valid(), millis, pa.scalar(None, pa.int64())) if micros.null_count else millis
