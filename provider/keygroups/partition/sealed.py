"""Rows of one column family in segments: those of the version, and over them what the task has moved to disk."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keygroups.rows.decode import Bytes
from keygroups.segment.arrays import arrow, mask, numpy
from keygroups.segment.block import Block

Rows = npt.NDArray[np.int64]

HASHED_ROWS: Final = 100
"""Rows for each wanted key, up to which a hash table of all takes less time than a binary search in Python for each."""


class Place(NamedTuple):
    """A row: of a block."""

    block: Block
    row: int


class Span(NamedTuple):
    """Rows of a block from a start to an end, exclusive."""

    block: Block
    start: int
    end: int


class Bound(NamedTuple):
    """A place in the order of rows."""

    locator: int
    key: bytes


class Found(NamedTuple):
    """Rows of one block that were found for some of the keys.

    Attributes:
        block: The block.
        wanted: int64[n], numbers of the keys.
        rows: int64[n], the row of each.
    """

    block: Block
    wanted: Rows
    rows: Rows


class Sealed:
    """Blocks of one family.

    Args:
        segments: For each segment, newest first, its blocks of the family, in their order.
    """

    def __init__(self, segments: Sequence[Sequence[Block]]) -> None:
        """See the class."""
        self._base = self._segments = [list(blocks) for blocks in segments if blocks]

    def put_over(self, segments: Sequence[Sequence[Block]]) -> None:
        """Have the blocks of other segments, newest first, over those of the version."""
        self._segments = [*(list(blocks) for blocks in segments if blocks), *self._base]

    def replace(self, segments: Sequence[Sequence[Block]]) -> None:
        """Have the blocks of these segments, newest first, in place of all others."""
        self._base = self._segments = [list(blocks) for blocks in segments if blocks]

    def row_bytes(self) -> int:
        """Mean bytes of a row's value."""
        blocks = [block for segment in self._segments for block in segment]
        rows = sum(map(len, blocks))
        return sum(int(block.value.nbytes) for block in blocks) // rows if rows else 0

    def rows(self) -> int:
        """How many rows there are, older ones of a key and tombstones too."""
        return sum(len(block) for segment in self._segments for block in segment)

    def newest(self, start: int = 0, end: int | None = None) -> Iterator[tuple[Block, Rows]]:
        """Give for each block its rows that are the newest of their keys, and no tombstones.

        Args:
            start: The first row that is looked at, counted over all blocks.
            end: The end of these, exclusive; None for all.
        """
        at = 0
        for number, blocks in enumerate(self._segments):
            newer = Sealed(self._segments[:number])
            for block in blocks:
                low, high = max(start - at, 0), len(block) if end is None else min(end - at, len(block))
                at += len(block)
                if low >= high:
                    continue
                is_newest = np.ones(high - low, np.bool_)
                part = block.slice(low, high)
                for found in newer.find(part.locator, _plain(part.key)):
                    is_newest[found.wanted] = False
                rows = low + np.flatnonzero(is_newest)
                yield block, rows[~is_tombstone(block, rows)]

    def find(self, locators: npt.NDArray[np.uint64], keys: pa.Array) -> Iterator[Found]:
        """Give the newest row of each key, tombstones too.

        Args:
            locators: uint64[n].
            keys: binary[n], all different.
        """
        left = np.arange(len(locators))
        for blocks in self._segments:
            for block in blocks:
                if not len(left):
                    return
                found = _search(block, locators, keys, left)
                if len(found.wanted):
                    yield found
                    left = np.setdiff1d(left, found.wanted, assume_unique=True)

    def history(self, locator: int, key: bytes) -> Iterator[Place]:
        """Give the rows of one key, newest first."""
        for blocks in self._segments:
            for block in blocks:
                row = lower_bound(block, locator, key)
                if row < len(block) and int(block.locator[row]) == locator and key_at(block, row) == key:
                    yield Place(block, row)
                    break

    def ranges(self, locator: int) -> Iterator[list[Span]]:
        """Give for each segment, newest first, where the rows of one locator lie."""
        for blocks in self._segments:
            spans = []
            for block in blocks:
                start = int(np.searchsorted(block.locator, np.uint64(locator)))
                end = int(np.searchsorted(block.locator, np.uint64(locator), side="right"))
                if end > start:
                    spans.append(Span(block, start, end))
            yield spans

    def window(self, after: Bound, last: Bound, most: int) -> tuple[Bound, list[Span]]:
        """Give the rows after one bound and up to another, at most so many of a segment.

        Returns:
            How far they reach, and the rows of all segments up to there, newest segment first.
        """
        starts = [_rows_until(blocks, after) for blocks in self._segments]
        reached = [_bound_at(blocks, start + most - 1) for blocks, start in zip(self._segments, starts, strict=True)]
        end = min([bound for bound in reached if bound is not None], default=last)
        end = min(end, last)
        ends = [_rows_until(blocks, end) for blocks in self._segments]
        return end, [
            span
            for blocks, start, stop in zip(self._segments, starts, ends, strict=True)
            for span in _spans(blocks, start, stop)
        ]

    def in_order(self, locator: int) -> Iterator[tuple[bytes, Place]]:
        """Give the newest row of each key from a locator on, tombstones too, in the order of the keys."""
        last = None
        walks = (_walk(number, blocks, locator) for number, blocks in enumerate(self._segments))
        for key, _, block, row in heapq.merge(*walks):
            if key != last:
                last = key
                yield key, Place(block, row)


