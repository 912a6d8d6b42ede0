"""Segments are read from the disk by whole blocks, or one page at a time."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from keygroups.segment.block import Block
from keygroups.segment.file import Segment, open_segment, write_segment
from keygroups.segment.merge import merge_runs
from keygroups.segment.read_ahead import AHEAD_BYTES, read_ahead
from support.processes import wait_for

ROWS, VALUE = 4000, 2000
"""Of a block: 8 MB."""
BLOCKS = 8
DEADLINE_SECONDS = 20


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


@pytest.fixture(params=[True, False], ids=["fixed width", "any width"])
def segment(request: pytest.FixtureRequest, tmp_path: Path) -> Segment:
    """A segment of 64 MB that has to be read from the disk."""
    blocks = [block_of(number, is_fixed=request.param) for number in range(BLOCKS)]
    return evicted(write_segment(tmp_path, blocks))


def test_a_look_at_each_block_reads_few_pages(segment: Segment) -> None:
    """Whatever the disk's read-ahead is. Each piece of a merge looks at the first locator of each block."""
    assert [int(block.locator[0]) for block in segment.blocks] == [number * ROWS for number in range(BLOCKS)]
    assert resident(segment) <= 2 * BLOCKS


def test_blocks_are_read_before_they_are_used(segment: Segment) -> None:
    """The one in use and the next ones come into memory, although nothing looks at their rows."""
    groups = read_ahead((block.slice(10, ROWS - 10),) for block in segment.blocks)
    next(groups)
    wanted = (AHEAD_BYTES + VALUE * ROWS) // mmap.PAGESIZE
    wait_for(lambda: resident(segment) >= wanted * 9 // 10, DEADLINE_SECONDS, lambda: str(resident(segment)))
    assert resident(segment) <= wanted * 14 // 10


def test_groups_come_as_they_are(segment: Segment) -> None:
    """In their order; also empty ones, and ones that are larger than what is read ahead."""
    blocks = list(segment.blocks)
    groups = [blocks[:1], [], blocks[1:7], blocks[7:]]
    assert [[id(b) for b in group] for group in read_ahead(groups)] == [[id(b) for b in group] for group in groups]
    assert list(read_ahead([])) == []


@pytest.mark.parametrize("rows", [0, 1])
def test_small_blocks_of_no_file(rows: int) -> None:
    """Also columns without rows, and arrays that the allocator owns."""
    block = block_of(0, 1).slice(0, rows)
    assert list(read_ahead([[block]])) == [[block]]


def test_a_merge_reads_what_it_needs(segment: Segment, tmp_path: Path) -> None:
    """Of a segment that is not in memory, with rows of one that is."""
    newer = write_segment(tmp_path, [block_of(3, 1)])
    part = [block.slice(0, 100) for block in segment.blocks[:2]]
    merged = merge_runs(tmp_path, [newer.blocks, part], bottom=True, block_bytes=1 << 20)
    assert merged.rows == 200
    assert resident(segment) * mmap.PAGESIZE < 4 * 200 * VALUE
    assert open_segment(merged.path).blocks[0].value[3].as_py() == bytes([3]) * VALUE
