"""Rows that are too many for one block are split; a row that is too long is refused before anything is written."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.checkpoint.names import FileName
from keygroups.errors import CapacityError
from keygroups.runs.local import sort_chunks
from keygroups.segment.block import Block, _as_type, concat
from keygroups.segment.chunk import HEADER, TOMBSTONE, Chunk, read_chunk
from keygroups.segment.file import write_segment
from keygroups.segment.split import split_blocks, split_range
from support.checkpoint_files import restore, through_a_file, write

ROWS = 100


def one_locator(rows: int, width: int) -> Block:
    """Rows of one locator."""
    keys = [number.to_bytes(8, "big") for number in range(rows)]
    columns = [pa.array(values, pa.binary(len(values[0]))) for values in (keys, [bytes(width)] * rows)]
    return Block(np.full(rows, 7, np.uint64), np.zeros(rows, np.uint16), *columns)


def test_rows_of_a_chunk_that_are_too_many_for_a_block_are_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them may have one locator, as the rows of one batch in a time index."""
    monkeypatch.setattr("keygroups.segment.split.MAX_BLOCK_BYTES", 1000)
    header = np.zeros(ROWS, HEADER)
    header["locator"], header["key_bytes"], header["value_bytes"] = 7, 8, 16
    keys = b"".join(number.to_bytes(8, "big") for number in range(ROWS))
    (tmp_path / "chunk").write_bytes(header.tobytes() + keys + bytes(16 * ROWS))
    blocks = sort_chunks([Chunk(0, str(tmp_path / "chunk"), ROWS, 8 * ROWS, 16 * ROWS)], 0)
    assert len(blocks) > 3
    assert all(block.nbytes <= 1000 for block in blocks)
    edges = [(block.key[0].as_py(), block.key[-1].as_py()) for block in blocks]
    assert all(left[1] < right[0] for left, right in pairwise(edges))
    assert through_a_file(tmp_path, blocks).rows == ROWS


def test_a_block_that_no_reader_would_accept_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single row can be too long; nothing is left behind."""
    monkeypatch.setattr("keygroups.segment.file.MAX_BLOCK_BYTES", 1000)
    monkeypatch.setattr("keygroups.segment.file.MAX_BATCH_BYTES", 3000)
    blocks = split_blocks([one_locator(1, 5000)])
    message = r"1 rows are too large.*at most 3000 bytes"
    with pytest.raises(CapacityError, match=message):
        write_segment(tmp_path, blocks)
    assert not list(tmp_path.iterdir())


def test_a_chunk_whose_values_32_bits_cannot_address_is_refused(tmp_path: Path) -> None:
    """Its offsets would wrap around."""
    path, size = tmp_path / "chunk", 2**31
    path.touch()
    os.truncate(path, 24 + 8 + size)
    with pytest.raises(CapacityError, match=r"too large to be sorted.*2147483647.*overlayBytes"):
        read_chunk(Chunk(0, str(path), 1, 8, size))


def test_a_slice_becomes_another_width_without_the_rest_of_its_block() -> None:
    """A merge casts a slice of each block for each part of its output; Arrow's cast copies the whole block."""
    value = one_locator(1000, 100).value
    assert _as_type(value.slice(0, 3), pa.binary()).get_total_buffer_size() < 1000


@pytest.mark.parametrize("rows", [1000, 1001, 1003])
@pytest.mark.parametrize("every", [2, 7, 50])
def test_a_split_block_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, every: int) -> None:
    """A slice shares its bitmaps with the rows after it; the file has its own."""
    monkeypatch.setattr("keygroups.segment.split.MAX_BLOCK_BYTES", 20_000)
    keys = pa.array([number.to_bytes(8, "big") for number in range(rows)], pa.binary(8))
    values = pa.array([None if number % every else bytes(16) for number in range(rows)], pa.binary(16))
    appended = pa.array([number % every == 1 for number in range(rows)], pa.bool_())
    block = Block(np.arange(rows, dtype=np.uint64), np.zeros(rows, np.uint16), keys, values, 0, appended)
    blocks = split_blocks([block])
    assert len(blocks) > 1
    restored = concat(list(through_a_file(tmp_path, blocks).blocks))
    assert restored.batch().to_pylist() == block.batch().to_pylist()


