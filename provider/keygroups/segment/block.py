"""A block: the rows of one Arrow record batch of a segment, sorted by (locator, key).

A locator is one integer to sort, search and split rows by. In most families it is ``key_group << 48 | hash >> 16``,
with the xxh64 of the key or of its scan prefix; in a family for range scans it is the first 8 bytes of the key. So any
number of rows may share a locator, and they may continue in the next block.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.segment.arrays import arrow, numpy

Locators = npt.NDArray[np.uint64]
KeyGroups = npt.NDArray[np.uint16]
Seconds = npt.NDArray[np.uint32]

MAX_PARALLELISM = 32768
MOST_PADDED = 16
"""Width up to which tombstones are padded however many they are: an offset and a value of 8 bytes take no less."""


@dataclass(frozen=True)
class Block:
    """Rows of a segment as columns of equal length ``n``.

    Attributes:
        locator: uint64[n], ascending; rows of equal locators ascend by key.
        key_group: uint16[n].
        key: binary or fixed_size_binary[n], UnsafeRow bytes.
        value: binary or fixed_size_binary[n], UnsafeRow bytes; null is a tombstone.
        family: number of the column family that all rows belong to.
        appended: bool[n], whether the values come after those of an older row of the key; None if no row's do.
        written: uint32[n], time of the batch that wrote the row, in seconds since 1970, 0 if unknown; None without a
            time to live.
    """

    locator: Locators
    key_group: KeyGroups
    key: pa.Array
    value: pa.Array
    family: int = 0
    appended: pa.BooleanArray | None = None
    written: Seconds | None = None

    def __len__(self) -> int:
        return len(self.locator)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of all columns. A commit asks six times, and Arrow takes 2.5 us for a column."""
        columns = (self.locator, self.key_group, self.key, self.value, self.appended, self.written)
        return sum(int(column.nbytes) for column in columns if column is not None)

    def slice(self, start: int, stop: int) -> Block:
        """Rows ``start`` to ``stop`` (exclusive), without a copy."""
        length = stop - start
        return Block(
            self.locator[start:stop],
            self.key_group[start:stop],
            self.key.slice(start, length),
            self.value.slice(start, length),
            self.family,
            None if self.appended is None else self.appended.slice(start, length),
            None if self.written is None else self.written[start:stop],
        )

    def take(self, rows: npt.NDArray[np.int64]) -> Block:
        """The given rows, in the given order."""
        indices = arrow(rows)
        return Block(
            self.locator[rows],
            self.key_group[rows],
            self.key.take(indices),
            self.value.take(indices),
            self.family,
            None if self.appended is None else self.appended.take(indices),
            None if self.written is None else self.written[rows],
        )

    def batch(self) -> pa.RecordBatch:
        """This block as an Arrow record batch, with the columns that it has.

        The values come last: the JVM may leave them in the file.
        """
        columns = {"locator": arrow(self.locator), "key_group": arrow(self.key_group), "key": self.key}
        if self.family:
            columns["family"] = arrow(np.full(len(self), self.family, np.uint16))
        if self.appended is not None:
            columns["appended"] = self.appended
        if self.written is not None:
            columns["written"] = arrow(self.written)
        columns["value"] = self.value
        return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))

    @staticmethod
    def of(batch: pa.RecordBatch) -> Block:
        """A block over the columns of a record batch, without a copy. Raises ValueError if it mixes families."""
        names = batch.schema.names
        family = 0
        if "family" in names and len(batch):
            families = numpy(batch.column("family"))
            if (families != families[0]).any():
                raise ValueError(f"a record batch holds rows of {len(np.unique(families))} column families")
            family = int(families[0])
        return Block(
            numpy(batch.column("locator")),
            numpy(batch.column("key_group")),
            batch.column("key"),
            batch.column("value"),
            family,
            batch.column("appended") if "appended" in names else None,
            numpy(batch.column("written")) if "written" in names else None,
        )


def has_appends(block: Block) -> bool:
    """Whether the values of any row come after those of an older row of its key."""
    return block.appended is not None and bool(block.appended.true_count)


def empty_block() -> Block:
    """A block without rows."""
    return Block(np.empty(0, np.uint64), np.empty(0, np.uint16), pa.array([], pa.binary()), pa.array([], pa.binary()))


def concat(blocks: list[Block]) -> Block:
    """All rows of ``blocks``, of one family, one after another; columns of different widths become plain binary."""
    appended = written = None
    if any(b.written is not None for b in blocks):
        written = np.concatenate([_unknown(len(b)) if b.written is None else b.written for b in blocks])
    if any(b.appended is not None for b in blocks):
        appended = pa.concat_arrays([_no_appends(len(b)) if b.appended is None else b.appended for b in blocks])
    return Block(
        np.concatenate([b.locator for b in blocks]),
        np.concatenate([b.key_group for b in blocks]),
        _concat_binary([b.key for b in blocks]),
        _concat_binary([b.value for b in blocks]),
        blocks[0].family,
        appended,
        written,
    )


def _common_type(arrays: list[pa.Array]) -> pa.DataType:
    """The type of all columns with any value, if they have the same, else plain binary.

    In a column of fixed width a tombstone takes that width: 40,000 of them and one value of 4 KB took 165 MB. So most
    rows have to have a value of it.
    """
    types = {a.type for a in arrays if a.null_count < len(a)}
    kind = types.pop() if len(types) == 1 else pa.binary()
    dense = sum(len(a) for a in arrays if a.type == kind)
    is_wide = pa.types.is_fixed_size_binary(kind) and kind.byte_width > MOST_PADDED
    return pa.binary() if is_wide and sum(map(len, arrays)) > 2 * dense else kind


def _as_type(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """``array`` as type ``wanted``: its own type, plain binary, or any type if it has only tombstones."""
    if array.type == wanted:
        return array
    if array.null_count == len(array):
        return pa.nulls(len(array), wanted)
    if array.get_total_buffer_size() > 2 * array.nbytes:  # a cast copies all of what a slice is from: 0.6 s for 128 MB
        array = pa.concat_arrays([array])
    return array.cast(wanted)


def _unknown(length: int) -> Seconds:
    return np.zeros(length, np.uint32)


def _no_appends(length: int) -> pa.BooleanArray:
    bits = pa.py_buffer(bytes((length + 7) // 8))
    return pa.Array.from_buffers(pa.bool_(), length, [None, bits])


def _concat_binary(arrays: list[pa.Array]) -> pa.Array:
    wanted = _common_type(arrays)
    return pa.concat_arrays([_as_type(a, wanted) for a in arrays])
