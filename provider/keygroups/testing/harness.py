"""A function without Spark: rows, watermarks and time in, rows out; snapshots, and another number of subtasks.

The function runs over the tables of a partition, as in a query: what they refuse, the harness refuses.

Source: ``KeyedOneInputStreamOperatorTestHarness`` of Flink.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql import types as spark

from keygroups.errors import SettingError
from keygroups.functions import KeyedBatchFunction, KeyedProcessFunction, OutputTag, TimeDomain
from keygroups.key_groups import compute_key_group_range_for_operator_index
from keygroups.keyed.metrics import Metrics
from keygroups.keyed.scope import NO_TIME, Scope
from keygroups.keyed.tables import Tables
from keygroups.partition.keys import Key, StoredKeys
from keygroups.partition.task import PartitionTask
from keygroups.partition.view import View
from keygroups.state.arrow import plain
from keygroups.state.errors import StateError
from keygroups.streams.declare import require_storable
from keygroups.streams.incoming import distinct
from keygroups.testing.keys import KEY, NO_SCHEMA, KeyRows, key_group, key_of, schema_of
from keygroups.testing.kinds import Kinds
from keygroups.testing.outputs import collector
from keygroups.testing.reading import number_of_keys, number_of_timers, state_of
from keygroups.testing.snapshots import Restored, Snapshot, owner, restored, saved
from keygroups.testing.task import Task, TaskContext


class KeyedHarness(Kinds):
    """One subtask of a keyed function, which is opened at once.

    The types of the key's columns are those of the first row, and it is opened again if they are not texts.

    Args:
        function: The function.
        key: Column of the key, several columns, or a callable that gives the key of a row.
        output_type: Columns of what it yields, as for ``process``. Without it rows are taken as they are.
        side_outputs: The side outputs that it writes to.
        restore: Snapshots of all subtasks of an earlier run, of which this one takes over its key groups.
        now: Processing time at the start, in milliseconds since 1970.
        **task: Fields of ``Task``: name, parallelism, subtask, max_parallelism, parameters.

    Attributes:
        output: Rows of the main output.

    Raises:
        StateError: A state has a name that Spark does not take, or a restored state has another kind or type.
    """

    def __init__(
        self,
        function: KeyedProcessFunction | KeyedBatchFunction,
        key: str | Sequence[str] | Callable[[Any], Any],
        output_type: str | spark.DataType | None = None,
        *,
        side_outputs: Sequence[OutputTag] = (),
        restore: Iterable[Snapshot] = (),
        now: int = 0,
        **task: Any,
    ) -> None:
        """See the class."""
        snapshots = list(restore)
        self._task = Task(**{**_max_parallelism(snapshots, task), **task})
        self._owned = compute_key_group_range_for_operator_index(
            self._task.max_parallelism, self._task.parallelism, self._task.subtask
        )
        self._function, self._key_of = function, key_of(key)
        self._key_name = key if isinstance(key, str) else KEY
        self._now, self._watermark = now, NO_TIME
        self._outputs = collector(function, self._task.name, output_type, side_outputs)
        self._side: dict[str, list[Any]] = {}
        self.output: list[Any] = []
        self._folder = Path(mkdtemp(prefix="keygroups-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, True)
        groups = range(self._owned.start, self._owned.end + 1)
        self._before = restored(snapshots, groups, self._folder)
        self._keys = {k: at for one in snapshots for k, at in one.keys.items() if at >> 48 in groups}
        self._key_schema = next((one.key_schema for one in snapshots if one.key_schema), None)
        self._open(self._key_schema or NO_SCHEMA)

    @property
    def metrics(self) -> Metrics:
        """Counters and gauges of the function."""
        return self._context.metrics

    def process(self, row: Any, timestamp: int = NO_TIME) -> None:
        """Give the function a row: a ``Row``, or a dict, which becomes one.

        Raises:
            StateError: The row's key belongs to another subtask, or has another type than the first one.
        """
        self._batch([row], None if timestamp == NO_TIME else [timestamp])

    def process_batch(self, rows: Sequence[Any], timestamps: Sequence[int] | None = None) -> None:
        """Give the function rows at once. What a function of batches yields becomes rows of ``output``.

        Args:
            rows: ``Row``s or dicts with the same columns.
            timestamps: The time of each row.

        Raises:
            StateError: A row's key belongs to another subtask, or has another type than the first one.
        """
        self._batch(rows, timestamps)

    def process_all(self, rows: Iterable[Any]) -> None:
        """Give the function rows without a time, in one batch."""
        self._batch(list(rows), None)

    def advance_watermark(self, watermark: int) -> None:
        """Let event time pass, and fire its timers."""
        self._watermark = max(watermark, self._watermark)
        self._fire()

    def advance_processing_time(self, now: int) -> None:
        """Let processing time pass, and fire its timers."""
        self._now = now
        self._fire()

    def side_output(self, tag: OutputTag) -> list[Any]:
        """Give the rows of a side output."""
        return self._side.get(tag.tag_id, [])

    def state(self, name: str, key: Any) -> Any:
        """Return what a key has in a state, without a renewal of its life: None, or an empty list or dict, for nothing.

        An aggregating or folding state has its accumulator.

        Raises:
            StateError: The function has no such state.
        """
        return state_of(self._tables, name, self._seen(key), self._now)

    def number_of_keys(self, state: str) -> int:
        """Give how many keys have something in a state.

        Raises:
            StateError: The function has no such state.
        """
        keys = self._running.see(StoredKeys.of(list(self._keys), list(self._keys.values())))
        return number_of_keys(self._tables, state, keys)

    def number_of_timers(self, domain: TimeDomain) -> int:
        """Give how many timers of a clock are set.

        Raises:
            StateError: It is no ``TimeDomain``.
        """
        return number_of_timers(self._tables, domain)

    def snapshot(self) -> Snapshot:
        """Give the state as it is now: what comes later does not change it."""
        self._tables.spill()
        self._tables.drop_expired(self._now)
        families, rows = saved(self._tables, self._before, self._folder)
        families |= owner(self._task.name, self._key_schema or NO_SCHEMA)
        return Snapshot(families, rows, dict(self._keys), self._key_schema, self._task.max_parallelism)

    def close(self) -> None:
        """Close the function, and delete its files."""
        self._running.close()
        self._remove()

    def _open(self, schema: spark.StructType) -> None:
        self._key_rows = KeyRows(schema, self._task.max_parallelism)
        runs, families = self._before.runs(), self._before.families
        view = View(str(self._folder), runs, families, self._task.max_parallelism, self._watermark, self._now)
        self._running = PartitionTask(self._function, view, schema, self._made, self._task.name)
        self._tables = self._running.tables
        try:
            require_storable(self._context.descriptors(), self._task.name)
        except BaseException:
            self.close()
            raise

    def _made(self, tables: Tables, scope: Scope) -> TaskContext:
        self._context = TaskContext(self._task, tables, scope)
        return self._context

    def _batch(self, given: Sequence[Any], timestamps: Sequence[int] | None) -> None:
        rows = [Row(**row) if isinstance(row, dict) else row for row in given]
        stored = [self._stored(self._key_of(row)) for row in rows]
        self._fire()
        self._keys.update(stored)
        if rows:
            self._collect(self._given(stored, rows, timestamps))
        self._collect(self._outputs.rows(self._running.advance_processing_time(self._now)))

    def _given(
        self, stored: list[tuple[bytes, int]], rows: list[Any], timestamps: Sequence[int] | None
    ) -> Iterator[tuple[OutputTag | None, Any]]:
        """What the function gives for rows."""
        if isinstance(self._function, KeyedBatchFunction):
            return self._outputs.columns(self._columns(stored, rows, timestamps))
        times = [NO_TIME] * len(rows) if timestamps is None else timestamps
        keys = map(self._key, stored)
        return self._outputs.rows(self._running.process(zip(keys, rows, times, strict=True), len(rows)))

    def _columns(
        self, stored: list[tuple[bytes, int]], rows: list[Any], timestamps: Sequence[int] | None
    ) -> Iterator[Any]:
        data, locators = zip(*stored, strict=True)
        keys, groups = distinct(pa.array(data, pa.binary()), pa.array(locators, pa.int64()))
        times = None if timestamps is None else pa.array(timestamps, pa.int64())
        batch = pa.RecordBatch.from_pylist([plain(row) for row in rows])
        return self._running.process_batch(keys, groups, batch, times)

    def _fire(self) -> None:
        self._collect(self._outputs.rows(self._running.advance(self._now, self._watermark)))

    def _collect(self, outputs: Iterable[tuple[OutputTag | None, Any]]) -> None:
        for tag, row in outputs:
            (self.output if tag is None else self._side.setdefault(tag.tag_id, [])).append(row)

    def _stored(self, key: Any) -> tuple[bytes, int]:
        """A key as it is stored; the first one tells the types of all."""
        if not self._owns(key):
            found = key_group(key, self._task.max_parallelism)
            raise StateError("the key belongs to another subtask", expected=self._owned, found=found)
        if self._key_schema is None:
            schema = schema_of(key, self._key_name)
            if schema != NO_SCHEMA:
                self._running.close()
                self._before = Restored({}, [])
                self._open(schema)
            self._key_schema = schema
        return self._key_rows.stored(key)

    def _seen(self, key: Any) -> Key:
        return self._key(self._stored(key))

    def _key(self, stored: tuple[bytes, int]) -> Key:
        (key,) = self._running.see(StoredKeys.of([stored[0]], [stored[1]]))
        return key

    def _owns(self, key: Any) -> bool:
        return key_group(key, self._task.max_parallelism) in self._owned


def _max_parallelism(snapshots: Sequence[Snapshot], task: dict[str, Any]) -> dict[str, int]:
    """The number of key groups that the snapshots have, which cannot change."""
    wanted = task.get("max_parallelism")
    for snapshot in snapshots:
        wanted = wanted or snapshot.max_parallelism
        if snapshot.max_parallelism != wanted:
            raise SettingError(
                "the maximum parallelism of a snapshot cannot change", expected=snapshot.max_parallelism, found=wanted
            )
    return {} if wanted is None else {"max_parallelism": wanted}
