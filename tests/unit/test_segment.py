"""Chunks, blocks, sorting and merging against plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from keygroups.checkpoint.manifest import FileRef
from keygroups.checkpoint.names import FileName
from keygroups.errors import CheckpointError, InternalError
from keygroups.segment.block import Block, has_appends
from keygroups.segment.chunk import APPENDED, HEADER, NEW, SUPERSEDED, TOMBSTONE, Chunk, read_chunk
from keygroups.segment.file import Segment, write_segment
from keygroups.segment.merge import merge_runs
from keygroups.segment.split import even_cuts, joined
from support.checkpoint_files import plain_catalog, restore, through_a_file, write

Row = tuple[bytes, bytes | None]

KEYS = st.integers(0, 30).map(lambda n: n.to_bytes(8, "little")) | st.binary(max_size=12)
VALUES = st.none() | st.just(b"12345678") | st.binary(max_size=12)
BATCHES = st.lists(st.dictionaries(KEYS, VALUES, max_size=40), min_size=1, max_size=5)


def locator_of(key: bytes, bits: int) -> int:
    """A locator with few hash bits, so that keys collide."""
    return int(xxhash.xxh64_intdigest(key)) & ((1 << bits) - 1)


def write_chunk(folder: Path, rows: Sequence[Row], bits: int, flags: Sequence[int] | None = None) -> Chunk:
    """Write rows as the JVM does."""
    header = np.zeros(len(rows), HEADER)
    header["locator"] = [locator_of(key, bits) for key, _ in rows]
    header["key_bytes"] = [len(key) for key, _ in rows]
    header["value_bytes"] = [len(value or b"") for _, value in rows]
    header["flags"] = [TOMBSTONE if value is None else 0 for _, value in rows]
    header["flags"] |= np.array(flags if flags is not None else [0] * len(rows), np.int32)
    keys, values = b"".join(key for key, _ in rows), b"".join(value or b"" for _, value in rows)
    path = folder / "rows.chunk"
    path.write_bytes(header.tobytes() + keys + values)
    return Chunk(0, str(path), len(rows), len(keys), len(values))


def rows_of(blocks: Sequence[Block]) -> list[Row]:
    """All rows, in order."""
    return [row for b in blocks for row in zip(b.key.to_pylist(), b.value.to_pylist(), strict=True)]


def segment_of(folder: Path, rows: dict[bytes, bytes | None], bits: int) -> Segment:
    """A local segment of these rows."""
    block = read_chunk(write_chunk(folder, list(rows.items()), bits))
    return write_segment(folder, [block])


@settings(deadline=None)
@given(rows=st.dictionaries(KEYS, VALUES), bits=st.sampled_from([2, 48]))
def test_a_chunk_becomes_a_sorted_block(rows: dict[bytes, bytes | None], bits: int) -> None:
    """Order is by locator and then by key, whatever the widths."""
    with TemporaryDirectory() as folder:
        block = read_chunk(write_chunk(Path(folder), list(rows.items()), bits))
    assert rows_of([block]) == sorted(rows.items(), key=lambda row: (locator_of(row[0], bits), row[0]))


def test_dead_rows_of_a_chunk_are_left_out(tmp_path: Path) -> None:
    """Superseded rows go, and tombstones of keys that nothing below holds."""
    rows: list[Row] = [(b"a", b"1"), (b"a", b"22"), (b"b", None), (b"c", None)]
    chunk = write_chunk(tmp_path, rows, 48, flags=[SUPERSEDED, 0, NEW, 0])
    assert sorted(rows_of([read_chunk(chunk)])) == [(b"a", b"22"), (b"c", None)]


def test_a_cut_chunk_is_refused(tmp_path: Path) -> None:
    """Its parts would be taken for each other."""
    chunk = write_chunk(tmp_path, [(b"a", b"1")], 48)
    Path(chunk.path).write_bytes(Path(chunk.path).read_bytes()[:-1])
    with pytest.raises(InternalError, match=f"{chunk.path}.*expected 26, found 25"):
        read_chunk(chunk)


@settings(deadline=None)
@given(batches=BATCHES, bits=st.sampled_from([2, 48]), bottom=st.booleans(), block_bytes=st.sampled_from([64, 10**6]))
def test_a_merge_keeps_the_newest_row(
    batches: list[dict[bytes, bytes | None]], bits: int, bottom: bool, block_bytes: int
) -> None:
    """Batches are newest first; at the bottom tombstones go; blocks are bounded and in order of (locator, key)."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        segments = [segment_of(folder, rows, bits) for rows in batches]
        merged = merge_runs(folder, [s.blocks for s in segments], bottom=bottom, block_bytes=block_bytes)
        newest: dict[bytes, bytes | None] = {}
        for rows in reversed(batches):
            newest |= rows
        expected = {k: v for k, v in newest.items() if not (bottom and v is None)}
        assert rows_of(merged.blocks) == sorted(expected.items(), key=lambda row: (locator_of(row[0], bits), row[0]))
        edges = [[(int(b.locator[at]), b.key[at].as_py()) for at in (0, -1)] for b in merged.blocks]
        assert all(left[1] < right[0] for left, right in pairwise(edges))
        assert all(len(b) == 1 or b.nbytes <= 4 * block_bytes for b in merged.blocks)
        assert rows_of(through_a_file(folder, merged.blocks).blocks) == rows_of(merged.blocks)


