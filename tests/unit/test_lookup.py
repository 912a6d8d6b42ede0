"""Lookups of many keys in the sorted runs of a keyed function, beside a dict, and what they read of the disk."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keygroups.partition.locator_rows import LocatorRows, newest_in
from keygroups.partition.sealed import Sealed
from keygroups.segment.block import Block
from keygroups.segment.file import Segment
from support.pages import BLOCKS, ROWS, evicted_segment, resident
from support.processes import wait_for

Row = tuple[int, bytes]
"""Locator and key."""
rows = st.binary(min_size=1, max_size=2).map(lambda key: (key[0] % 7, key))
INDEX_PAGES = BLOCKS * ROWS * (8 + 4 + 4) // mmap.PAGESIZE
"""Of locators, and of where keys and values begin."""
DEADLINE_SECONDS = 20
runs = st.lists(st.dictionaries(rows, st.none() | st.binary(max_size=12), max_size=20), max_size=4)
"""Newest first; many keys share a locator. None is a tombstone."""


@pytest.fixture(params=[True, False], ids=["fixed width", "any width"])
def segment(request: pytest.FixtureRequest, tmp_path: Path) -> Segment:
    """A segment that has to be read from the disk."""
    return evicted_segment(tmp_path, is_fixed=request.param)


def blocks_of(run: dict[Row, bytes | None], size: int) -> list[Block]:
    """The rows of a run in blocks of so many."""
    ordered = sorted(run.items())
    parts = [ordered[at : at + size] for at in range(0, len(ordered), size)]
    return [
        Block(
            np.array([locator for (locator, _), _ in part], np.uint64),
            np.zeros(len(part), np.uint16),
            pa.array([key for (_, key), _ in part], pa.binary()),
            pa.array([value for _, value in part], pa.binary()),
        )
        for part in parts
    ]


def with_fixed_keys(block: Block) -> Block:
    """The same, with keys of fixed width where they have one, as in a segment."""
    widths = {len(key) for key in block.key.to_pylist()}
    return replace(block, key=block.key.cast(pa.binary(*widths))) if len(widths) == 1 else block


@given(runs, st.sets(rows), st.integers(1, 5), st.booleans())
def test_lookups_find_the_newest_row_of_each_key(
    runs: Sequence[dict[Row, bytes | None]], others: set[Row], size: int, values: bool
) -> None:
    """Tombstones too, and each key once, whether it is stored or not."""
    sealed = Sealed([blocks_of(run, size) for run in runs])
    newest = {row: value for run in reversed(runs) for row, value in run.items()}
    wanted = list(others | newest.keys())
    locators = np.array([locator for locator, _ in wanted], np.uint64)
    found = {}
    for block, numbers, places in sealed.find(
        locators, pa.array([key for _, key in wanted], pa.binary()), values=values
    ):
        for number, place in zip(numbers.tolist(), places.tolist(), strict=True):
            assert wanted[number] not in found
            found[wanted[number]] = block.value[place].as_py()
    assert found == newest


@given(runs, st.integers(1, 5), st.integers(0, 40), st.integers(0, 40))
def test_walks_give_the_newest_rows_of_a_part(
    runs: Sequence[dict[Row, bytes | None]], size: int, start: int, length: int
) -> None:
    """The rows from one to another, counted over all runs, that no newer run has and that are no tombstones."""
    sealed = Sealed([blocks_of(run, size) for run in runs])
    ordered = [(number, *row) for number, run in enumerate(runs) for row in sorted(run.items())]
    expected = [
        (key, value)
        for number, (locator, key), value in ordered[start : start + length]
        if value is not None and not any((locator, key) in newer for newer in runs[:number])
    ]
    found = [
        (block.key[row].as_py(), block.value[row].as_py())
        for block, places in sealed.newest(start, start + length)
        for row in places.tolist()
    ]
    assert found == expected


@given(runs, rows, st.integers(1, 5))
def test_the_rows_of_a_key_and_of_a_locator(runs: Sequence[dict[Row, bytes | None]], row: Row, size: int) -> None:
    sealed = Sealed([blocks_of(run, size) for run in runs])
    history = [place.block.value[place.row].as_py() for place in sealed.history(*row)]
    assert history == [run[row] for run in runs if row in run]
    ranges = [
        [key for block, start, end in spans for key in block.key[start:end].to_pylist()]
        for spans in sealed.ranges(row[0])
    ]
    assert ranges == [sorted(key for locator, key in run if locator == row[0]) for run in runs if run]


@given(runs, st.integers(1, 5), st.integers(0, 3))
def test_rows_of_a_locator_by_their_keys(runs: Sequence[dict[Row, bytes | None]], size: int, width: int) -> None:
    """A key's newest row unless it is a tombstone, where keys have one width and where they have not."""
    if width:  # zeros at the end count
        runs = [{(locator, key.ljust(width, b"\0")): value for (locator, key), value in run.items()} for run in runs]
    sealed = Sealed([list(map(with_fixed_keys, blocks_of(run, size))) for run in runs])
    newest = {row: value for run in reversed(runs) for row, value in run.items()}
    keys = {key for _, key in newest}
    absent = {key + b"\0" for key in keys} | {key[:-1] for key in keys} | {b"absent"}
    for locator in range(7):
        segments = [list(map(LocatorRows, spans)) for spans in sealed.ranges(locator)]
        for key in keys | absent:
            found = newest_in(segments, key)
            assert (None if found is None else found.value()) == newest.get((locator, key))


