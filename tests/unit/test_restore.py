"""Files that somebody forged: each is refused before it costs memory, and none gets to the JVM."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

from fuzz.forge import Forged
from fuzz.samples import Sample, block, checkpoint_file, contents, named
from keygroups.checkpoint.manifest import read_manifest
from keygroups.errors import CapacityError, CheckpointError
from keygroups.segment.block import Block
from keygroups.segment.chunk import Chunk, read_chunk
from keygroups.segment.file import Segment, write_checkpoint_form
from keygroups.segment.restore import restore_segment
from keygroups.segment.rows import SortedRows
from support.arrow_regions import regions

NAME = "0/the-file"
VALUES = pa.array([b"1", b"2"])


def restored(folder: Path, data: bytes) -> Segment:
    """The file as a local segment, under a checksum that fits."""
    path = folder / "file"
    path.write_bytes(data)
    return restore_segment(folder, path, NAME, Forged())


def written(batches: Sequence[pa.RecordBatch], codec: str | None = "zstd") -> bytes:
    """Batches as a file."""
    sink = pa.BufferOutputStream()
    with ipc.new_file(sink, batches[0].schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def batch_of(rows: Block) -> pa.RecordBatch:
    """A block as a batch of a segment."""
    return rows.record_batch(SortedRows.of([rows]).schema)


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """A file with a batch of family 1, whose columns vary in width."""
    return checkpoint_file(tmp_path, contents()[3], named(3))


@pytest.mark.parametrize("size", [2**62, 2**31, -2, -(2**63), 100_000])
def test_a_compressed_buffer_that_asks_for_memory_is_refused(tmp_path: Path, sample: Sample, size: int) -> None:
    """By the 8 bytes before it, which Arrow would believe. In the locators even 100,000 bytes are too many."""
    at = next(region.start for region in regions(sample.data) if "batch 0 buffer" in region.name)
    forged = sample.data[:at] + struct.pack("<q", size) + sample.data[at + 8 :]
    with pytest.raises(CheckpointError, match=rf"{NAME}.*buffer .*{size} bytes"):
        restored(tmp_path, forged)


@pytest.mark.parametrize("size", [2**31 - 8, -8, 12, 2**30])
def test_metadata_that_asks_for_memory_is_refused(tmp_path: Path, sample: Sample, size: int) -> None:
    for region in regions(sample.data):
        if region.name.endswith("prefix"):
            forged = sample.data[: region.start + 4] + struct.pack("<i", size) + sample.data[region.stop :]
            with pytest.raises(CheckpointError, match=f"{NAME}.*message of {size} bytes"):
                restored(tmp_path, forged)
    path = tmp_path / "head"
    path.write_bytes(sample.data[:12] + struct.pack("<i", size) + sample.data[16:])
    with pytest.raises(CheckpointError, match=NAME):
        read_manifest(path, NAME)


def test_the_footer_is_not_needed(tmp_path: Path, sample: Sample) -> None:
    """What it says is known from the front, and it could say anything."""
    footer = next(region.start for region in regions(sample.data) if region.name == "footer")
    assert restored(tmp_path, sample.data[:footer]).rows == 5


def columns() -> dict[str, pa.Array]:
    """The columns of three good rows."""
    binary = pa.array([b"a", b"bb", b"ccc"])
    return {
        "locator": pa.array([1, 2, 3], pa.uint64()),
        "h": pa.array([1, 2, 3], pa.int32()),
        "key": binary,
        "value": binary,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"locator": pa.array([1, 2, 3], pa.int64())},
        {"h": pa.array([1, 2, 3], pa.uint32())},
        {"key": pa.array(["a", "b", "c"])},
        {"key": pa.array([b"a", b"b", b"c"], pa.large_binary())},
        {"key": pa.array([b"a", b"b", b"c"]).dictionary_encode()},
        {"key": pa.array([b"", b"", b""], pa.binary(0))},
        {"value": pa.array([[b"a"], [b"b"], [b"c"]])},
        {"value": pa.StructArray.from_arrays([pa.array([1, 2, 3])], ["x"])},
        {"family": pa.array([0, 0, 0], pa.uint32())},
        {"written": pa.array([0, 0, 0], pa.uint32()), "appended": pa.array([True, True, True])},
        {"more": pa.array([1, 2, 3])},
    ],
)
def test_other_columns_are_refused(tmp_path: Path, changes: dict[str, pa.Array]) -> None:
    """Other types, other names, another order."""
    changed = columns() | changes
    fields = [pa.field(name, array.type, nullable=name == "value") for name, array in changed.items()]
    with pytest.raises(CheckpointError, match=f"{NAME}.*columns"):
        restored(tmp_path, written([pa.RecordBatch.from_arrays(list(changed.values()), schema=pa.schema(fields))]))


@pytest.mark.parametrize(
    "changes",
    [
        {"locator": [3, 2, 1]},
        {"locator": [1, 2, 2**63]},
        {"locator": [1, 1, 1], "key": [b"b", b"a", b"c"]},
        {"locator": [1, 1, 1], "key": [b"a", b"a", b"c"]},
    ],
)
def test_rows_out_of_order_are_refused(tmp_path: Path, changes: dict[str, list[int] | list[bytes]]) -> None:
    changed = columns() | {name: pa.array(values, columns()[name].type) for name, values in changes.items()}
    rows = Block(changed["locator"].to_numpy(), changed["h"].to_numpy(), changed["key"], changed["value"])
    with pytest.raises(CheckpointError, match=f"{NAME}.*not in order"):
        restored(tmp_path, written([batch_of(rows)]))


@pytest.mark.parametrize("keys", [(b"c", b"b"), (b"b", b"b")])
def test_a_locator_continues_with_greater_keys(tmp_path: Path, keys: tuple[bytes, bytes]) -> None:
    """In the next batch; with lesser or equal keys the batches are refused."""
    locator, h = np.full(2, 7, np.uint64), np.zeros(2, np.int32)
    first, last, after = (Block(locator, h, pa.array([key, key + b"x"]), VALUES) for key in (*keys, b"d"))
    assert restored(tmp_path, written([batch_of(first), batch_of(after)])).rows == 4
    with pytest.raises(CheckpointError, match=f"{NAME}.*not in order"):
        restored(tmp_path, written([batch_of(first), batch_of(last)]))


def test_batches_out_of_order_and_mixed_families_are_refused(tmp_path: Path) -> None:
    flags = {"removed": False, "appended": False, "written": False}
    rows = SortedRows.of([block(family, 3, **flags) for family in (0, 3)])
    batches = [b.record_batch(rows.schema) for b in rows.blocks]
    assert restored(tmp_path, written(batches)).rows == 6
    for order in (batches[::-1], [batches[0], batches[0]]):
        with pytest.raises(CheckpointError, match=f"{NAME}.*not in order"):
            restored(tmp_path, written(order))
    mixed = batches[0].set_column(4, rows.schema.field(4), pa.array([0, 1, 1], pa.uint16()))
    with pytest.raises(CheckpointError, match=f"{NAME}.*2 column families"):
        restored(tmp_path, written([mixed]))


def test_the_number_of_rows_is_that_of_the_manifest(tmp_path: Path, sample: Sample) -> None:
    (tmp_path / "file").write_bytes(sample.data)
    with pytest.raises(CheckpointError, match=r"4 rows.*5 rows"):
        restore_segment(tmp_path, tmp_path / "file", NAME, sample.manifest.checksum, rows=4)


def test_no_more_rows_are_written_than_the_manifest_says(tmp_path: Path) -> None:
    """A small file may hold any number of equal rows."""
    blocks = [number_block(1000 * n) for n in range(50)]
    (tmp_path / "file").write_bytes(written([batch_of(b) for b in blocks]))
    seen: list[Block] = []
    with pytest.raises(CheckpointError, match=r"1500 rows.*2000 rows"):
        restore_segment(tmp_path, tmp_path / "file", NAME, Forged(), rows=1500, check=seen.append)
    assert len(seen) <= 2
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_restore_leaves_room_on_the_disk(tmp_path: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the write buffers of other tasks."""
    (tmp_path / "file").write_bytes(sample.data)
    disk = os.statvfs(tmp_path)
    few = os.statvfs_result((*disk[:3], 1000, 1000, *disk[5:]))
    monkeypatch.setattr("keygroups.segment.restore.os.statvfs", lambda _: few)
    with pytest.raises(CapacityError, match=f"{NAME}.*reserve"):
        restore_segment(tmp_path, tmp_path / "file", NAME, Forged())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def number_block(start: int) -> Block:
    """A thousand rows with equal values."""
    locator = np.arange(start, start + 1000, dtype=np.uint64)
    column = pa.array([b"x" * 100] * 1000)
    return Block(locator, np.zeros(1000, np.int32), column, column)


def test_a_family_whose_rows_are_all_dead_leaves_a_file_that_can_be_read(tmp_path: Path) -> None:
    """Its keys were put and removed in one batch."""
    rows = SortedRows.of([block(0, 3, removed=False, appended=False, written=False), dead(tmp_path)])
    write_checkpoint_form(tmp_path / "c", rows, {}, "zstd")
    assert restore_segment(tmp_path, tmp_path / "c", "c", rows.checksum(), rows=3).rows == 3


def dead(folder: Path) -> Block:
    """What is left of a chunk of family 1 with a new key that was removed."""
    header = struct.pack("<QiiIi", 1, 1, 1, 0, 2 | 4)
    (folder / "chunk").write_bytes(header + b"k")
    return read_chunk(Chunk(1, str(folder / "chunk"), 1, 1, 0))
