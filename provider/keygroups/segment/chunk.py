"""Chunks: uncommitted writes, unsorted, as the JVM hands them over, and the sorted blocks made from them.

A chunk is a file of three parts: ``rows`` headers of 24 bytes, the key bytes of all rows, the value bytes of all rows.
The JVM writes it once and never changes it, so it is read through a mapping.
"""

from __future__ import annotations

import mmap
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.errors import CapacityError, InternalError
from keygroups.segment.arrays import Rows, arrow, mask
from keygroups.segment.block import MOST_PADDED, Block, empty_block
from keygroups.segment.fold import fold
from keygroups.segment.sort import sort_rows

Headers = npt.NDArray[np.void]
Flags = npt.NDArray[np.int32]
HEADER = np.dtype(
    {
        "names": ["locator", "key_group", "key_bytes", "value_bytes", "flags"],
        "formats": ["<u8", "<i4", "<i4", "<i4", "<i4"],
        "offsets": [0, 8, 12, 16, 20],
        "itemsize": 24,
    }
)
MAX_COLUMN_BYTES = 2**31 - 1
"""Of keys or values: their offsets have 32 bits."""
MAPPED_BYTES = 512 << 10
"""A smaller file is read: 28,000 bytes take 17 us, and 39 through a mapping. One of 2 MB takes 150 us, and 135."""

# The low four bits of ``flags``. In the higher bits the JVM keeps the row's number.
SUPERSEDED = 1
"""A later row of the same chunk has the same key."""
NEW = 2
"""No older segment has the key, so a tombstone for it need not be written."""
TOMBSTONE = 4
APPENDED = 8
"""The values come after those of an older row, in the same chunk or in an older segment."""


class Chunk(msgspec.Struct, frozen=True, rename="camel"):
    """The path of a chunk and the lengths of its parts; all its rows belong to one column family."""

    family: int
    path: str
    rows: int
    key_bytes: int
    value_bytes: int


class Columns(NamedTuple):
    """Rows of a chunk, over the memory of its file."""

    header: Headers
    flags: Flags
    key: pa.Array
    value: pa.Array


def read_chunk(chunk: Chunk, batch_time: int = 0) -> Block:
    """Read, filter and sort a chunk.

    Args:
        chunk: the file.
        batch_time: time of the batch in seconds since 1970, for states with a time to live; 0 for others.

    Returns:
        The rows that are still needed, tombstones included, sorted; one row per key.

    Raises:
        InternalError: the file is not as long as its parts.
    """
    if chunk.rows == 0:
        return empty_block()
    block = _sorted_block(chunk)
    return replace(block, written=np.full(len(block), batch_time, np.uint32)) if batch_time else block


