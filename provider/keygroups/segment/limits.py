"""The largest record batch that is accepted, checked before Arrow allocates memory for it.

Each compressed buffer begins with its uncompressed length in 8 bytes, and Arrow allocates that much at once: a file of
100 bytes could ask for exabytes. The numbers are read from the metadata as Arrow's ``Message.fbs`` lays it out.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from keygroups.segment.flatbuffer import I64, Table

MAX_BATCH_BYTES = 2**31 - 1
"""All buffers of a batch, uncompressed: offsets have 32 bits, and the JVM maps a block as one buffer."""
_ALIGNMENT = 8
_PADDING = 64


def check_batch(batch: Table, body: memoryview, schema: pa.Schema) -> None:
    """Check a record batch that is still compressed.

    Args:
        batch: the RecordBatch table of its message.
        body: the body of the message.
        schema: its columns are of types that segments have, or structs of these.

    Raises:
        ValueError: it needs more memory than its rows or any batch may, or refers to bytes outside of ``body``.
    """
    rows = batch.number(0, I64)
    kinds = [kind for field in schema for kind in _flat(field.type)]
    for length, nulls in _counted(batch.pairs(1), len(kinds), "columns"):
        if length != rows or not 0 <= nulls <= rows:
            raise ValueError(f"a column of {length} rows and {nulls} nulls in a batch of {rows} rows")
    wanted = [size for kind in kinds for size in _sizes(kind, rows)]
    compressed = batch.table(3) is not None
    total = 0
    for (at, length), most in zip(_counted(batch.pairs(2), len(wanted), "buffers"), wanted, strict=True):
        size = _size(body, at, length, compressed=compressed)
        total += size
        if size > most or total > MAX_BATCH_BYTES:
            raise ValueError(f"a buffer of {size} bytes ({total} bytes so far) is too large for a batch of {rows} rows")


def _flat(kind: pa.DataType) -> Iterator[pa.DataType]:
    """A type, and before its children a struct."""
    yield kind
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _flat(field.type)


def _sizes(kind: pa.DataType, rows: int) -> Iterator[int]:
    """The largest possible size of each buffer of a column, validity first, with Arrow's padding."""
    if pa.types.is_null(kind):
        return
    yield _padded((rows + 7) // 8)
    if pa.types.is_struct(kind):
        return
    if pa.types.is_boolean(kind):
        yield _padded((rows + 7) // 8)
    elif pa.types.is_binary(kind) or pa.types.is_string(kind):
        yield _padded((rows + 1) * 4)
        yield MAX_BATCH_BYTES
    else:
        yield _padded(rows * int(kind.bit_width) // 8)


def _padded(size: int) -> int:
    return -(-size // _PADDING) * _PADDING


def _counted(pairs: list[tuple[int, int]], expected: int, what: str) -> list[tuple[int, int]]:
    if len(pairs) != expected:
        raise ValueError(f"a batch of {len(pairs)} {what} where the schema has {expected}")
    return pairs


def _size(body: memoryview, at: int, length: int, *, compressed: bool) -> int:
    """Uncompressed size of a buffer in bytes. Raises ValueError if it lies outside of the body."""
    if not 0 <= at <= at + length <= len(body) or at % _ALIGNMENT:
        raise ValueError(f"a buffer of {length} bytes at byte {at} of {len(body)}")
    if not compressed or length == 0:
        return length
    if length < I64.size:
        raise ValueError(f"a compressed buffer of {length} bytes")
    size = int(I64.unpack_from(body, at)[0])
    if size < -1:
        raise ValueError(f"a compressed buffer that states an uncompressed length of {size} bytes")
    return length - I64.size if size == -1 else size
