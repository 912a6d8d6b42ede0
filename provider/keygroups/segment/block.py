"""A block: the rows of one Arrow record batch of a segment, sorted by (locator, key)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.segment.arrays import arrow, numpy

Locators = npt.NDArray[np.uint64]
Hashes = npt.NDArray[np.int32]

HASH_BITS = 48
"""A locator is ``key_group << 48 | xxh64(key) >> 16``: one integer to sort, search and split by."""

MAX_PARALLELISM = 32768


@dataclass(frozen=True)
class Block:
    """Rows of a segment as columns of equal length ``n``.

    Attributes:
        locator: uint64[n], ascending; the key group in the top 16 bits, 48 bits of the key's hash below.
        h: int32[n], Spark's Murmur3 (seed 42) of the partitioning columns; the key group is ``pmod(h, G)``.
        key: binary or fixed_size_binary[n], UnsafeRow bytes.
        value: binary or fixed_size_binary[n], UnsafeRow bytes; null is a tombstone.
    """

    locator: Locators
    h: Hashes
    key: pa.Array
    value: pa.Array

    def __len__(self) -> int:
        return len(self.locator)

    @property
    def nbytes(self) -> int:
        """Bytes of the four columns."""
        return int(self.locator.nbytes + self.h.nbytes + self.key.nbytes + self.value.nbytes)

    def slice(self, start: int, stop: int) -> Block:
        """Rows ``start`` to ``stop`` (exclusive), without a copy."""
        length = stop - start
        return Block(
            self.locator[start:stop], self.h[start:stop], self.key.slice(start, length), self.value.slice(start, length)
        )

    def take(self, rows: npt.NDArray[np.int64]) -> Block:
        """The given rows, in the given order."""
        indices = arrow(rows)
        return Block(self.locator[rows], self.h[rows], self.key.take(indices), self.value.take(indices))

    def record_batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """This block as an Arrow record batch of ``schema`` (see ``block_schema``)."""
        columns = [arrow(self.locator), arrow(self.h), self.key, self.value]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    @staticmethod
    def of(batch: pa.RecordBatch) -> Block:
        """A block over the columns of a record batch, without a copy."""
        return Block(
            numpy(batch.column("locator")), numpy(batch.column("h")), batch.column("key"), batch.column("value")
        )


def block_schema(key: pa.DataType, value: pa.DataType) -> pa.Schema:
    """Arrow schema of a segment whose keys and values have these binary types."""
    return pa.schema(
        [
            pa.field("locator", pa.uint64(), nullable=False),
            pa.field("h", pa.int32(), nullable=False),
            pa.field("key", key, nullable=False),
            pa.field("value", value),
        ]
    )


def empty_block() -> Block:
    """A block without rows."""
    return Block(np.empty(0, np.uint64), np.empty(0, np.int32), pa.array([], pa.binary()), pa.array([], pa.binary()))


def concat(blocks: list[Block]) -> Block:
    """All rows of ``blocks`` one after another; columns of different widths become plain binary."""
    return Block(
        np.concatenate([b.locator for b in blocks]),
        np.concatenate([b.h for b in blocks]),
        _concat_binary([b.key for b in blocks]),
        _concat_binary([b.value for b in blocks]),
    )


def common_type(arrays: Iterable[pa.Array]) -> pa.DataType:
    """The type of all columns that hold any value, if they agree, else plain binary."""
    types = {a.type for a in arrays if a.null_count < len(a)}
    return types.pop() if len(types) == 1 else pa.binary()


def as_type(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """``array`` as ``wanted``: its own type, plain binary, or any if it holds tombstones only."""
    if array.type == wanted:
        return array
    return pa.nulls(len(array), wanted) if array.null_count == len(array) else array.cast(wanted)


def schema_of(blocks: Iterable[Block]) -> pa.Schema:
    """Arrow schema that rows of all these blocks fit."""
    blocks = list(blocks)
    return block_schema(common_type(b.key for b in blocks), common_type(b.value for b in blocks))


def _concat_binary(arrays: list[pa.Array]) -> pa.Array:
    wanted = common_type(arrays)
    return pa.concat_arrays([as_type(a, wanted) for a in arrays])
