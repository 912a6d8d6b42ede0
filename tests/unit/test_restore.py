"""Files that somebody forged: each is refused before it costs memory, and none gets to the JVM."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from campaigns.fuzz.forge import AnyNumber, Forged
from campaigns.fuzz.samples import block, checkpoint_file, contents, named
from keygroups.checkpoint.files import blocks_of
from keygroups.checkpoint.manifest import FileRef, read_manifest
from keygroups.checkpoint.names import FileName
from keygroups.errors import CapacityError, CheckpointError
from keygroups.segment.block import Block
from keygroups.segment.chunk import Chunk, read_chunk
from keygroups.segment.file import Segment
from keygroups.segment.restore import BlockCheck, restore_segment
from keygroups.segment.split import split_blocks
from support.arrow_regions import regions
from support.format1 import batches_of, checksum_of, file_of

BLOCK_BYTES = 1 << 20
NAME = f"0/{FileName('version', 3, f'{3:032x}', 1)}"
ANY = AnyNumber(1 << 40)
VALUES = pa.array([b"1", b"2"])


def restored(
    folder: Path, data: bytes, rows: int = ANY, checksum: str | None = None, check: BlockCheck | None = None
) -> Segment:
    """The file as a local segment, under a checksum that fits."""
    path = folder / "file"
    path.write_bytes(data)
    ref = FileRef(NAME, rows, len(data), Forged() if checksum is None else checksum)
    return restore_segment(folder, blocks_of(path, ref, 28_800), NAME, BLOCK_BYTES, check)


def batch_of(rows: Block) -> pa.RecordBatch:
    """A block as a batch of a segment."""
    (batch,) = batches_of([rows])
    return batch


@pytest.fixture
def sample() -> bytes:
    """A file with a batch of family 1, whose columns vary in width."""
    return file_of(batches_of(contents()[3]))


@pytest.mark.parametrize("size", [2**62, 2**31, -2, -(2**63), 100_000])
def test_a_compressed_buffer_that_asks_for_memory_is_refused(tmp_path: Path, sample: bytes, size: int) -> None:
    """By the 8 bytes before it, which Arrow would believe. In the locators even 100,000 bytes are too many."""
    at = next(region.start for region in regions(sample) if "batch 0 buffer" in region.name)
    forged = sample[:at] + struct.pack("<q", size) + sample[at + 8 :]
    with pytest.raises(CheckpointError, match=rf"{NAME}.*buffer .*{size} bytes"):
        restored(tmp_path, forged)


@pytest.mark.parametrize("size", [2**31 - 8, -8, 12, 2**30])
def test_metadata_that_asks_for_memory_is_refused(tmp_path: Path, sample: bytes, size: int) -> None:
    for region in regions(sample):
        if region.name.endswith("prefix"):
            forged = sample[: region.start + 4] + struct.pack("<i", size) + sample[region.stop :]
            with pytest.raises(CheckpointError, match=f"{NAME}.*message of {size} bytes"):
                restored(tmp_path, forged)
    path = tmp_path / "head"
    path.write_bytes(sample[:12] + struct.pack("<i", size) + sample[16:])
    with pytest.raises(CheckpointError, match=NAME):
        read_manifest(path, NAME)


def test_the_footer_is_not_needed(tmp_path: Path, sample: bytes) -> None:
    """What it says is known from the front, and it could say anything."""
    footer = next(region.start for region in regions(sample) if region.name == "footer")
    assert restored(tmp_path, sample[:footer]).rows == 5


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
        restored(tmp_path, file_of([pa.RecordBatch.from_arrays(list(changed.values()), schema=pa.schema(fields))]))


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
    groups = np.zeros(3, np.uint16)
    rows = Block(changed["locator"].to_numpy(), groups, changed["key"], changed["value"])
    with pytest.raises(CheckpointError, match=f"{NAME}.*not in order"):
        restored(tmp_path, file_of([batch_of(rows)]))


@pytest.mark.parametrize("keys", [(b"c", b"b"), (b"b", b"b")])
def test_a_locator_continues_with_greater_keys(tmp_path: Path, keys: tuple[bytes, bytes]) -> None:
    """In the next batch; with lesser or equal keys the batches are refused."""
    locator, groups = np.full(2, 7, np.uint64), np.zeros(2, np.uint16)
    first, last, after = (Block(locator, groups, pa.array([key, key + b"x"]), VALUES) for key in (*keys, b"d"))
    assert restored(tmp_path, file_of(batches_of([first, after]))).rows == 4
    with pytest.raises(CheckpointError, match=f"{NAME}.*not in order"):
        restored(tmp_path, file_of(batches_of([first, last])))


def test_batches_out_of_order_and_mixed_families_are_refused(tmp_path: Path) -> None:
    flags = {"removed": False, "appended": False, "written": False}
    batches = batches_of([block(family, 3, **flags) for family in (0, 3)])
    assert restored(tmp_path, file_of(batches)).rows == 6
    for order in (batches[::-1], [batches[0], batches[0]]):
        with pytest.raises(CheckpointError, match=f"{NAME}.*not in order"):
            restored(tmp_path, file_of(order))
    mixed = batches[0].set_column(4, batches[0].schema.field(4), pa.array([0, 1, 1], pa.uint16()))
    with pytest.raises(CheckpointError, match=f"{NAME}.*2 column families"):
        restored(tmp_path, file_of([mixed]))


def test_the_number_of_rows_is_that_of_the_manifest(tmp_path: Path, sample: bytes) -> None:
    with pytest.raises(CheckpointError, match=r"4 rows.*5 rows"):
        restored(tmp_path, sample, rows=4)
    with pytest.raises(CheckpointError, match=r"6 rows.*5 rows"):
        restored(tmp_path, sample, rows=6)


@pytest.mark.parametrize("more", [-1, 1])
def test_a_reference_has_the_rows_of_its_file(tmp_path: Path, more: int) -> None:
    """In format 2 too, where the checksum does not cover what another manifest says of the file."""
    file = checkpoint_file(tmp_path, contents()[3], named(3))
    (path := tmp_path / "file").write_bytes(file.data)
    rows = file.manifest.rows
    ref = FileRef(f"0/{named(3)}", rows + more, len(file.data), file.manifest.checksum)
    with pytest.raises(CheckpointError, match=rf"damaged.*{rows + more} rows.*{rows} rows"):
        list(blocks_of(path, ref, 28_800))


def test_no_more_rows_are_written_than_the_manifest_says(tmp_path: Path) -> None:
    """A small file may hold any number of equal rows."""
    blocks = [number_block(1000 * n) for n in range(50)]
    seen: list[Block] = []
    with pytest.raises(CheckpointError, match=r"1500 rows.*2000 rows"):
        restored(tmp_path, file_of(batches_of(blocks)), rows=1500, check=seen.append)
    assert len(seen) <= 2
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_restore_leaves_room_on_the_disk(tmp_path: Path, sample: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the write buffers of other tasks."""
    disk = os.statvfs(tmp_path)
    few = os.statvfs_result((*disk[:3], 1000, 1000, *disk[5:]))
    monkeypatch.setattr("keygroups.segment.restore.os.statvfs", lambda _: few)
    with pytest.raises(CapacityError, match=f"{NAME}.*reserve"):
        restored(tmp_path, sample)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def number_block(start: int) -> Block:
    """A thousand rows with equal values."""
    locator = np.arange(start, start + 1000, dtype=np.uint64)
    column = pa.array([b"x" * 100] * 1000)
    return Block(locator, np.zeros(1000, np.uint16), column, column)


def test_a_family_whose_rows_are_all_dead_leaves_a_file_that_can_be_read(tmp_path: Path) -> None:
    """Its keys were put and removed in one batch."""
    batches = batches_of(split_blocks([block(0, 3), dead(tmp_path)]))
    assert restored(tmp_path, file_of(batches), 3, checksum_of(batches)).rows == 3


def dead(folder: Path) -> Block:
    """What is left of a chunk of family 1 with a new key that was removed."""
    header = struct.pack("<QiiIi", 1, 1, 1, 0, 2 | 4)
    (folder / "chunk").write_bytes(header + b"k")
    return read_chunk(Chunk(1, str(folder / "chunk"), 1, 1, 0))
