"""Checks rows that come from a checkpoint, before Spark reads them without bounds.

An UnsafeRow is read by raw offsets: if a row is too short, or a string lies outside of its row, Spark reads the memory
next to it. The columns of a row are checked as in Spark's ``UnsafeRowUtils``; the content of arrays, maps and structs
is not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.checkpoint.row_shape import RowShape, key_shape, value_shape
from keygroups.segment.arrays import mask
from keygroups.segment.block import Block

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

_FEW = 32
"""Lists below which a loop over lists is faster than column operations."""
_NO_SIZE = ~(2**31 - 8) & (2**64 - 1)
"""Bits that are 0 in the length of a row in a list: a multiple of 8 below 2 GiB."""
_OUTSIDE = "a value in a list points outside the list"


class RowCheck:
    """Checks blocks against a catalog.

    Args:
        catalog: of a version that contains the blocks. Rows of families that are not in it are never read.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._next_family = catalog.next_family
        self._families = {family.id: family for family in catalog.families}
        self._shapes: dict[int, tuple[RowShape, RowShape | None]] = {}

    def __call__(self, block: Block) -> None:
        """Raise ValueError if a row does not fit the schemas of its family."""
        if block.family >= self._next_family:
            known = f"only numbers below {self._next_family} are in use"
            raise ValueError(f"rows of column family {block.family}, but {known}")
        if (family := self._families.get(block.family)) is None:
            return
        keys, values = self._shapes_of(family)
        _check_column(block.key, keys)
        if values is not None:
            _check_column(block.value, values, lists=family.lists)

    def _shapes_of(self, family: Family) -> tuple[RowShape, RowShape | None]:
        """The shapes of keys, and of values if they are rows of Spark's. Raises ValueError."""
        if family.id not in self._shapes:
            has_rows = family.encoding == "unsaferow"
            self._shapes[family.id] = key_shape(family), value_shape(family) if has_rows else None
        return self._shapes[family.id]


def _check_column(column: pa.Array, shape: RowShape, *, lists: bool = False) -> None:
    """Check the rows, or lists of rows, of a column. Raises ValueError."""
    if pa.types.is_fixed_size_binary(column.type) and not shape.variable and not lists:
        _check_width(column, shape)
        return
    words, starts, ends = _words(column)
    if lists:
        starts, ends = _elements(words, starts, ends)
    _check_rows(words, starts, ends, shape)


def _check_width(column: pa.FixedSizeBinaryArray, shape: RowShape) -> None:
    """Check rows of one width, none of which points to anything. Raises ValueError."""
    width, has_rows = column.type.byte_width, column.null_count < len(column)
    if width % 8:
        raise ValueError("a row whose length is not a multiple of 8")
    if has_rows and (length := width - shape.head - shape.tail) < shape.fixed:
        raise ValueError(f"a row of {length} bytes where its {shape.fields} columns take {shape.fixed}")


def _words(column: pa.Array) -> tuple[Words, Numbers, Numbers]:
    """The data of a column in words of 8 bytes, and the start and end of each value that is not null."""
    data = column.buffers()[-1]
    size = 0 if data is None else data.size
    words = np.frombuffer(data, np.uint64, size // 8) if size >= 8 else np.empty(0, np.uint64)
    if pa.types.is_fixed_size_binary(column.type):
        bounds = np.arange(len(column) + 1, dtype=np.int64) * column.type.byte_width
    else:
        bounds = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1).astype(np.int64)
    if (bounds & 7).any():
        raise ValueError("a row whose length is not a multiple of 8")
    bounds >>= 3
    if not column.null_count:
        return words, bounds[:-1], bounds[1:]
    valid = mask(column.is_valid())
    return words, bounds[:-1][valid], bounds[1:][valid]


def _check_rows(words: Words, starts: Numbers, ends: Numbers, shape: RowShape) -> None:
    """Check the rows between these words. Raises ValueError."""
    first = starts + (shape.head >> 3)
    length = ends - first - (shape.tail >> 3)
    if (length < shape.fixed >> 3).any():
        raise ValueError(f"a row of {int(length.min()) * 8} bytes where its {shape.fields} columns take {shape.fixed}")
    length <<= 3
    for column in shape.variable:
        word = words[first + (shape.bits + column)]
        at, size = word >> 32, word & 0xFFFFFFFF
        outside = (at < shape.fixed) | (at + size > length.view(np.uint64))
        if outside.any():
            null = words[first + (column >> 6)] >> (column & 63) & 1
            if (outside & (null == 0)).any():
                raise ValueError(f"column {column} points outside its row")


def _elements(words: Words, starts: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
    """The rows in lists, where each follows its length in bytes. Raises ValueError."""
    begins: list[Numbers] = []
    behind: list[Numbers] = []
    starts, ends = _unfinished(starts, ends)
    while len(starts) > _FEW:
        sizes = words[starts]
        begins.append(starts + 1)
        starts = begins[-1] + (sizes >> 3).view(np.int64)
        if int(np.bitwise_or.reduce(sizes)) & _NO_SIZE or (starts > ends).any():
            raise ValueError(_OUTSIDE)
        behind.append(starts)
        starts, ends = _unfinished(starts, ends)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        one, other = _elements_of(memoryview(words[start:end].data), start)
        begins.append(one)
        behind.append(other)
    return np.concatenate([starts[:0], *begins]), np.concatenate([starts[:0], *behind])


def _unfinished(at: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
    """The lists with more values, and their ends."""
    more = np.flatnonzero(at < ends)
    return (at, ends) if len(more) == len(at) else (at[more], ends[more])


def _elements_of(words: memoryview, start: int) -> tuple[Numbers, Numbers]:
    """The start and end of each row in one list."""
    at, begins, ends = 0, [], []
    while at < len(words):
        size = words[at]
        if size & _NO_SIZE or size >> 3 > len(words) - at - 1:
            raise ValueError(_OUTSIDE)
        begins.append(start + at + 1)
        at += 1 + (size >> 3)
        ends.append(start + at)
    return np.array(begins, np.int64), np.array(ends, np.int64)
