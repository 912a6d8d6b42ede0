"""The positions of a block's columns in its file: with them the JVM reads rows in place, without an Arrow library."""

from __future__ import annotations

import msgspec
import pyarrow as pa


class BlockLayout(msgspec.Struct, frozen=True, rename="camel"):
    """Byte offsets from the start of the file; -1 for a buffer that does not exist.

    ``value_validity`` and ``appended`` are bitmaps, the first bit of a byte its lowest. A fixed-width column has a
    width above 0 and no offsets; any other has ``rows + 1`` int32 offsets into its data.
    """

    family: int
    rows: int
    locator: int
    key_group: int
    key_width: int
    key_offsets: int
    key_data: int
    key_bytes: int
    value_width: int
    value_offsets: int
    value_data: int
    value_bytes: int
    value_validity: int
    appended: int
    written: int


def layout_of(batch: pa.RecordBatch, family: int, base: int) -> BlockLayout:
    """Layout of a record batch of a column family, in a file that is mapped at address ``base``."""
    key, value = batch.column("key"), batch.column("value")
    return BlockLayout(
        family=family,
        rows=batch.num_rows,
        locator=_offset(batch.column("locator").buffers()[1], base),
        key_group=_offset(batch.column("key_group").buffers()[1], base),
        key_width=_width(key),
        key_offsets=_offsets(key, base),
        key_data=_offset(key.buffers()[-1], base),
        key_bytes=_size(key),
        value_width=_width(value),
        value_offsets=_offsets(value, base),
        value_data=_offset(value.buffers()[-1], base),
        value_bytes=_size(value),
        value_validity=_offset(value.buffers()[0], base) if value.null_count else -1,
        appended=_optional(batch, "appended", base),
        written=_optional(batch, "written", base),
    )


def _optional(batch: pa.RecordBatch, column: str, base: int) -> int:
    return _offset(batch.column(column).buffers()[1], base) if column in batch.schema.names else -1


def _offset(buffer: pa.Buffer | None, base: int) -> int:
    return -1 if buffer is None or buffer.size == 0 else buffer.address - base


def _offsets(column: pa.Array, base: int) -> int:
    return -1 if _width(column) else _offset(column.buffers()[1], base)


def _width(column: pa.Array) -> int:
    return int(column.type.byte_width) if pa.types.is_fixed_size_binary(column.type) else 0


def _size(column: pa.Array) -> int:
    data = column.buffers()[-1]
    return 0 if data is None else int(data.size)
