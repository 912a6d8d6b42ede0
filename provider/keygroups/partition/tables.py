"""The tables of a task, and how their writes get to the store."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.functions.timers import TimeDomain
from keygroups.partition.chunks import ChunkColumns, ChunkRows
from keygroups.partition.evolution import reader_of, rewritten
from keygroups.partition.expiry import expired, has_looked_at, window_of
from keygroups.partition.forms import has_same_rows, state_kind, stored_kind, stored_schema
from keygroups.partition.keys import Keys
from keygroups.partition.lists import FileLists
from keygroups.partition.maps import FileMaps
from keygroups.partition.sealed import Sealed
from keygroups.partition.segments import Segments
from keygroups.partition.timers import FileTimers, timer_schema
from keygroups.partition.values import FileValues
from keygroups.partition.view import StoredFamily, View, Written, WrittenChunk, WrittenFamily
from keygroups.segment.chunk import Chunk, read_chunk
from keygroups.segment.file import Segment, write_segment
from keygroups.segment.merge import merge_runs
from keygroups.segment.split import split_blocks
from keygroups.state.descriptors import MapStateDescriptor, StateDescriptor
from keygroups.state.errors import StateError

TABLE = TypeVar("TABLE", FileValues, FileLists, FileMaps)
WRITTEN = "written.json"
MOST_SPILLED = 8
"""Segments of a table's own writes: more are merged, since each takes a file descriptor and a look at each lookup."""
BLOCK_BYTES = 8 << 20
TIMER_FAMILIES = {
    TimeDomain.EVENT_TIME: "$eventTimers_timestampToKey",
    TimeDomain.PROCESSING_TIME: "$procTimers_timestampToKey",
}
"""Names that Spark's transformWithState uses: the partition of their rows is that of the key in them."""
OPERATOR = "$operator_"
"""Begins the name of a family without rows that says whose state it is."""
TIMER_VALUE = spark.StructType([spark.StructField("__dummy__", spark.NullType())])


@dataclass
class KeptTable:
    """A table, and what was written of it so far.

    Attributes:
        chunks: Files for the store, oldest first.
        new_keys: Keys that the family has more than before.
        rewritten: The version's rows in another form.
        spilled: Rows that are no longer in memory, newest first.
        descriptor: Its state; None of timers.
    """

    table: FileValues | FileLists | FileMaps | FileTimers
    family: WrittenFamily
    chunks: list[WrittenChunk] = field(default_factory=list)
    new_keys: int = 0
    rewritten: list[Segment] = field(default_factory=list)
    spilled: list[Segment] = field(default_factory=list)
    descriptor: StateDescriptor | None = None


