"""Expired values that nobody reads: a window of the stored rows is looked at in each batch.

Source: Flink's ``TtlIncrementalCleanup``, which looks at a few values more with each access, and its compaction filter,
which looks at those of the files that are merged. Here both look at a window that begins anywhere, so that no batch has
to wait for a walk over all state.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DataType

from keygroups.partition.block_rows import Rows, values_of
from keygroups.partition.chunks import ChunkColumns
from keygroups.partition.items import LENGTH_BYTES
from keygroups.partition.keys import StoredKeys
from keygroups.partition.sealed import Sealed
from keygroups.rows.decode import Bytes
from keygroups.rows.scalars import Words, scalar_of
from keygroups.segment.arrays import arrow, mask
from keygroups.segment.block import Block
from keygroups.segment.chunk import TOMBSTONE
from keygroups.state.ttl import StateTtlConfig

PER_MERGED_ROW: Final = 10
"""Rows that a compaction filter looks at for each row of a batch: about as often a row is merged over its life."""
CHUNK_BYTES: Final = 32 << 20
"""Of keys that are removed at once."""
_WRITTEN: Final = 16
"""Where in a row the time lies when its life began: after the null bits and the value's word."""
State = tuple[str, int, str]
"""Operator, partition and name of a state."""
_looked_at: dict[State, int] = {}
"""States whose rows this process has all looked at, and the time of that batch: if it failed, it comes again."""


def window_of(ttl: StateTtlConfig, rows: int, state: State, now: int) -> int | None:
    """Give how many stored rows a batch looks at; None for all.

    Args:
        ttl: The strategies.
        rows: Rows of the batch.
        state: See ``State``.
        now: Time of the batch.
    """
    strategies = ttl.get_cleanup_strategies()
    if strategies.in_full_snapshot() and _looked_at.get(state, now) == now:
        return None
    incremental = strategies.get_incremental_cleanup_strategy()
    merged = strategies.get_rocksdb_compact_filter_cleanup_strategy()
    return rows * max(incremental.get_cleanup_size() if incremental else 0, PER_MERGED_ROW if merged else 0)


def has_looked_at(state: State, now: int) -> None:
    """Remember that this process has looked at all rows of a state in a batch, and removed what had expired."""
    _looked_at[state] = now


def expired(
    sealed: Sealed, ttl: StateTtlConfig, now: int, window: int | None, written: pa.Array, lists: bool, kind: DataType
) -> Iterator[ChunkColumns]:
    """Give tombstones for the stored rows of a window that have expired, some at a time.

    Args:
        sealed: The stored rows.
        ttl: How long they live.
        now: The time in milliseconds since 1970.
        window: How many are looked at; None for all.
        written: binary[n], keys that the task writes: they are not touched.
        lists: Whether each row is a list, which has expired when all its elements have.
        kind: Type of the state.
    """
    item_bytes = item_bytes_of(kind) if lists else None
    some: list[StoredKeys] = []
    nbytes = 0
    for block, rows in _looked_at_now(sealed, window):
        if not len(rows):
            continue
        values = values_of(block, rows)
        begun = _of_last(values, item_bytes) if lists else _of_values(values)
        gone, found = _unwritten(block, rows[now - begun >= ttl.ttl], written)
        keys = StoredKeys(found, block.locator[gone])
        if lists and len(keys):  # the last element is the youngest, unless a clock was set back
            keys = keys.take(np.flatnonzero(now - _of_youngest(sealed, keys, item_bytes) >= ttl.ttl))
        if len(keys):
            some.append(keys)
            nbytes += keys.data.nbytes
        if nbytes >= CHUNK_BYTES:
            yield _tombstones(some)
            some, nbytes = [], 0
    if some:
        yield _tombstones(some)


def _tombstones(keys: list[StoredKeys]) -> ChunkColumns:
    stored = StoredKeys(
        pa.concat_arrays([some.data for some in keys]),
        np.concatenate([some.locators for some in keys]),
    )
    nothing = np.zeros(len(stored), np.int64)
    return ChunkColumns(stored, np.full(len(stored), TOMBSTONE, np.int32), nothing[:0], nothing, -len(stored))


def _looked_at_now(sealed: Sealed, window: int | None) -> Iterator[tuple[Block, Rows]]:
    """The rows of the window, which goes on at the first of all stored rows after the last."""
    rows = sealed.rows()
    if window is None or window >= rows:
        return sealed.newest()
    start = random.randrange(rows)
    return chain(sealed.newest(start, start + window), sealed.newest(0, max(start + window - rows, 0)))


def _unwritten(block: Block, rows: Rows, written: pa.Array) -> tuple[Rows, pa.Array]:
    keys = block.key.take(arrow(rows)).cast(pa.binary())
    if not len(written) or not len(rows):
        return rows, keys
    stay = mask(pc.invert(pc.is_in(keys, value_set=written)))
    return rows[stay], keys.take(arrow(np.flatnonzero(stay)))


def _of_values(rows: Bytes) -> Words:
    begun: Words = rows.words[(rows.starts + _WRITTEN) >> 3]
    return begun


def _of_last(rows: Bytes, item_bytes: int | None) -> Words:
    """When the life of the last element of each list began."""
    ends = rows.starts + rows.sizes
    last = ends - item_bytes if item_bytes else np.array(list(map(_last, *_each(rows, ends))), np.int64)
    begun: Words = rows.words[(last + LENGTH_BYTES + _WRITTEN) >> 3]
    return begun


def _of_youngest(sealed: Sealed, keys: StoredKeys, item_bytes: int | None) -> Words:
    """When the youngest life of any element of each list began, those of pieces included to which it was appended."""
    youngest = np.full(len(keys), np.iinfo(np.int64).min)
    for block, wanted, rows in sealed.pieces(keys.locators, keys.data):
        pieces = values_of(block, rows)
        if item_bytes:
            begun = _youngest_of_equal(pieces, item_bytes)
        else:
            begun = np.array(list(map(_youngest, *_each(pieces, pieces.starts + pieces.sizes))), np.int64)
        youngest[wanted] = np.maximum(youngest[wanted], begun)
    return youngest


def _youngest_of_equal(rows: Bytes, item_bytes: int) -> Words:
    """The youngest life of an element of each list, where all elements have one size. No list is empty."""
    counts = rows.sizes // item_bytes
    firsts = counts.cumsum() - counts
    items = (np.arange(counts.sum()) - firsts.repeat(counts)) * item_bytes + rows.starts.repeat(counts)
    begun: Words = np.maximum.reduceat(rows.words[(items + LENGTH_BYTES + _WRITTEN) >> 3], firsts)
    return begun


def _youngest(words: Words, start: int, end: int) -> int:
    """The same of one list."""
    at, found = start, int(words[(start + LENGTH_BYTES + _WRITTEN) >> 3])
    while (at := at + LENGTH_BYTES + int(words[at >> 3])) < end:
        found = max(found, int(words[(at + LENGTH_BYTES + _WRITTEN) >> 3]))
    return found


def _each(rows: Bytes, ends: Rows) -> tuple[Iterable[Words], Iterable[int], Iterable[int]]:
    return repeat(rows.words), rows.starts.tolist(), ends.tolist()


def _last(words: Words, start: int, end: int) -> int:
    """Where the last element of a list begins, with its length before it."""
    at = start
    while (after := at + LENGTH_BYTES + int(words[at >> 3])) < end:
        at = after
    return at


def item_bytes_of(kind: DataType) -> int | None:
    """Give what each element of a list takes; None if they differ."""
    return None if scalar_of(kind) is None else LENGTH_BYTES + _WRITTEN + 8
