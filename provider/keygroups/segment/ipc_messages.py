"""The messages of Arrow IPC files and streams, read from untrusted bytes.

A stream consists of a schema message, a message per batch, and an end marker. A file is a magic number, a stream, and a
footer that repeats the positions of its messages. Both are read with read(2): a footer could point anywhere, and a
mapped file could be cut while it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from struct import Struct

import pyarrow as pa
import pyarrow.ipc as ipc

from keygroups.segment.flatbuffer import I64, U8, U16, Table
from keygroups.segment.limits import check_batch

_MAGIC = b"ARROW1\0\0"
_PREFIX = Struct("<Ii")
_CONTINUED = 0xFFFFFFFF
_SCHEMA, _RECORD_BATCH = 1, 3
_LITTLE_ENDIAN = 0
_V5 = 4
"""Version of Arrow's format since 1.0. Messages of V4 could specify compression in another place."""
MAX_METADATA_BYTES = (64 << 20) + (1 << 16)
"""Of a message: a manifest of 64 MiB and the rest of the schema."""


def is_cut(path: Path) -> bool:
    """Whether a local file or stream of Arrow ends before its schema does. False for other files."""
    with path.open("rb") as file:
        head = file.read(len(_MAGIC) + _PREFIX.size)
    start = len(_MAGIC) if head.startswith(_MAGIC) else 0
    if len(head) < start + _PREFIX.size:
        return False
    mark, size = _PREFIX.unpack_from(head, start)
    return bool(mark == _CONTINUED and path.stat().st_size < start + _PREFIX.size + size)


def read_schema(source: pa.NativeFile) -> pa.Schema:
    """The schema that comes next: at the beginning of a file or of a stream, whose rest may be missing.

    Raises:
        ValueError, OSError, pa.ArrowException: there is none.
    """
    start = source.tell()
    if source.read(len(_MAGIC)) != _MAGIC:
        source.seek(start)
    message = _next(source)
    header = None if message is None else Table(_metadata(message)).table(2)
    if header is None or _kind(_metadata(message)) != _SCHEMA:
        raise ValueError(f"no schema of Arrow at byte {start}")
    if header.number(0, U16) != _LITTLE_ENDIAN:  # batches are read alone, so nothing would turn their numbers around
        raise ValueError(f"a schema of big-endian columns at byte {start}")
    return ipc.read_schema(message)


def read_batches(source: pa.NativeFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches that follow the schema, complete and within the limits. Raises as ``read_schema``."""
    while (message := _next(source)) is not None:
        yield read_batch(message, schema)


def read_batch(message: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """The record batch of a whole message, within the limits. Raises as ``read_schema``."""
    metadata = _metadata(message)
    header = Table(metadata).table(2)
    if _kind(metadata) != _RECORD_BATCH or header is None:
        raise ValueError("a message that is not a record batch")
    body = memoryview(message)[_PREFIX.size + len(metadata) :]
    if Table(metadata).number(3, I64) != len(body):
        raise ValueError(f"a message with a body of {len(body)} bytes that states another length")
    check_batch(header, body, schema)
    batch = ipc.read_record_batch(ipc.read_message(message), schema)
    batch.validate(full=True)
    return batch


def _next(source: pa.NativeFile) -> pa.Buffer | None:
    """The next message, prefix, metadata and body; None at the end."""
    start, left = source.tell(), source.size() - source.tell()
    prefix = source.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size:
        raise ValueError(f"the file ends at byte {start + left}, where a message begins")
    mark, size = _PREFIX.unpack(prefix)
    if mark != _CONTINUED:
        raise ValueError(f"no message at byte {start}")
    if size == 0:
        return None
    if not 0 < size <= min(left - _PREFIX.size, MAX_METADATA_BYTES) or size % 8:
        raise ValueError(f"a message of {size} bytes of metadata at byte {start}, where {left} are left")
    body = Table(memoryview(source.read_buffer(size))).number(3, I64)
    if not 0 <= body <= left - _PREFIX.size - size:
        raise ValueError(f"a message of {body} bytes at byte {start}, where {left} are left")
    source.seek(start)
    return _whole(source, _PREFIX.size + size + body)


def _whole(source: pa.NativeFile, size: int) -> pa.Buffer:
    message = source.read_buffer(size)
    if message.size < size:
        raise ValueError("the file became shorter while it was read")
    return message


def _metadata(message: pa.Buffer) -> memoryview:
    """The metadata of a whole message."""
    view = memoryview(message)
    mark, size = _PREFIX.unpack_from(view) if len(view) >= _PREFIX.size else (0, 0)
    if mark != _CONTINUED or not 0 < size <= len(view) - _PREFIX.size:
        raise ValueError("not a message of Arrow")
    return view[_PREFIX.size : _PREFIX.size + size]


def _kind(metadata: memoryview) -> int:
    """The type of a message's header, 0 if unknown."""
    table = Table(metadata)
    return table.number(1, U8) if table.number(0, U16) == _V5 else 0
