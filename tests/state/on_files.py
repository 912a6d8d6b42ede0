"""A harness whose states lie in the files of a store: each row is a batch, and each batch a version."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql import types as spark

from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.decoding import decode
from keygroups.functions import KeyedBatchFunction, KeyedProcessFunction, OutputTag, TimeDomain
from keygroups.keyed.operator import Output, tagged
from keygroups.keyed.scope import NO_TIME
from keygroups.partition.keys import StoredKeys, hashed_locator
from keygroups.partition.maps import FileMaps
from keygroups.partition.tables import TIMER_FAMILIES, WRITTEN
from keygroups.partition.task import PartitionTask
from keygroups.partition.view import StoredFamily, StoredPiece, View, Written, WrittenFamily
from keygroups.rows.encode import row_encoder
from keygroups.segment.chunk import Chunk
from keygroups.state.arrow import plain
from keygroups.store.version import Version, VersionKey
from keygroups.streams.incoming import distinct
from keygroups.testing.batches import rows_of
from keygroups.testing.task import Task, TaskContext
from support.local_store import LocalStore

KEY_GROUPS = 128


@dataclass(frozen=True)
class FileSnapshot:
    """A checkpoint of its own, and a version of it."""

    folder: Path
    version: VersionKey
    key_schema: spark.StructType | None


class FileHarness:
    """Has the methods of ``KeyedHarness``, for one subtask.

    Attributes:
        spill_every: After so many rows a task moves its writes to disk; 0 for never.
        spill_while_firing: It does so after so many timers, and reads as many at once; 0 for never.
        most_waiting: How many timers were due and in memory when it did.
    """

    def __init__(
        self,
        function: KeyedProcessFunction | KeyedBatchFunction,
        key: Callable[[Any], Any],
        *,
        restore: Sequence[FileSnapshot] = (),
        now: int = 0,
        **task: Any,
    ) -> None:
        self._function, self._key_of, self._task = function, key, Task(**task)
        self._folder = Path(mkdtemp())
        self._key_schema: spark.StructType | None = None
        for snapshot in restore:
            shutil.copytree(snapshot.folder, self._folder / "checkpoint")
            self._key_schema = snapshot.key_schema
        self._local = LocalStore(self._folder)
        begin = restore[0].version if restore else VersionKey(0)
        self._version: Version = self._local.call(lambda downloads: self._local.store.load(begin, downloads))
        self._now, self._watermark = now, NO_TIME
        self._side: dict[str, list[Any]] = {}
        self._seen: set[bytes] = set()
        self.output: list[Any] = []
        self.metrics: Any = None
        self.next_timer: int | None = None
        self.spill_every = 0
        self.spill_while_firing = self.most_waiting = 0
        self._batch([])

    def process(self, row: Any, timestamp: int = NO_TIME) -> None:
        row = Row(**row) if isinstance(row, dict) else row
        self._batch([(self._key_of(row), row, timestamp)])

    def process_all(self, rows: Iterable[Any]) -> None:
        self._batch([(self._key_of(row), row, NO_TIME) for row in rows])

    def process_batch(self, *batches: Sequence[Any]) -> None:
        """Batches of rows that one task gets, each at once."""
        with self._task_of(self._schema([(self._key_of(batches[0][0]), None, 0)])) as (task, schema):
            self._collect(task.begin())
            for rows in batches:
                encoded = row_encoder(schema)([_columns(self._key_of(row)) for row in rows])
                locators = pa.array([hashed_locator(0, data) for data in encoded])
                stored, groups = distinct(pa.array(encoded, pa.binary()), locators)
                self._seen.update(encoded)
                for output in task.process_batch(
                    stored, groups, pa.RecordBatch.from_pylist(list(map(plain, rows))), None
                ):
                    self._collect(rows_of(output))
                if self.spill_every:
                    task.spill()
            self._collect(task.end())

    def advance_watermark(self, watermark: int) -> None:
        self._watermark = max(watermark, self._watermark)
        self._batch([])

    def advance_processing_time(self, now: int) -> None:
        self._now = now
        self._batch([])

    def side_output(self, tag: OutputTag) -> list[Any]:
        return self._side.get(tag.tag_id, [])

    def number_of_keys(self, state: str) -> int:
        return next((f.num_keys for f in self._version.catalog.families if f.name == state), 0)

    def number_of_timers(self, domain: TimeDomain) -> int:
        return self.number_of_keys(TIMER_FAMILIES[domain])

    def stored(self, state: str) -> dict[Any, Any]:
        """What each key has in a state."""
        view = self._view()
        task = PartitionTask(self._function, view, self._schema([]), self._context)
        tables = {kept.family.name: kept.table for kept in task.tables.kept}
        seen = task.keys.see(_stored(list(self._seen)))
        table: Any = tables[state]
        read = (lambda key: list(table.items(key))) if isinstance(table, FileMaps) else table.read
        return {key.value: found for key in seen if (found := read(key))}

    def snapshot(self) -> FileSnapshot:
        folder = Path(mkdtemp()) / "checkpoint"
        shutil.copytree(self._folder / "checkpoint", folder)
        return FileSnapshot(folder, self._version.key, self._key_schema)

    def compact(self) -> None:
        """Merge the runs of the store if it wants to, as its maintenance does."""
        compacted = self._local.merge_piece()
        if compacted is not None:
            self._version, upload = compacted
            if upload is not None:
                self._local.upload(upload)
                self._local.store.uploaded(upload.name, success=True)

    def restart(self) -> None:
        """Go on from the checkpoint in a new process."""
        store, key = self._local.reopened(), self._version.key
        self._version = self._local.call(lambda downloads: store.load(key, downloads))

    def close(self) -> None:
        """Nothing is open between batches."""
        shutil.rmtree(self._folder)

    def _batch(self, rows: list[tuple[Any, Any, int]]) -> None:
        with self._task_of(self._schema(rows)) as (task, schema):
            if self.spill_while_firing:
                self._spill_timers(task)
            self._collect(task.begin())
            encoded = row_encoder(schema)([_columns(key) for key, _, _ in rows])
            for number, ((_, row, timestamp), data) in enumerate(zip(rows, encoded, strict=True)):
                if self.spill_every and number % self.spill_every == 0:
                    task.spill()
                (key,) = task.keys.see(_stored([data]))
                self._seen.add(data)
                self._collect(task.process([(key, row, timestamp)], 1))
            self._collect(task.end())

    def _spill_timers(self, task: PartitionTask) -> None:
        queues = task.tables.timers.values()

        def pause() -> None:
            self.most_waiting = max(self.most_waiting, sum(len(timers.waiting()) for timers in queues))
            task.spill()

        task.tables.pause_timers(pause, self.spill_while_firing)

    @contextmanager
    def _task_of(self, schema: spark.StructType) -> Iterator[tuple[PartitionTask, spark.StructType]]:
        """A task, whose writes become a version."""
        view = self._view()
        with closing(PartitionTask(self._function, view, schema, self._context)) as task:
            yield task, schema
        written = decode((Path(view.folder) / WRITTEN).read_bytes(), Written)
        self.next_timer = written.next_timer
        self._commit(written)

    def _view(self) -> View:
        families = {
            f.name: StoredFamily(f.id, f.key_schema, f.value_schema, f.lists) for f in self._version.catalog.families
        }
        runs = tuple(
            tuple(StoredPiece(str(piece.segment.path), piece.span) for piece in run.pieces)
            for run in self._version.plan
        )
        return View(mkdtemp(dir=self._folder), runs, families, KEY_GROUPS, self._watermark, self._now)

    def _schema(self, rows: list[tuple[Any, Any, int]]) -> spark.StructType:
        """Schema of the keys, which the first row decides on."""
        if rows and self._key_schema is None:
            self._key_schema = spark._infer_schema(tuple(_columns(rows[0][0])))
        return self._key_schema or spark.StructType([spark.StructField("_1", spark.StringType())])

    def _context(self, tables: Any, scope: Any) -> TaskContext:
        context = TaskContext(self._task, tables, scope)
        self.metrics = context.metrics
        return context

    def _collect(self, outputs: Iterable[Output]) -> None:
        for tag, row in map(tagged, outputs):
            (self.output if tag is None else self._side.setdefault(tag.tag_id, [])).append(row)

    def _commit(self, written: Written) -> None:
        catalog, store = self._version.catalog, self._local.store
        for family in written.families:
            catalog = _with(catalog, family)
        numbers = {family.name: family.id for family in catalog.families}
        rounds = max((len(family.chunks) for family in written.families), default=0)
        segments: list[str] = []
        for number in range(rounds - 1):
            chunks = [_chunk(f, numbers, number) for f in written.families if len(f.chunks) > number + 1]
            segments.insert(0, store.spill("session", chunks, catalog).id)
        last = [_chunk(f, numbers, -1) for f in written.families if f.chunks]
        self._version, uploads = store.commit(store.take("session", segments, last), self._version, catalog)
        for upload in uploads:
            self._local.upload(upload)


def _stored(data: list[bytes]) -> StoredKeys:
    return StoredKeys.of(data, [hashed_locator(0, one) for one in data])


def _columns(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _chunk(family: WrittenFamily, numbers: dict[str, int], number: int) -> Chunk:
    chunk = family.chunks[number]
    return Chunk(numbers[family.name], chunk.path, chunk.rows, chunk.key_bytes, chunk.value_bytes)


def _with(catalog: Catalog, family: WrittenFamily) -> Catalog:
    """The catalog with a family, and the keys that it has by now."""
    known = {one.name: one for one in catalog.families if not (one.name == family.name and family.replaces)}
    number = known[family.name].id if family.name in known else catalog.next_family
    keys = (known[family.name].num_keys if family.name in known else 0) + family.new_keys
    order = {"keyStateEncoderType": "RangeKeyScanStateEncoderSpec", "orderingOrdinals": [0]}
    encoder = json.dumps(order if family.range_columns else {})
    changed = Family(
        number, family.name, family.key_schema, family.value_schema, encoder, "unsaferow", family.lists, num_keys=keys
    )
    families = {one.id: one for one in (*known.values(), changed)}
    return Catalog(tuple(families[id_] for id_ in sorted(families)), max(catalog.next_family, number + 1))
