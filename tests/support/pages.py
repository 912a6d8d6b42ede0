"""A segment that is not in memory, and how much of it was read."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from keygroups.segment.block import Block
from keygroups.segment.file import Segment, write_segment

ROWS, VALUE = 4000, 2000
"""Of a block: 8 MB."""
BLOCKS = 8


def block_of(number: int, rows: int = ROWS, *, is_fixed: bool = False) -> Block:
    locators = np.arange(number * rows, (number + 1) * rows, dtype=np.uint64)
    keys = [int(locator).to_bytes(16, "big") for locator in locators]
    values = [bytes([number]) * VALUE] * rows
    kinds = (pa.binary(16), pa.binary(VALUE)) if is_fixed else (pa.binary(), pa.binary())
    key, value = (pa.array(column, kind) for column, kind in zip((keys, values), kinds, strict=True))
    return Block(locators, np.zeros(rows, np.uint16), key, value)


def resident(segment: Segment) -> int:
    """Pages of a segment's file in the page cache."""
    memory = np.frombuffer(segment.memory, np.uint8)
    pages = (ctypes.c_ubyte * -(-segment.nbytes // mmap.PAGESIZE))()
    mincore = ctypes.CDLL(None).mincore
    mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    assert mincore(memory.__array_interface__["data"][0], segment.nbytes, pages) == 0
    return sum(page & 1 for page in pages)


def evicted(segment: Segment) -> Segment:
    """The same file, none of it in memory."""
    segment.release_pages()
    with segment.path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if resident(segment) == -(-segment.nbytes // mmap.PAGESIZE):
        pytest.skip(f"{segment.path} lies in memory (tmpfs): there is no disk to read it from; set --basetemp")
    assert resident(segment) <= 1
    return segment


def evicted_segment(folder: Path, *, is_fixed: bool) -> Segment:
    """A segment of 64 MB that has to be read from the disk, with columns of a fixed width or of any."""
    return evicted(write_segment(folder, [block_of(number, is_fixed=is_fixed) for number in range(BLOCKS)]))