def test_a_lookup_reads_the_pages_of_its_rows(segment: Segment) -> None:
    """And those of the locators, whatever the disk's read-ahead is, before the caller looks at a value."""
    sealed = Sealed([segment.blocks])
    wanted = np.arange(0, BLOCKS * ROWS, ROWS // 10, dtype=np.uint64)
    keys = pa.array([int(locator).to_bytes(16, "big") for locator in wanted], pa.binary())
    found = list(sealed.find(wanted, keys, values=True))
    assert np.concatenate([some.block.locator[some.rows] for some in found]).tolist() == wanted.tolist()
    wait_for(lambda: resident(segment) > INDEX_PAGES, DEADLINE_SECONDS, lambda: str(resident(segment)))
    of_rows = len(wanted) * 4  # a key, and a value of 2,000 bytes, each on one page or two
    assert resident(segment) <= INDEX_PAGES + of_rows + 20 * BLOCKS


def test_a_lookup_without_values_reads_none(segment: Segment) -> None:
    """Of keys that no row has, where a key has to be compared as well as where its locator is between others."""
    sealed = Sealed([segment.blocks])
    wanted = np.arange(0, BLOCKS * ROWS, 2, dtype=np.uint64)
    keys = pa.array([int(locator).to_bytes(16, "big") for locator in wanted], pa.binary())
    assert sum(len(found.rows) for found in sealed.find(wanted, keys, values=False)) == len(wanted)
    assert resident(segment) <= INDEX_PAGES + BLOCKS * ROWS * 16 // mmap.PAGESIZE + 20 * BLOCKS


@pytest.mark.parametrize("part", [1, 2])
def test_a_walk_reads_the_blocks_that_it_needs(segment: Segment, part: int) -> None:
    """But for a page here and there: the kernel does not promise to read what it is asked for, and left out 1 in 90."""
    sealed = Sealed([segment.blocks])
    ((block, rows), *_) = sealed.newest(0, part * ROWS)
    assert (block, len(rows)) == (segment.blocks[0], ROWS)
    of_blocks = part * block.nbytes // mmap.PAGESIZE
    wait_for(lambda: resident(segment) >= of_blocks * 9 // 10, DEADLINE_SECONDS, lambda: str(resident(segment)))
    assert resident(segment) <= of_blocks * 11 // 10