@pytest.mark.parametrize("compression", ["zstd", "lz4", "none"])
def test_a_checkpoint_file_is_restored_or_refused(tmp_path: Path, compression: str) -> None:
    """Whole files come back; one flipped byte in the data is found, wherever it is."""
    segment = segment_of(tmp_path, {bytes([i] * 8): bytes([i] * 16) for i in range(200)}, 48)
    path, ref = write(tmp_path, segment.blocks, plain_catalog(), FileName("version", 1, f"{1:032x}"), compression)
    assert rows_of(restore(tmp_path, path, ref).blocks) == rows_of(segment.blocks)
    whole = path.read_bytes()
    outcomes = [_flipped(path, whole, at, ref, segment) for at in range(0, len(whole), 97)]
    assert "refused" in outcomes
    assert "wrong" not in outcomes


def _flipped(path: Path, whole: bytes, at: int, ref: FileRef, segment: Segment) -> str:
    """What comes of a file with one changed byte; some bytes are padding."""
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
    try:
        restored = restore(path.parent, path, ref)
    except CheckpointError as error:
        return "refused" if ref.path in str(error) else "wrong"
    return "right" if rows_of(restored.blocks) == rows_of(segment.blocks) else "wrong"


def test_a_local_segment_goes_with_its_last_holder(tmp_path: Path) -> None:
    """Nothing else deletes local files."""
    segment = segment_of(tmp_path, {b"a": b"1"}, 48)
    path = segment.path
    assert path.exists()
    del segment
    assert not path.exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (pa.array([b"a", b"bb", b"ccc"]), pa.array([b"1", None, b"333"])),
        (pa.array([b"x", b"a", b"bb", b"ccc"]).slice(1), pa.array([b"x", b"1", None, b"333"]).slice(1)),
        (pa.array([b"a", b"bb", b"ccc"]).take(pa.array([2, 1, 0])), pa.array([b"", b"", b""])),
        (pa.array([b"aa", b"bb", b"cc"], pa.binary(2)), pa.array([None, b"22", b"33"], pa.binary(2))),
        (pa.array([b"aa", b"bb", b"cc", b"dd"], pa.binary(2)).slice(1), pa.array([b"1", None, None])),
    ],
)
def test_columns_of_any_kind_come_back(tmp_path: Path, key: pa.Array, value: pa.Array) -> None:
    block = Block(np.arange(3, dtype=np.uint64), np.zeros(3, np.uint16), key, value)
    assert rows_of(write_segment(tmp_path, [block]).blocks) == rows_of([block])
    assert rows_of(through_a_file(tmp_path, [block]).blocks) == rows_of([block])


LISTS = st.lists(
    st.tuples(st.sampled_from([b"k1", b"k2", b"key3"]), st.sampled_from(["put", "append", "remove"]), VALUES),
    max_size=12,
)


@given(batches=st.lists(LISTS, min_size=1, max_size=4), bits=st.sampled_from([0, 2, 40]))
@settings(deadline=None)
def test_appended_values_follow_those_of_older_rows(
    batches: list[list[tuple[bytes, str, bytes | None]]], bits: int
) -> None:
    """Against lists in a dict; what is merged above the bottom is merged with the rest later."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        model: dict[bytes, bytes] = {}
        segments = [_appends(folder, batch, bits, model) for batch in batches]
        runs = [segment.blocks for segment in segments]
        newer = merge_runs(folder, runs[:0:-1], bottom=False, block_bytes=64)
        whole = merge_runs(folder, [newer.blocks, runs[0]] if len(runs) > 1 else runs, bottom=True, block_bytes=64)
        assert dict(rows_of(whole.blocks)) == model
        assert not any(map(has_appends, whole.blocks))


def _appends(
    folder: Path, batch: list[tuple[bytes, str, bytes | None]], bits: int, model: dict[bytes, bytes]
) -> Segment:
    """A batch as the JVM's write buffer leaves it, and what it does to the model."""
    rows: list[Row] = []
    flags: list[int] = []
    for key, what, value in batch:
        older = [i for i, (k, _) in enumerate(rows) if k == key and not flags[i] & SUPERSEDED]
        exists = key in model
        model[key] = (model.get(key, b"") if what == "append" else b"") + (value or b"")
        appends = what == "append" and exists
        if not appends:
            for i in older:
                flags[i] |= SUPERSEDED
        rows.append((key, None if what == "remove" else value or b""))
        flags.append(APPENDED if appends else 0)
        if what == "remove":
            del model[key]
    block = read_chunk(write_chunk(folder, rows, bits, flags))
    return write_segment(folder, [block])


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    families=st.integers(1, 3),
    max_bytes=st.sampled_from([1, 300, 10**6]),
)
@settings(deadline=None)
def test_joined_blocks_have_the_same_rows(sizes: list[int], families: int, max_bytes: int) -> None:
    """They are of one family each, and larger than allowed only as they were."""
    numbers = sorted(number % families for number in range(len(sizes)))
    ends = np.cumsum(sizes)
    blocks = [
        Block(
            np.arange(end - size, end, dtype=np.uint64),
            np.zeros(size, np.uint16),
            pa.array([n.to_bytes(8, "big") for n in range(end - size, end)], pa.binary(8)),
            pa.array([b"v" * (n % 3) for n in range(size)], pa.binary()),
            family,
        )
        for size, end, family in zip(sizes, ends.tolist(), numbers, strict=True)
    ]
    found = list(joined(blocks, max_bytes))
    assert [(b.family, *row) for b in found for row in rows_of([b])] == [
        (b.family, *row) for b in blocks for row in rows_of([b])
    ]
    assert all(len(block) in sizes or block.nbytes <= max_bytes for block in found)


@given(rows=st.integers(0, 100), parts=st.integers(0, 120))
def test_even_cuts_cover_all_rows(rows: int, parts: int) -> None:
    """Each row lies in one part, and no part is empty."""
    cuts = list(even_cuts(rows, parts))
    assert [row for start, stop in cuts for row in range(start, stop)] == list(range(rows))
    assert all(stop > start for start, stop in cuts)
