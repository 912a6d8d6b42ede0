"""Reads blocks of mapped files, or some of their rows, shortly before they are used.

Segments are mapped for random access, so that a page fault reads one page. By default it reads the disk's read-ahead
around the page, up to 8 MB: with 10 million rows of 1 KB, a look at the first locator of each block then read the whole
state for each piece of a merge, five times what a merge needs. Whoever reads whole blocks or many rows asks for them
here first.
"""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.segment.block import Block

T = TypeVar("T")
Places = npt.NDArray[np.int64]
AHEAD_BYTES: Final = 32 << 20
"""Of what is being read while something else is used."""

_CALL_PAGES: Final = (128 << 10) // mmap.PAGESIZE
"""A call with more may read a part: the disk's read-ahead, or its largest request if that is more."""

_madvise: Final = ctypes.CDLL(None).madvise  # the one of the mmap module takes no address, and keeps the interpreter
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_mincore: Final = ctypes.PyDLL(None).mincore  # keeps the interpreter: a thread that lets it go waits to have it again
_mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_NO_ROWS: Final = np.zeros(0, np.int64)


def ahead(items: Iterable[T], ask: Callable[[T], int]) -> Iterator[T]:
    """The same items; the system reads what the next ones need while the caller uses one.

    Args:
        items: What needs bytes of files.
        ask: Asks for those of an item, and gives how many these are.
    """
    coming: deque[tuple[T, int]] = deque()
    nbytes = 0
    for item in items:
        coming.append((item, ask(item)))
        nbytes += coming[-1][1]
        while nbytes > AHEAD_BYTES:
            first, size = coming.popleft()
            nbytes -= size
            yield first
    for item, _ in coming:
        yield item


def read_ahead(groups: Iterable[Sequence[Block]]) -> Iterator[Sequence[Block]]:
    """The same groups of blocks; the system reads the next ones while the caller uses one."""
    return ahead(groups, lambda group: sum(map(will_read_block, group)))


def will_read(values: npt.NDArray[Any]) -> int:
    """Have the system read the pages of an array if they are of a file and not in memory, without waiting for them.

    Returns:
        Its bytes, in memory or not. So do the others.
    """
    _advise(values.__array_interface__["data"][0], values.nbytes)
    return values.nbytes


def will_read_block(block: Block) -> int:
    """Do the same for a block."""
    for numbers in (block.locator, block.key_group, block.written):
        if numbers is not None:
            will_read(numbers)
    for column in (block.key, block.value):
        will_read_column(column)
    return block.nbytes


def will_read_column(column: pa.Array) -> int:
    """Do the same for the bytes of a column's rows, and for where they begin."""
    will_read_offsets(column)
    starts, ends, data = _places(column, np.array([0, len(column) - 1]) if len(column) else _NO_ROWS)
    if not len(starts):
        return 0
    nbytes = int(ends[-1] - starts[0])
    _advise(data + int(starts[0]), nbytes)
    return nbytes


def will_read_offsets(column: pa.Array) -> int:
    """Do the same for where a column's rows begin: what ``will_read_rows`` looks at."""
    offsets = _offsets(column)
    return 0 if offsets is None else will_read(offsets)


def will_read_rows(column: pa.Array, rows: npt.NDArray[np.int64]) -> int:
    """Do the same for the bytes of some rows, by pages.

    Args:
        column: Binary, of fixed width or any.
        rows: int64[n], in any order.
    """
    starts, ends, data = _places(column, rows)
    if not len(starts):
        return 0
    low = (data + int(starts.min())) // mmap.PAGESIZE
    high = (data + int(ends.max()) - 1) // mmap.PAGESIZE + 1
    missing = ~_resident(low, high)
    if not missing.any():
        return int((ends - starts).sum())
    changes = np.zeros(high - low + 1, np.int64)
    np.add.at(changes, (data + starts) // mmap.PAGESIZE - low, 1)
    np.add.at(changes, (data + ends - 1) // mmap.PAGESIZE + 1 - low, -1)
    wanted = changes.cumsum()[:-1] > 0
    _ask(low, wanted & missing)
    return int(wanted.sum()) * mmap.PAGESIZE


def _offsets(column: pa.Array) -> npt.NDArray[np.int32] | None:
    """Where the rows of a column begin, and where the last one ends; None if they have a fixed width."""
    if pa.types.is_fixed_size_binary(column.type) or not len(column):
        return None
    return np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, column.offset * 4)


def _places(column: pa.Array, rows: npt.NDArray[np.int64]) -> tuple[Places, Places, int]:
    """Where the bytes of rows begin and end, without those that have none, and the address that they count from."""
    data = column.buffers()[-1]
    if data is None or not len(rows):
        return _NO_ROWS, _NO_ROWS, 0
    offsets = _offsets(column)
    if offsets is None:
        width = column.type.byte_width
        starts = (column.offset + rows) * width
        return starts, starts + width, data.address
    starts, ends = offsets[rows].astype(np.int64), offsets[rows + 1].astype(np.int64)
    return starts, ends, data.address


def _advise(address: int, nbytes: int) -> None:
    """Ask for the pages of some bytes, unless all are in memory."""
    low, high = address // mmap.PAGESIZE, -(-(address + nbytes) // mmap.PAGESIZE)
    if nbytes and not _resident(low, high).all():
        _ask(low, np.ones(high - low, np.bool_))


def _resident(low: int, high: int) -> npt.NDArray[np.bool_]:
    """Which pages of memory hold bytes, from one number to another, exclusive."""
    pages = np.zeros(high - low, np.uint8)
    _mincore(low * mmap.PAGESIZE, len(pages) * mmap.PAGESIZE, pages.__array_interface__["data"][0])
    resident: npt.NDArray[np.bool_] = pages & 1 == 1
    return resident


def _ask(low: int, pages: npt.NDArray[np.bool_]) -> None:
    """Ask for some pages from one on, those that follow each other together."""
    bounds = np.flatnonzero(np.diff(pages, prepend=False, append=False)).tolist()
    for first, end in zip(bounds[::2], bounds[1::2], strict=True):
        for start in range(first, end, _CALL_PAGES):
            _madvise((low + start) * mmap.PAGESIZE, min(_CALL_PAGES, end - start) * mmap.PAGESIZE, mmap.MADV_WILLNEED)
