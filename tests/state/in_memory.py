"""A harness whose states are dicts: what the real tables are compared with."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
from pyspark.sql import Row

from keygroups.errors import SettingError
from keygroups.functions import KeyedBatchFunction, KeyedProcessFunction, OutputTag, TimeDomain
from keygroups.java_hash import java_hash
from keygroups.key_groups import compute_key_group_for_key_hash, compute_key_group_range_for_operator_index
from keygroups.keyed.forms import frozen
from keygroups.keyed.memory import Kept, MemoryTables
from keygroups.keyed.operator import KeyedOperator, Output, tagged
from keygroups.keyed.scope import NO_KEY, NO_TIME, Scope
from keygroups.keyed.timer_queue import KeyTimers, TimerQueue
from keygroups.keyed.yielded import copied
from keygroups.state.arrow import inferred, plain
from keygroups.state.batch_keys import BatchKeys
from keygroups.state.errors import StateError
from keygroups.testing.batches import rows_of
from keygroups.testing.task import Task, TaskContext

KEY = "key"
"""The column of a key that a callable gave."""


def batch_keys(keys: Sequence[Any], names: Sequence[str], scope: Scope) -> BatchKeys:
    """Give the keys of a batch. Tables in memory know them by themselves.

    Args:
        keys: That of each row.
        names: Columns of a key; empty if a callable gave it.
        scope: Has the current key.
    """
    found: dict[Any, tuple[int, Any]] = {}
    groups = [found.setdefault(frozen(key), (len(found), key))[0] for key in keys]
    ordered = [key for _, key in found.values()]

    def one_by_one() -> Iterator[Any]:
        before = scope.key
        try:
            for key in ordered:
                scope.key = key
                yield key
        finally:
            scope.key = before

    return BatchKeys(
        len(ordered), np.array(groups, np.int64), lambda: _key_columns(ordered, names), one_by_one, ordered
    )


@dataclass(frozen=True)
class MemorySnapshot:
    """The state of one subtask.

    Attributes:
        states: Each state by its name.
        timers: Times and keys of each clock's timers.
        max_parallelism: Number of key groups.
    """

    states: Mapping[str, Kept]
    timers: Mapping[TimeDomain, Sequence[tuple[int, Any]]]
    max_parallelism: int


class MemoryHarness:
    """One subtask of a keyed function, which is opened at once.

    Args:
        function: The function.
        key: Column of the key, several columns, or a callable that gives the key of a row.
        restore: Snapshots of all subtasks of an earlier run, of which this one takes over its key groups.
        now: Processing time at the start, in milliseconds since 1970.
        **task: Fields of ``Task``: name, parallelism, subtask, max_parallelism, parameters.

    Attributes:
        output: Rows of the main output.
        metrics: Counters and gauges of the function.

    Raises:
        StateError: A restored state has another kind or type than the function's.
    """

    def __init__(
        self,
        function: KeyedProcessFunction | KeyedBatchFunction,
        key: str | Sequence[str] | Callable[[Any], Any],
        *,
        restore: Iterable[MemorySnapshot] = (),
        now: int = 0,
        **task: Any,
    ) -> None:
        """See the class."""
        self._task = Task(**task)
        self._key_of = key if callable(key) else _columns(key)
        self._key_names = [] if callable(key) else [key] if isinstance(key, str) else list(key)
        self._scope = Scope(now=now)
        self._owned = compute_key_group_range_for_operator_index(
            self._task.max_parallelism, self._task.parallelism, self._task.subtask
        )
        snapshots = list(restore)
        self._tables = MemoryTables(self._restored(snapshots), now)
        self._queues = {domain: TimerQueue() for domain in TimeDomain}
        timers = KeyTimers(self._scope, self._queues[TimeDomain.EVENT_TIME], self._queues[TimeDomain.PROCESSING_TIME])
        for snapshot in snapshots:
            self._restore_timers(snapshot)
        self._side: dict[str, list[Any]] = {}
        self.output: list[Any] = []
        self._operator = KeyedOperator(function, self._scope, timers)
        context = TaskContext(self._task, self._tables, self._scope)
        self.metrics = context.metrics
        try:
            self._operator.open(context)
            context.seal()
        except BaseException:
            self.close()
            raise

    def process(self, row: Any, timestamp: int = NO_TIME) -> None:
        """Give the function a row: a ``Row``, or a dict, which becomes one.

        Raises:
            StateError: The row's key belongs to another subtask.
        """
        row = Row(**row) if isinstance(row, dict) else row
        key = self._key_of(row)
        self._require_own(key)
        self._collect(self._operator.process([(key, row, timestamp)]))

    def process_batch(self, rows: Sequence[Any], timestamps: Sequence[int] | None = None) -> None:
        """Give a function of batches rows at once. What it yields becomes rows of ``output``.

        Args:
            rows: ``Row``s or dicts with the same columns.
            timestamps: The time of each row.

        Raises:
            StateError: A row's key belongs to another subtask.
        """
        given = [Row(**row) if isinstance(row, dict) else row for row in rows]
        keys = [self._key_of(row) for row in given]
        for key in keys:
            self._require_own(key)
        batch = pa.RecordBatch.from_pylist([plain(row) for row in given])
        times = None if timestamps is None else pa.array(timestamps, pa.int64())
        outputs = self._operator.process_batch(batch_keys(keys, self._key_names, self._scope), batch, times)
        self._collect(chain.from_iterable(map(rows_of, outputs)))

    def process_all(self, rows: Iterable[Any]) -> None:
        """Give the function rows without a time."""
        for row in rows:
            self.process(row)

    def advance_watermark(self, watermark: int) -> None:
        """Let event time pass, and fire its timers."""
        self._collect(self._operator.advance_watermark(watermark))

    def advance_processing_time(self, now: int) -> None:
        """Let processing time pass, and fire its timers."""
        self._collect(self._operator.advance_processing_time(now))

    def side_output(self, tag: OutputTag) -> list[Any]:
        """Give the rows of a side output."""
        return self._side.get(tag.tag_id, [])

    def number_of_keys(self, state: str) -> int:
        """Give how many keys have something in a state."""
        return len(self._tables.kept[state].rows)

    def number_of_timers(self, domain: TimeDomain) -> int:
        """Give how many timers of a clock are set."""
        return len(self._queues[domain].all())

    def snapshot(self) -> MemorySnapshot:
        """Give the state as it is now: what comes later does not change it."""
        states = {name: Kept(kept.descriptor, copy.deepcopy(kept.rows)) for name, kept in self._tables.kept.items()}
        timers = {domain: queue.all() for domain, queue in self._queues.items()}
        return MemorySnapshot(states, timers, self._task.max_parallelism)

    def close(self) -> None:
        """Close the function."""
        self._operator.close()

    def _collect(self, outputs: Iterable[Output]) -> None:
        for tag, row in map(tagged, map(copied, outputs)):
            (self.output if tag is None else self._side.setdefault(tag.tag_id, [])).append(row)
        self._scope.key = NO_KEY

    def _require_own(self, key: Any) -> None:
        if not self._owns(key):
            raise StateError("the key belongs to another subtask", expected=self._owned, found=self._group(key))

    def _restored(self, snapshots: Iterable[MemorySnapshot]) -> dict[str, Kept]:
        found: dict[str, Kept] = {}
        for snapshot in snapshots:
            if snapshot.max_parallelism != self._task.max_parallelism:
                raise SettingError(
                    "the maximum parallelism of a snapshot cannot change",
                    expected=snapshot.max_parallelism,
                    found=self._task.max_parallelism,
                )
            for name, kept in snapshot.states.items():
                rows = {key: row for key, row in kept.rows.items() if self._owns(key)}
                earlier = found.get(name, replace(kept, rows={}))
                found[name] = replace(kept, rows=earlier.rows | copy.deepcopy(rows))
        return found

    def _restore_timers(self, snapshot: MemorySnapshot) -> None:
        for domain, timers in snapshot.timers.items():
            for timestamp, key in timers:
                if self._owns(key):
                    self._queues[domain].add(timestamp, key)

    def _owns(self, key: Any) -> bool:
        return self._group(key) in self._owned

    def _group(self, key: Any) -> int:
        return compute_key_group_for_key_hash(_hash(frozen(key)), self._task.max_parallelism)


def _columns(names: str | Sequence[str]) -> Callable[[Any], Any]:
    """What gives the key of a row: a value for one column, a row for several."""
    if isinstance(names, str):
        return lambda row: row[names]
    make = Row(*names)
    return lambda row: make(*(row[name] for name in names))


def _hash(key: Any) -> int:
    """Java's hash code, and for a type that has none here a number that is the same in each process."""
    try:
        return java_hash(key)
    except SettingError:
        return crc32(repr(key).encode())


def _key_columns(keys: Sequence[Any], names: Sequence[str]) -> dict[str, pa.Array]:
    if len(names) == 1 or not isinstance(keys[0], Row):
        return {names[0] if names else KEY: inferred(keys)}
    return {name: inferred([key[name] for key in keys]) for name in keys[0].__fields__}