def _rows_until(blocks: list[Block], bound: Bound) -> int:
    """How many rows of a segment are not beyond a bound."""
    count = 0
    for block in blocks:
        row = lower_bound(block, *bound)
        row += row < len(block) and int(block.locator[row]) == bound.locator and key_at(block, row) == bound.key
        count += row
        if row < len(block):
            break
    return count


def _bound_at(blocks: list[Block], row: int) -> Bound | None:
    """Where a row of a segment is; None if there are not so many."""
    for block in blocks:
        if row < len(block):
            return Bound(int(block.locator[row]), key_at(block, row))
        row -= len(block)
    return None


def _spans(blocks: list[Block], start: int, end: int) -> Iterator[Span]:
    """The rows of a segment from a start to an end, exclusive."""
    at = 0
    for block in blocks:
        low, high = max(start - at, 0), min(end - at, len(block))
        if low < high:
            yield Span(block, low, high)
        at += len(block)


def _walk(number: int, blocks: list[Block], locator: int) -> Iterator[tuple[bytes, int, Block, int]]:
    for block in blocks:
        for row in range(int(np.searchsorted(block.locator, np.uint64(locator))), len(block)):
            yield key_at(block, row), number, block, row


def _search(block: Block, locators: npt.NDArray[np.uint64], keys: pa.Array, left: Rows) -> Found:
    wanted = locators[left]
    rows = np.searchsorted(block.locator, wanted)
    inside = rows < len(block)
    inside[inside] = block.locator[rows[inside]] == wanted[inside]
    left, rows = left[inside], rows[inside]
    if not len(left):
        return Found(block, left, rows)
    same = mask(pc.equal(_plain(block.key.take(arrow(rows))), keys.take(arrow(left))))
    if not same.all():  # several keys share a locator: 48 bits of a hash, or timers of one time
        others = np.flatnonzero(~same)
        rows[others] = _rows_of(block, locators[left[others]], keys.take(arrow(left[others])))
        same[others] = rows[others] >= 0
    return Found(block, left[same], rows[same])


