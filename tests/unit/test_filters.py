"""Of a file with a filter, the rows that count are restored, and blocks without any are not read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keygroups.checkpoint import file_reader
from keygroups.checkpoint.files import blocks_of
from keygroups.checkpoint.filters import GroupRange, RowFilter, name_groups, share_rows
from keygroups.checkpoint.manifest import BlockRef, FileRef
from keygroups.checkpoint.names import FileName
from keygroups.columns.hashes import xxh64
from keygroups.segment.block import Block
from keygroups.segment.span import Span
from support.checkpoint_files import MAX_PARALLELISM, plain_catalog, write

G = 12
ROWS_OF_A_BLOCK = 10
RANGES = st.lists(st.tuples(st.integers(-1, G + 1), st.integers(-1, G + 1), st.integers(-1, G)), max_size=4)


def groups_of(ranges: list[tuple[int, int, int]]) -> list[int]:
    return [group for start, stop, step in ranges for group in range(start, stop, step)]


@given(RANGES)
def test_ranges_name_key_groups_each_once(ranges: list[tuple[int, int, int]]) -> None:
    found = name_groups([GroupRange(*numbers) for numbers in ranges], G)
    if not all(start < stop and step > 0 for start, stop, step in ranges):
        assert not found
        return
    named = groups_of(ranges)
    exist = all(start >= 0 and stop <= G for start, stop, _ in ranges)
    assert found == (exist and 0 < len(named) == len(set(named)))


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4), st.none() | st.sets(st.integers(0, G - 1))), max_size=5)
)
def test_parts_of_a_file_share_rows_as_sets_do(parts: list[tuple[int, int, set[int] | None]]) -> None:
    named = [(start, stop, groups) for start, stop, groups in parts if groups is None or groups]
    spans = [
        (Span(start, start + rows), None if groups is None else [GroupRange(g, g + 1, 1) for g in sorted(groups)])
        for start, rows, groups in named
    ]
    cells = [
        (row, group)
        for start, rows, groups in named
        for row in range(start, start + rows)
        for group in (range(G) if groups is None else groups)
    ]
    assert share_rows(spans, G) == (len(cells) > len(set(cells)))


def hashed(groups: range) -> list[Block]:
    """A block of each key group, with the locators that follow from its keys."""
    blocks = []
    for group in groups:
        keys = pa.array([f"{group:>8}{n:>8}".encode() for n in range(ROWS_OF_A_BLOCK)], pa.binary())
        numbers = np.full(ROWS_OF_A_BLOCK, group, np.uint16)
        locators = numbers.astype(np.uint64) << np.uint64(48) | xxh64(keys) >> np.uint64(16)
        blocks.append(Block(locators, numbers, keys, keys).take(np.argsort(locators)))
    return blocks


@pytest.mark.parametrize("is_stored", [True, False])
def test_blocks_without_a_wanted_row_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_stored: bool
) -> None:
    """Where locators begin with key groups: stored ones may be any numbers."""
    blocks = hashed(range(G))
    if is_stored:
        blocks = [
            Block(np.arange(ROWS_OF_A_BLOCK, dtype=np.uint64) + np.uint64(100 * n), b.key_group, b.key, b.value)
            for n, b in enumerate(blocks)
        ]
    monkeypatch.setattr("keygroups.checkpoint.file_writer.BLOCK_BYTES", 1)
    path, ref = write(tmp_path, blocks, plain_catalog(), FileName("version", 1, f"{1:032x}"))
    read: list[BlockRef] = []
    batch = file_reader._batch

    def counted(source: pa.NativeFile, start: int, block: BlockRef, schema: pa.Schema) -> pa.RecordBatch:
        read.append(block)
        return batch(source, start, block, schema)

    monkeypatch.setattr(file_reader, "_batch", counted)
    ranges = (GroupRange(1, 2, 1), GroupRange(6, 12, 3))
    some = FileRef(ref.path, ref.rows, ref.bytes, ref.checksum, Span(15, 95), key_groups=ranges)
    found = [key for block in blocks_of(path, some, MAX_PARALLELISM) for key in block.key.to_pylist()]
    everything = [key for block in blocks for key in block.key.to_pylist()]
    wanted = [key for key in everything[15:95] if int(key[:8]) in (1, 6, 9)]
    assert found == wanted
    assert len(wanted) == 5 + 10 + 5
    read_rows = sum(block.rows for block in read)
    assert read_rows == 80 if is_stored else read_rows <= 30


def test_key_groups_that_do_not_exist_never_count() -> None:
    """A file may say anything."""
    block = hashed(range(1))[0]
    wild = Block(block.locator, np.full(ROWS_OF_A_BLOCK, 65_535, np.uint16), block.key, block.value)
    assert not list(RowFilter([GroupRange(0, 32_768, 1)], Span(0, 10)).of(0, wild))
