"""Rows of a file as read without the product's code: from a checkpoint file, and from a local file by its layout."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.ipc as ipc
import xxhash

from campaigns.fuzz.unsafe import KEY_GROUPS, locator_of, packed, stored_key
from keygroups.segment.layout import BlockLayout
from support.format1 import checksum_of

MAGIC = b"ARROW1\0\0"
"""Before the first message of a file of format 1. What follows is an Arrow stream, which is read without the footer."""


class Row(NamedTuple):
    """One row of a segment; a value of None is a tombstone."""

    family: int
    locator: int
    key_group: int
    key: bytes
    value: bytes | None
    appended: bool
    written: int


def rows_of_file(data: bytes) -> list[Row]:
    """The rows of a checkpoint file of families of ``samples``."""
    if data.startswith(MAGIC):
        batches = ipc.open_stream(pa.BufferReader(data.removeprefix(MAGIC)))
        return [row for batch in batches for row in _rows_of_format1(batch)]
    manifest = manifest_of_file(data)
    parts = manifest["parts"]
    rows: list[Row] = []
    for (family, *_), batches in zip(parts, streams(data, parts), strict=True):
        for batch in batches:
            first = sum(row.family == family for row in rows) if manifest["kind"] == "changelog" else None
            rows += _rows_of_format2(batch, family, first)
    return rows


def manifest_of_file(data: bytes) -> dict[str, Any]:
    """The manifest of a checkpoint file, by Python's JSON, with the checksum that other manifests have of the file."""
    text = manifest_text(data)
    # As the reader has it: control characters in strings, and any bytes in what it does not know and passes over.
    manifest: dict[str, Any] = json.loads(text.decode(errors="replace"), strict=False)
    return manifest if data.startswith(MAGIC) else manifest | {"checksum": xxhash.xxh3_128_hexdigest(text)}


def checksum_of_file(data: bytes) -> str:
    """The checksum that other manifests have of a file: of format 1 it is of the rows, whatever the manifest is."""
    if data.startswith(MAGIC):
        return checksum_of(list(ipc.open_stream(pa.BufferReader(data.removeprefix(MAGIC)))))
    return xxhash.xxh3_128_hexdigest(manifest_text(data))


def manifest_text(data: bytes) -> bytes:
    """The JSON of a checkpoint file's manifest, by Arrow's stream reader."""
    with ipc.open_stream(pa.BufferReader(data.removeprefix(MAGIC))) as reader:
        return bytes(reader.schema.metadata[b"keygroups.manifest"])


def streams(data: bytes, parts: Sequence[tuple[int, int, Sequence[Any]]]) -> Iterator[list[pa.RecordBatch]]:
    """The batches of the streams of a file; what lies between two streams is not read, nor what follows the last."""
    source = pa.BufferReader(data)
    stream = ipc.open_stream(source)
    start = source.tell()
    for number, (_, offset, blocks) in enumerate(parts):
        if number:
            source.seek(start + offset)
            stream = ipc.open_stream(source)
        yield [_valid(batch) for batch in islice(stream, len(blocks))]


def _valid(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch. Raises ArrowInvalid where Arrow would end the process: the child of a struct has less than no rows."""
    batch.validate()
    return batch


def rows_of_segment(data: bytes) -> list[Row]:
    """The rows of a whole local segment file, by Arrow's stream reader."""
    source, rows = pa.BufferReader(data), list[Row]()
    while source.tell() < len(data):
        rows += [row for batch in ipc.open_stream(source) for row in _plain_rows(batch)]
    return rows


def _rows_of_format1(batch: pa.RecordBatch) -> list[Row]:
    batch.validate(full=True)  # an offset of a key may lead anywhere, where the judge reads a file that the reader left
    groups = pa.array([h % KEY_GROUPS for h in batch["h"].to_pylist()], pa.uint16())
    return _plain_rows(batch.append_column("key_group", groups))


def _plain_rows(batch: pa.RecordBatch) -> list[Row]:
    names, n = batch.schema.names, batch.num_rows
    absent: dict[str, list[Any]] = {"family": [0] * n, "appended": [False] * n, "written": [0] * n}
    columns = [batch[name].to_pylist() if name in names else absent[name] for name in Row._fields]
    return [Row(*values) for values in zip(*columns, strict=True)]


def _rows_of_format2(batch: pa.RecordBatch, family: int, first: int | None) -> list[Row]:
    rows = []
    for n, row in enumerate(batch.to_pylist()):
        key = stored_key(family, list(row["key"].values())) if isinstance(row["key"], dict) else row["key"]
        value = packed(*row["value"].values()) if isinstance(row["value"], dict) else row["value"]
        locator = row.get("locator", locator_of(family, row["key_group"], key) if first is None else first + n)
        written = (row.get("appended", False), row.get("written", 0))
        rows.append(Row(family, locator, row["key_group"], key, value, *written))
    return rows


def rows_of_local(data: bytes, layouts: Sequence[BlockLayout]) -> list[Row]:
    """The rows of a local segment file, from where its layout says that they are: so the JVM reads them."""
    return [_local_row(data, layout, n) for layout in layouts for n in range(layout.rows)]


def _local_row(data: bytes, at: BlockLayout, n: int) -> Row:
    value = None
    if _bit(data, at.value_validity, n, absent=True):
        value = _bytes(data, at.value_width, at.value_offsets, at.value_data, at.value_bytes, n)
    return Row(
        at.family,
        _number(data, "<q", at.locator, n),
        _number(data, "<H", at.key_group, n),
        _bytes(data, at.key_width, at.key_offsets, at.key_data, at.key_bytes, n),
        value,
        _bit(data, at.appended, n, absent=False),
        0 if at.written == -1 else _number(data, "<I", at.written, n),
    )


def _number(data: bytes, kind: str, at: int, n: int) -> int:
    place = at + n * struct.calcsize(kind)
    assert at >= 0, f"a negative offset: {at}"
    return int(struct.unpack_from(kind, data, place)[0])


def _bit(data: bytes, at: int, n: int, *, absent: bool) -> bool:
    return absent if at == -1 else bool(data[at + n // 8] >> n % 8 & 1)


def _bytes(data: bytes, width: int, offsets: int, start: int, size: int, n: int) -> bytes:
    ends = (n * width, n * width + width)
    if not width:
        ends = (_number(data, "<i", offsets, n), _number(data, "<i", offsets, n + 1))
    assert 0 <= ends[0] <= ends[1] <= size, f"row {n} lies at {ends} of a column of {size} bytes"
    assert ends[0] == ends[1] or 0 <= start <= start + ends[1] <= len(data), f"row {n} lies outside of the file"
    return data[start + ends[0] : start + ends[1]]


def state_of(runs: Sequence[Sequence[Row]]) -> dict[tuple[int, bytes], bytes]:
    """The value of each key in these runs, newest first; a row with ``appended`` adds to the older value."""
    state: dict[tuple[int, bytes], bytes] = {}
    for row in (row for run in reversed(runs) for row in run):
        place = (row.family, row.key)
        if row.value is None:
            state.pop(place, None)
        else:
            state[place] = state.get(place, b"") + row.value if row.appended else row.value
    return state