def _rows_of(block: Block, locators: npt.NDArray[np.uint64], keys: pa.Array) -> Rows:
    """The row of each key whose locator the block has, -1 where it is another's."""
    low = int(np.searchsorted(block.locator, locators.min()))
    high = int(np.searchsorted(block.locator, locators.max(), side="right"))
    if high - low <= HASHED_ROWS * len(keys):
        found = pc.index_in(keys, value_set=_plain(block.key.slice(low, high - low)))
        return numpy(pc.add(found.cast(pa.int64()), low).fill_null(-1))
    rows = np.full(len(keys), -1, np.int64)
    for i, (locator, key) in enumerate(zip(locators.tolist(), keys.to_pylist(), strict=True)):
        row = lower_bound(block, locator, key)
        if row < len(block) and key_at(block, row) == key:
            rows[i] = row
    return rows


def newest_in(segments: Sequence[Sequence[Span]], key: bytes) -> Place | None:
    """Give the newest row of a key, which has the locator of these spans."""
    for spans in segments:
        for block, start, end in spans:
            key_of = RowBytes(block.key)
            low, high = start, end
            while low < high:
                middle = (low + high) // 2
                if key_of(middle) < key:
                    low = middle + 1
                else:
                    high = middle
            if low < end and key_of(low) == key:
                return Place(block, low)
    return None


class RowBytes:
    """Gives the bytes of a row of a column in 0.3 us; through Arrow's scalars it takes 1.5 us."""

    __slots__ = ("_data", "_offset", "_offsets", "_width")

    def __init__(self, column: pa.Array) -> None:
        """Take a binary column."""
        self._width = column.type.byte_width if pa.types.is_fixed_size_binary(column.type) else 0
        buffers = column.buffers()
        self._data, self._offset = memoryview(buffers[-1] or b""), column.offset
        self._offsets = None if self._width else memoryview(buffers[1]).cast("B").cast("i")

    def __call__(self, row: int) -> bytes:
        """Give the bytes of a row."""
        at = row + self._offset
        if self._offsets is None:
            return bytes(self._data[at * self._width : (at + 1) * self._width])
        return bytes(self._data[self._offsets[at] : self._offsets[at + 1]])


def _plain(keys: pa.Array) -> pa.Array:
    return keys.cast(pa.binary()) if pa.types.is_fixed_size_binary(keys.type) else keys


def lower_bound(block: Block, locator: int, key: bytes) -> int:
    """Give the first row that is not below (locator, key)."""
    low = int(np.searchsorted(block.locator, np.uint64(locator)))
    high = int(np.searchsorted(block.locator, np.uint64(locator), side="right"))
    while low < high:
        middle = (low + high) // 2
        if key_at(block, middle) < key:
            low = middle + 1
        else:
            high = middle
    return low


def key_at(block: Block, row: int) -> bytes:
    """Give the key of a row."""
    found: bytes = block.key[row].as_py()
    return found


def is_tombstone(block: Block, rows: Rows) -> npt.NDArray[np.bool_]:
    """Tell which rows are tombstones."""
    if not block.value.null_count:
        return np.zeros(len(rows), np.bool_)
    bits = np.frombuffer(block.value.buffers()[0], np.uint8)  # a take of the column would copy the values
    at = rows + block.value.offset
    dead: npt.NDArray[np.bool_] = (bits[at >> 3] >> (at & 7).astype(np.uint8) & 1) == 0
    return dead


def is_appended(block: Block, row: int) -> bool:
    """Tell whether the values of a row come after those of an older one."""
    return block.appended is not None and bool(block.appended[row].as_py())


def values_of(block: Block, rows: Rows) -> Bytes:
    """Give the values of rows, none of them a tombstone, in place."""
    return places(block.value, rows)


def places(column: pa.Array, rows: Rows) -> Bytes:
    """Give bytes of a binary column, in place."""
    if pa.types.is_fixed_size_binary(column.type):
        width = column.type.byte_width
        return Bytes(memoryview(column.buffers()[1]), (rows + column.offset) * width, np.full(len(rows), width))
    _, offsets, data = column.buffers()
    bounds = numpy(pa.Array.from_buffers(pa.int32(), len(column) + 1, [None, offsets], 0, column.offset)).astype(
        np.int64
    )
    return Bytes(memoryview(data if data is not None else b""), bounds[rows], bounds[rows + 1] - bounds[rows])
