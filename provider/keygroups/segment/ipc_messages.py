"""The messages of an Arrow IPC file, read one after another from untrusted bytes.

A file consists of a magic number, a schema message, a message per batch, an end marker, and a footer that repeats their
positions. It is read from front to back with read(2): a footer could point anywhere, and a mapped file could be cut
while it is read.
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
_V5 = 4
"""Version of Arrow's format since 1.0. Messages of V4 could specify compression in another place."""
MAX_METADATA_BYTES = (64 << 20) + (1 << 16)
"""Of a message: a manifest of 64 MiB and the rest of the schema."""


def is_cut(path: Path) -> bool:
    """Whether a local Arrow file ends before its schema does. False for other files."""
    start = len(_MAGIC) + _PREFIX.size
    with path.open("rb") as file:
        head = file.read(start)
    if len(head) < start or not head.startswith(_MAGIC):
        return False
    _, size = _PREFIX.unpack_from(head, len(_MAGIC))
    return bool(path.stat().st_size < start + size)


def read_schema(source: pa.NativeFile) -> pa.Schema:
    """The schema at the beginning of a file; the rest of the file may be missing.

    Raises:
        ValueError, OSError, pa.ArrowException: this is not such a file.
    """
    if source.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("not an Arrow file: it does not begin with ARROW1")
    message = _next(source)
    if message is None or _kind(_metadata(message)) != _SCHEMA:
        raise ValueError("an Arrow file that does not begin with a schema")
    return ipc.read_schema(message)


def read_batches(source: pa.NativeFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches that follow the schema, complete and within the limits. Raises as ``read_schema``."""
    while (message := _next(source)) is not None:
        metadata = _metadata(message)
        header = Table(metadata).table(2)
        if _kind(metadata) != _RECORD_BATCH or header is None:
            raise ValueError("a message that is not a record batch")
        check_batch(header, memoryview(message)[_PREFIX.size + len(metadata) :], schema)
        batch = ipc.read_record_batch(ipc.read_message(message), schema)
        batch.validate(full=True)
        yield batch


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
    _, size = _PREFIX.unpack_from(view)
    return view[_PREFIX.size : _PREFIX.size + size]


def _kind(metadata: memoryview) -> int:
    """The type of a message's header, 0 if unknown."""
    table = Table(metadata)
    return table.number(1, U8) if table.number(0, U16) == _V5 else 0
