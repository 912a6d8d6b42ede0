"""The entries of one state for all keys of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark

from keygroups.keyed.tables import Columns
from keygroups.partition.block_rows import is_tombstone, values_of
from keygroups.partition.chunks import ChunkColumns
from keygroups.partition.columns import column_decoder, column_encoder
from keygroups.partition.forms import is_wrapper
from keygroups.partition.keys import StoredKeys
from keygroups.partition.sealed import Sealed
from keygroups.rows.decode import Bytes
from keygroups.rows.scalars import Words
from keygroups.segment.arrays import arrow, mask
from keygroups.segment.chunk import APPENDED, TOMBSTONE
from keygroups.state.rules import arrow_type

Mask = npt.NDArray[np.bool_]
NOTHING: Final = np.empty(0, np.int64)


class ColumnForm:
    """How entries are stored, for columns of them: the form of ``keygroups.partition.forms``.

    Args:
        schema: Of the rows.
        kind: Type of the state.
    """

    def __init__(self, schema: spark.StructType, kind: spark.DataType) -> None:
        """See the class."""
        self.encode, self._decode = column_encoder(schema), column_decoder(schema)
        self._is_timed, self._is_wrapped = len(schema.fields) > 1 and is_wrapper(schema), is_wrapper(schema)
        self._type = arrow_type(kind)

    def columns(self, values: pa.Array, begun: Words) -> list[pa.Array]:
        """Give the columns of rows; no value is null."""
        if self._is_wrapped:
            return [values, arrow(begun)] if self._is_timed else [values]
        return list(values.flatten())

    def entries(self, rows: Bytes) -> Columns:
        """Give the entries that lie at places."""
        columns = self._decode(rows)
        values = columns[0] if self._is_wrapped else pa.StructArray.from_arrays(columns, fields=list(self._type))
        begun = columns[1].to_numpy() if self._is_timed else np.zeros(len(values), np.int64)
        return Columns(values, begun)

    def nothing(self, count: int) -> Columns:
        """Give absent entries."""
        return Columns(pa.nulls(count, self._type), np.zeros(count, np.int64))


class EntryColumns:
    """Entries of the keys of one batch, read at once, and what was written of them.

    Args:
        form: How they are stored.
        sealed: The stored rows.
        keys: The keys.
    """

    def __init__(self, form: ColumnForm, sealed: Sealed, keys: StoredKeys) -> None:
        """Read nothing yet."""
        self._form, self._sealed, self._keys = form, sealed, keys
        self._entries: Columns | None = None
        self._exist: Mask | None = None
        self.written: Mask | None = None

    def read(self) -> Columns:
        """Give the entries as they are now."""
        if self._entries is None:
            self._entries, self._exist = self._stored()
        return self._entries

    def write(self, entries: Columns, written: Mask | None) -> None:
        """Set all entries, or those of a mask."""
        if written is None:
            self._entries, self.written = entries, np.ones(len(self._keys), np.bool_)
            return
        old = self.read()
        self._entries = Columns(
            pc.if_else(pa.array(written), entries.values, old.values), np.where(written, entries.begun, old.begun)
        )
        self.written = written if self.written is None else self.written | written

    def take(self) -> ChunkColumns | None:
        """Give what was written; None if nothing was."""
        if self.written is None or self._entries is None:
            return None
        exist = exist_of(self._sealed, self._keys) if self._exist is None else self._exist
        valid = mask(self._entries.values.is_valid())
        live, dead = np.flatnonzero(self.written & valid), np.flatnonzero(self.written & ~valid & exist)
        values = self._entries.values.take(arrow(live))
        packed = self._form.encode(self._form.columns(values, self._entries.begun[live]))
        return ChunkColumns(
            self._keys.take(np.concatenate([live, dead])),
            np.repeat(np.array([0, TOMBSTONE], np.int32), [len(live), len(dead)]),
            packed.words,
            np.concatenate([packed.sizes * 8, np.zeros(len(dead), np.int64)]),
            int((~exist[live]).sum()) - len(dead),
        )

    def _stored(self) -> tuple[Columns, Mask]:
        count = len(self._keys)
        places, parts = [], []
        for found in self._sealed.find(self._keys.locators, self._keys.data, values=True):
            live = ~is_tombstone(found.block, found.rows)
            places.append(found.wanted[live])
            parts.append(self._form.entries(values_of(found.block, found.rows[live])))
        exist = np.zeros(count, np.bool_)
        at = np.concatenate([NOTHING, *places])
        exist[at] = True
        if not len(at):
            return self._form.nothing(count), exist
        return _scattered(parts, at, count), exist


def _scattered(parts: Sequence[Columns], at: Words, count: int) -> Columns:
    """Entries at their places among ``count``; null at others."""
    order = np.full(count, -1, np.int64)
    order[at] = np.arange(len(at))
    begun = np.zeros(count, np.int64)
    begun[at] = np.concatenate([part.begun for part in parts])
    missing = order < 0
    places = pa.array(order, mask=missing) if missing.any() else arrow(order)
    return Columns(pa.concat_arrays([part.values for part in parts]).take(places), begun)


def exist_of(sealed: Sealed, keys: StoredKeys) -> Mask:
    """Tell which keys are stored."""
    exist = np.zeros(len(keys), np.bool_)
    for found in sealed.find(keys.locators, keys.data, values=False):
        exist[found.wanted] = ~is_tombstone(found.block, found.rows)
    return exist


def appended(form: ColumnForm, sealed: Sealed, keys: StoredKeys, entries: Columns, groups: Words) -> ChunkColumns:
    """Give rows that append entries to lists.

    Args:
        form: How the entries are stored.
        sealed: The stored lists.
        keys: Their keys.
        entries: What is appended; none is null.
        groups: int64[n], the number of each entry's key.
    """
    order = np.argsort(groups, kind="stable")
    items = form.encode(form.columns(entries.values.take(arrow(order)), entries.begun[order])).with_lengths()
    some, first = np.unique(groups[order], return_index=True)
    exist = exist_of(sealed, keys)[some]
    return ChunkColumns(
        keys.take(some),
        np.where(exist, APPENDED, 0).astype(np.int32),
        items.words,
        np.add.reduceat(items.sizes, first) * 8,
        int((~exist).sum()),
    )


Move = Callable[[], None]
"""Writes what a table has in memory to a segment of the task."""