def read_columns(chunk: Chunk) -> Columns:
    """The rows of a chunk, unsorted and unfiltered.

    Raises:
        InternalError: the file is not as long as its parts.
        CapacityError: 32-bit offsets can't address its keys or values.
    """
    keys_at = chunk.rows * HEADER.itemsize
    values_at = keys_at + chunk.key_bytes
    expected, found = values_at + chunk.value_bytes, Path(chunk.path).stat().st_size
    if found != expected:
        raise InternalError("a chunk has the wrong length", path=chunk.path, expected=expected, found=found)
    if max(chunk.key_bytes, chunk.value_bytes) > MAX_COLUMN_BYTES:
        raise CapacityError(
            "the keys or values of one session are too large to be sorted together",
            expected=f"at most {MAX_COLUMN_BYTES} bytes of keys, and of values",
            found=f"{chunk.key_bytes} and {chunk.value_bytes} bytes",
            fix="put fewer values under one key, or lower keyGroups.overlayBytes",
        )
    with Path(chunk.path).open("rb", 0) as file:
        small = expected < MAPPED_BYTES
        memory = pa.py_buffer(file.read() if small else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    header = np.frombuffer(memory, HEADER, chunk.rows)
    flags = np.ascontiguousarray(header["flags"])
    tombstone = (flags & TOMBSTONE) != 0 if flags_in(flags) & TOMBSTONE else None
    key = _column(memory.slice(keys_at, chunk.key_bytes), header["key_bytes"], None)
    value = _column(memory.slice(values_at, chunk.value_bytes), header["value_bytes"], tombstone)
    return Columns(header, flags, key, value)


def flags_in(flags: Flags) -> int:
    """The flags that any row has."""
    return int(np.bitwise_or.reduce(flags)) & (SUPERSEDED | NEW | TOMBSTONE | APPENDED)


def _sorted_block(chunk: Chunk) -> Block:
    columns = read_columns(chunk)
    header, flags, key, value = columns
    found = flags_in(flags)
    if found & APPENDED:
        return _folded(chunk, columns)
    locator = np.ascontiguousarray(header["locator"])
    rows = _needed(flags) if found & (SUPERSEDED | TOMBSTONE) else None
    if rows is not None and len(rows) < chunk.rows:
        order, _ = sort_rows(locator[rows], key.take(arrow(rows)), runs=False)
        order = rows[order]
    else:
        order, _ = sort_rows(locator, key, runs=False)
    indices = arrow(order)
    return Block(
        locator[order],
        header["key_group"].astype(np.uint16)[order],
        key.take(indices),
        _narrow(value.take(indices)),
        chunk.family,
    )


def _folded(chunk: Chunk, columns: Columns) -> Block:
    """One row per key, from rows several of which may have the same key."""
    header, flags, key, value = columns
    rows = _needed(flags)[::-1]  # the newest first
    indices = arrow(rows)
    bits = pa.py_buffer(np.packbits((flags[rows] & APPENDED) != 0, bitorder="little"))
    block = Block(
        np.ascontiguousarray(header["locator"])[rows],
        header["key_group"][rows].astype(np.uint16),
        key.take(indices),
        value.take(indices),
        chunk.family,
        pa.Array.from_buffers(pa.bool_(), len(rows), [None, bits]),
    )
    return fold(block, *sort_rows(block.locator, block.key, runs=False))


def _needed(flags: Flags) -> Rows:
    dead = (flags & SUPERSEDED) != 0
    dead |= (flags & (TOMBSTONE | NEW)) == TOMBSTONE | NEW
    return np.flatnonzero(~dead)


def _column(data: pa.Buffer, lengths: npt.NDArray[np.int32], null: npt.NDArray[np.bool_] | None) -> pa.Array:
    """A binary column over ``data``; of fixed width if all rows have one (a take costs 1 instead of 17 ns a row)."""
    n = len(lengths)
    validity, nulls = None, 0
    if null is not None and (nulls := int(null.sum())):
        validity = pa.py_buffer(np.packbits(~null, bitorder="little"))
    width = int(lengths[0])
    if width > 0 and bool((lengths == width).all()):
        return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), n, [validity, data], nulls)
    offsets = np.zeros(n + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.BinaryArray.from_buffers(pa.binary(), n, [validity, pa.py_buffer(offsets), data], nulls)


def _narrow(value: pa.Array) -> pa.Array:
    """The column with fixed width if all values that are not null have the same; tombstones get zeros."""
    if pa.types.is_fixed_size_binary(value.type) or len(value) == 0 or value.null_count == 0:
        return value
    valid = mask(value.is_valid())
    if not valid.any():
        return value
    dense = value.drop_null()
    offsets = np.frombuffer(dense.buffers()[1], np.int32, len(dense) + 1, dense.offset * 4)
    widths = np.diff(offsets)
    width = int(widths[0])
    if width == 0 or not bool((widths == width).all()):
        return value
    if width > MOST_PADDED and len(value) > 2 * len(dense):
        return value  # most rows are tombstones, each of which would take the width
    rows = np.zeros((len(value), width), np.uint8)
    data = np.frombuffer(dense.buffers()[2], np.uint8, width * len(dense), int(offsets[0]))
    rows[valid] = data.reshape(-1, width)
    validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(value), [validity, pa.py_buffer(rows)])