def test_tombstones_do_not_take_the_width_of_a_value(tmp_path: Path) -> None:
    """Neither beside a wide value of their own family nor beside one of another."""
    removed = one_locator(40_000, 8)
    removed = replace(removed, value=pa.nulls(40_000, pa.binary()), family=1)
    wide = one_locator(1, 4096)
    assert sum(block.nbytes for block in through_a_file(tmp_path, [wide, removed], families=2).blocks) < 3_000_000
    rows = 5000
    header = np.zeros(rows, HEADER)
    header["locator"], header["key_bytes"] = np.arange(rows), 8
    header["flags"], header["value_bytes"] = TOMBSTONE, 0
    header["flags"][7], header["value_bytes"][7] = 0, 4096
    (tmp_path / "chunk").write_bytes(header.tobytes() + bytes(8 * rows) + bytes(4096))
    assert read_chunk(Chunk(0, str(tmp_path / "chunk"), rows, 8 * rows, 4096)).nbytes < 300_000


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ETIMEDOUT, errno.ESTALE])
def test_an_error_of_this_machine_is_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Another attempt's file would be read in place of the one that is good."""

    def exhausted(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("keygroups.checkpoint.file_reader.read_schema", exhausted)
    with pytest.raises(CapacityError, match=f"this machine could not read a downloaded file.*{os.strerror(number)}"):
        through_a_file(tmp_path, [one_locator(3, 8)])


def blocks_of_one_row(keys: Iterable[int]) -> list[Block]:
    """Values that are long for a block: of each key one, in a block of its own."""
    rows = one_locator(ROWS, 1000)
    return [rows.slice(key, key + 1) for key in keys]


def test_long_rows_of_one_locator_are_merged_a_few_at_a_time() -> None:
    """A scan prefix of 10 MB a value may be larger than memory, or than a block may be."""
    ranges = list(split_range([*blocks_of_one_row(range(ROWS)), *blocks_of_one_row([7])], 2100))
    assert all(sum(part.nbytes for part in parts) <= 2100 for parts in ranges)
    keys = [sorted({part.key[0].as_py() for part in parts}) for parts in ranges]
    assert [key for some in keys for key in some] == [number.to_bytes(8, "big") for number in range(ROWS)]
    assert [len(parts) for parts, some in zip(ranges, keys, strict=True) if (7).to_bytes(8, "big") in some] == [2]


@pytest.mark.parametrize("appended", [0, 2])
def test_what_newer_rows_of_a_key_replace_is_not_merged(appended: int) -> None:
    """One value of 130 MB that is written 17 times would be larger than a block may be."""
    [row] = blocks_of_one_row([0])
    appending = replace(row, appended=pa.array([True]))
    parts = [*[appending] * appended, *[row] * 5]
    assert list(split_range(parts, 100)) == [parts[: appended + 1]]


def test_removals_of_wide_rows_take_no_room(tmp_path: Path) -> None:
    """In columns each has 8 bytes for every column that it has not."""
    columns = [{"name": f"c{n}", "type": "long", "nullable": True, "metadata": {}} for n in range(300)]
    schema = json.dumps({"type": "struct", "fields": columns})
    catalog = Catalog((Family(0, "wide", '{"fields": []}', schema, "{}"),), 1)
    removals = replace(one_locator(ROWS, 1), value=pa.nulls(ROWS, pa.binary()))
    path, ref = write(tmp_path, [removals], catalog, FileName("version", 1, f"{1:032x}"), "none")
    assert path.stat().st_size < ROWS * 300
    [block] = restore(tmp_path, path, ref).blocks
    assert block.key.to_pylist() == removals.key.to_pylist()
    assert block.value.null_count == ROWS
