"""Rows of a file as read without the product's code: from a checkpoint file, and from a local file by its layout."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.ipc as ipc

from keygroups.segment.layout import BlockLayout

MAGIC = 8
"""Bytes before the first message. What follows is an Arrow stream, which is read without the file's footer."""


class Row(NamedTuple):
    """One row of a segment; a value of None is a tombstone."""

    family: int
    locator: int
    h: int
    key: bytes
    value: bytes | None
    appended: bool
    written: int


def rows_of_file(data: bytes) -> list[Row]:
    """The rows of a checkpoint file, by Arrow's stream reader."""
    with ipc.open_stream(pa.BufferReader(data[MAGIC:])) as reader:
        return [row for batch in reader for row in _rows_of_batch(batch)]


def manifest_of_file(data: bytes) -> dict[str, Any]:
    """The manifest of a checkpoint file, by Arrow's stream reader and Python's JSON."""
    with ipc.open_stream(pa.BufferReader(data[MAGIC:])) as reader:
        manifest: dict[str, Any] = json.loads(reader.schema.metadata[b"keygroups.manifest"])
    return manifest


def _rows_of_batch(batch: pa.RecordBatch) -> list[Row]:
    names, n = batch.schema.names, batch.num_rows
    absent: dict[str, list[Any]] = {"family": [0] * n, "appended": [False] * n, "written": [0] * n}
    columns = [batch[name].to_pylist() if name in names else absent[name] for name in Row._fields]
    return [Row(*values) for values in zip(*columns, strict=True)]


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
        _number(data, "<i", at.hash, n),
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
