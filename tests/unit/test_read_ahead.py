"""Segments are read from the disk by whole blocks, or one page at a time."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from keygroups.segment.file import Segment, open_segment, write_segment
from keygroups.segment.merge import merge_runs
from keygroups.segment.read_ahead import AHEAD_BYTES, read_ahead, will_read_rows
from support.pages import BLOCKS, ROWS, VALUE, block_of, evicted_segment, resident
from support.processes import wait_for

DEADLINE_SECONDS = 20


@pytest.fixture(params=[True, False], ids=["fixed width", "any width"])
def segment(request: pytest.FixtureRequest, tmp_path: Path) -> Segment:
    """A segment that has to be read from the disk."""
    return evicted_segment(tmp_path, is_fixed=request.param)


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


def test_rows_are_read_before_they_are_used(segment: Segment) -> None:
    """Each is on one page or two; none of a column of any width that begins within a page is left out."""
    column = segment.blocks[1].value.slice(7)
    rows = np.array([3990, 0, 100, 101, 102, 500])
    asked = will_read_rows(column, rows)
    assert 6 * VALUE <= asked <= 9 * mmap.PAGESIZE
    offsets = 4  # pages that say where the rows are
    wait_for(lambda: resident(segment) >= asked // mmap.PAGESIZE, DEADLINE_SECONDS, lambda: str(resident(segment)))
    assert resident(segment) <= asked // mmap.PAGESIZE + 1 + offsets


@pytest.mark.parametrize("rows", [[], [0], [2, 1]])
def test_rows_of_no_file_and_rows_without_bytes(rows: list[int]) -> None:
    """They are in memory: nothing is asked for."""
    column = pa.array([b"", None, b"abc"], pa.binary())
    assert will_read_rows(column, np.array(rows, np.int64)) == 3 * (2 in rows)
    assert will_read_rows(pa.array([b"", b"", b""], pa.binary()), np.array(rows, np.int64)) == 0


def test_a_merge_reads_what_it_needs(segment: Segment, tmp_path: Path) -> None:
    """Of a segment that is not in memory, with rows of one that is."""
    newer = write_segment(tmp_path, [block_of(3, 1)])
    part = [block.slice(0, 100) for block in segment.blocks[:2]]
    merged = merge_runs(tmp_path, [newer.blocks, part], bottom=True, block_bytes=1 << 20)
    assert merged.rows == 200
    assert resident(segment) * mmap.PAGESIZE < 4 * 200 * VALUE
    assert open_segment(merged.path).blocks[0].value[3].as_py() == bytes([3]) * VALUE
