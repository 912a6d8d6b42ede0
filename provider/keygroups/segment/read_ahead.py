"""Reads blocks of mapped files shortly before they are used.

Segments are mapped for random access, so that a page fault reads one page. By default it reads the disk's read-ahead
around the page, up to 8 MB: with 10 million rows of 1 KB, a look at the first locator of each block then read the whole
state for each piece of a merge, five times what a merge needs. Whoever reads whole blocks asks for them here first.
"""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.segment.block import Block

AHEAD_BYTES: Final = 32 << 20
"""Of blocks that are being read while others are used."""

_CALL_BYTES: Final = 128 << 10
"""A call with more may read a part: the disk's read-ahead, or its largest request if that is more."""

_madvise: Final = ctypes.CDLL(None).madvise  # the one of the mmap module takes no address, and keeps the interpreter
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_mincore: Final = ctypes.PyDLL(None).mincore  # keeps the interpreter: a thread that lets it go waits to have it again
_mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def read_ahead(groups: Iterable[Sequence[Block]]) -> Iterator[Sequence[Block]]:
    """The same groups of blocks; the system reads the next ones while the caller uses one."""
    coming: deque[Sequence[Block]] = deque()
    nbytes = 0
    for group in groups:
        for block in group:
            _will_read(block)
        coming.append(group)
        nbytes += _size(group)
        while nbytes > AHEAD_BYTES:
            nbytes -= _size(coming[0])
            yield coming.popleft()
    yield from coming


def will_read(values: npt.NDArray[Any]) -> None:
    """Have the system read the pages of an array if they are of a file and not in memory, without waiting for them."""
    _advise(values.__array_interface__["data"][0], values.nbytes)


def _will_read(block: Block) -> None:
    for numbers in (block.locator, block.key_group, block.written):
        if numbers is not None:
            will_read(numbers)
    for column in (block.key, block.value):
        _will_read_bytes(column)


def _will_read_bytes(column: pa.Array) -> None:
    """Of a column that has them, its offsets come first: they say where its bytes are."""
    _, *offsets, data = column.buffers()
    if data is None or not len(column):
        return
    if offsets:
        ends = np.frombuffer(offsets[0], np.int32, len(column) + 1, column.offset * 4)
        will_read(ends)
        start, end = int(ends[0]), int(ends[-1])
    else:
        width = column.type.byte_width
        start, end = column.offset * width, (column.offset + len(column)) * width
    _advise(data.address + start, end - start)


def _advise(address: int, nbytes: int) -> None:
    first, end = address - address % mmap.PAGESIZE, address + nbytes
    if _is_resident(first, end - first):
        return
    for start in range(first, end, _CALL_BYTES):
        _madvise(start, min(_CALL_BYTES, end - start), mmap.MADV_WILLNEED)


def _is_resident(address: int, nbytes: int) -> bool:
    pages = np.zeros(-(-nbytes // mmap.PAGESIZE), np.uint8)
    _mincore(address, nbytes, pages.__array_interface__["data"][0])
    return bool((pages & 1).all())


def _size(group: Sequence[Block]) -> int:
    return sum(block.nbytes for block in group)