class FileTables:
    """``Tables`` over the files of a version.

    Args:
        view: The version.
        keys: The current keys.
        key_schema: Schema of the keys.
        uid: Name of the operator.

    Attributes:
        timers: The timers of each clock.
        kept: All tables.
        rows: How many rows the task has had so far.
    """

    def __init__(self, view: View, keys: Keys, key_schema: spark.StructType, uid: str) -> None:
        """Map the version's files.

        Raises:
            StateError: The version is another operator's.
        """
        self._view, self._keys, self._key_schema, self._uid = view, keys, key_schema, uid
        _require_same_operator(view, uid)
        self._segments = Segments(view.runs)
        self.kept: list[KeptTable] = []
        self.rows = 0
        self.timers = {domain: self._timers(name) for domain, name in TIMER_FAMILIES.items()}

    def values(self, descriptor: StateDescriptor) -> FileValues:
        """Make the table of a state with one entry."""
        table = FileValues(descriptor, self._sealed(descriptor.name), self._keys)
        self._keep(table, descriptor.name, self._key_schema, table.form.schema)
        return self._in_form(table, descriptor)

    def lists(self, descriptor: StateDescriptor) -> FileLists:
        """Make the table of a list state."""
        table = FileLists(descriptor, self._sealed(descriptor.name))
        self._keep(table, descriptor.name, self._key_schema, table.form.schema, lists=True)
        return self._in_form(table, descriptor)

    def maps(self, descriptor: MapStateDescriptor) -> FileMaps:
        """Make the table of a map state."""
        table = FileMaps(descriptor, self._sealed(descriptor.name))
        schema = spark.StructType(
            [spark.StructField("key", self._key_schema), spark.StructField("userKey", table.names.schema)]
        )
        self._keep(table, descriptor.name, schema, table.form.schema, prefix_columns=1)
        return self._in_form(table, descriptor)

    def spill(self) -> None:
        """Move all writes to disk, and forget what was read."""
        for kept in self.kept:
            self._move(kept)
        self._keys.forget(key for timers in self.timers.values() for key in timers.waiting())

    def pause_timers(self, pause: Callable[[], None], window: int) -> None:
        """Have a function called while many timers fire, after so many each time, and no more read at once."""
        for timers in self.timers.values():
            timers.pause, timers.window = pause, window

    def row_bytes(self) -> int:
        """About what one key has in all states that are read as a whole."""
        return sum(
            kept.table.sealed.row_bytes() for kept in self.kept if isinstance(kept.table, FileValues | FileLists)
        )

    def _move(self, kept: KeptTable) -> None:
        """Move the writes of a table to a segment over those of the version."""
        segment = self._sorted(kept, kept.table.take())
        if segment is None:
            return
        kept.spilled.insert(0, segment)
        if len(kept.spilled) > MOST_SPILLED:
            folder = Path(self._view.folder)
            runs = [spilled.blocks for spilled in kept.spilled]
            kept.spilled = [merge_runs(folder, runs, bottom=False, block_bytes=BLOCK_BYTES)]
        kept.table.sealed.put_over([spilled.blocks for spilled in kept.spilled])

    def finish(self, metrics: dict[str, int]) -> None:
        """Write what was not written yet, and tell the store of all files."""
        next_timer = self.timers[TimeDomain.PROCESSING_TIME].earliest(self._view.now)
        for kept in self.kept:
            rows = kept.table.take()
            self._write(kept, rows)
            self._write_expired(kept, rows)
        families = tuple(
            msgspec.structs.replace(kept.family, new_keys=kept.new_keys, chunks=tuple(kept.chunks))
            for kept in self.kept
            if kept.chunks or not kept.family.internal
        )
        owner = WrittenFamily(
            OPERATOR + self._uid, self._key_schema.json(), TIMER_VALUE.json(), 0, 0, False, True, new_keys=0, chunks=()
        )
        written = Written((owner, *families), next_timer, metrics)
        Path(self._view.folder, WRITTEN).write_bytes(msgspec.json.encode(written))
        self.close()

    def _write_expired(self, kept: KeptTable, written: ChunkRows | ChunkColumns) -> None:
        """Remove expired rows that nobody has read, in a window of those that are stored."""
        ttl = None if kept.descriptor is None else kept.descriptor.ttl
        if ttl is None or kept.descriptor is None:
            return
        state, now = (self._uid, self._view.partition, kept.family.name), self._view.now
        window = window_of(ttl, self.rows, state, now)
        if window == 0:
            return
        keys = written.keys.data if isinstance(written, ChunkColumns) else pa.array(written.keys, pa.binary())
        sealed, lists, kind = kept.table.sealed, kept.family.lists, kept.descriptor.type
        for gone in expired(sealed, ttl, now, window, keys, lists, kind):
            self._write(kept, gone)
        if window is None:
            has_looked_at(state, now)

    def close(self) -> None:
        """Give back files and memory: the function may keep its states."""
        for kept in self.kept:
            kept.table.sealed.replace([])
            kept.spilled, kept.rewritten = [], []
            if isinstance(kept.table, FileMaps):
                kept.table.forget()
        self._segments.close()

    def _timers(self, name: str) -> FileTimers:
        table = FileTimers(self._sealed(name), self._keys, self._view.max_parallelism)
        self._keep(table, name, timer_schema(self._key_schema), TIMER_VALUE, range_columns=1, internal=True)
        return table

    def _sealed(self, name: str) -> Sealed:
        stored = self._view.families.get(name)
        return self._segments.family(None if stored is None else stored.number)

    def _in_form(self, table: TABLE, descriptor: StateDescriptor) -> TABLE:
        """The table, whose stored rows are rewritten if they have another form."""
        kept = self._kept_of(table)
        kept.descriptor = descriptor
        stored = self._view.families.get(descriptor.name)
        if stored is None:
            return table
        schema = stored_schema(stored.value_schema)
        _require_same_state(stored, kept.family, schema, descriptor)
        if has_same_rows(schema, table.form.schema):
            return table
        read = reader_of(schema, descriptor, self._view.now)
        chunks = rewritten(table.sealed, read, table.form, lists=isinstance(table, FileLists))
        kept.family = msgspec.structs.replace(kept.family, replaces=True)
        for rows in chunks:
            kept.new_keys += len(rows.keys)
            if segment := self._sorted(kept, rows):
                kept.rewritten.append(segment)
        table.sealed.replace([segment.blocks for segment in kept.rewritten])
        return table

    def _keep(
        self,
        table: FileValues | FileLists | FileMaps | FileTimers,
        name: str,
        key: spark.StructType,
        value: spark.StructType,
        *,
        prefix_columns: int = 0,
        range_columns: int = 0,
        lists: bool = False,
        internal: bool = False,
    ) -> None:
        family = WrittenFamily(
            name, key.json(), value.json(), prefix_columns, range_columns, lists, internal, new_keys=0, chunks=()
        )
        kept = KeptTable(table, family)
        self.kept.append(kept)
        if isinstance(table, FileValues | FileLists):
            table.move = partial(self._move, kept)

    def _sorted(self, kept: KeptTable, rows: ChunkRows | ChunkColumns) -> Segment | None:
        """Write rows, and give them as a segment of this task."""
        chunk = self._write(kept, rows)
        if chunk is None:
            return None
        block = read_chunk(Chunk(0, chunk.path, chunk.rows, chunk.key_bytes, chunk.value_bytes))
        return write_segment(Path(self._view.folder), split_blocks([block]))

    def _kept_of(self, table: object) -> KeptTable:
        return next(kept for kept in self.kept if kept.table is table)

    def _write(self, kept: KeptTable, rows: ChunkRows | ChunkColumns) -> WrittenChunk | None:
        kept.new_keys += rows.new_keys
        if not len(rows):
            return None
        number = sum(len(one.chunks) for one in self.kept)
        chunk = rows.write(Path(self._view.folder, f"{number}.chunk"))
        kept.chunks.append(chunk)
        return chunk


def _require_same_operator(view: View, uid: str) -> None:
    owners = [name.removeprefix(OPERATOR) for name in view.families if name.startswith(OPERATOR)]
    if owners and owners != [uid]:
        raise StateError(
            f"operator {uid!r} meets the state of another one in its checkpoint",
            expected=f"uid {owners[0]!r}",
            found=f"uid {uid!r}",
            fix="keep the uid and the order of the query's stateful operators, or begin with a new checkpoint",
        )


def _require_same_state(
    stored: StoredFamily, family: WrittenFamily, values: spark.StructType, descriptor: StateDescriptor
) -> None:
    known, wanted = (spark.StructType.fromJson(json.loads(text)) for text in (stored.key_schema, family.key_schema))
    kind = stored_kind(values) or ("list" if stored.lists else None)
    same_kind = stored.lists == family.lists and kind in (None, state_kind(descriptor))
    if not same_kind or known.simpleString() != wanted.simpleString():  # not the metadata of a watermark
        raise StateError(
            f"state {descriptor.name!r} was stored as another one",
            expected=f"a {kind or 'single value'} state under {known.simpleString()}",
            found=f"{descriptor}, under {wanted.simpleString()}",
            fix="give the new state another name, or keep kind and key types",
        )
