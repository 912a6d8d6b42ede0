"""Reads files of format 1: an Arrow IPC file that stores all columns of rows, with one checksum over all of them.

How much a file expands to is bounded in two ways, beside the free disk: it may not have more rows than its manifest
says, and a batch may not have more bytes than its rows need (see ``limits``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import xxhash

from keygroups.checkpoint.manifest import FileRef
from keygroups.errors import CheckpointError
from keygroups.segment.arrays import numpy
from keygroups.segment.block import Block
from keygroups.segment.ipc_messages import read_batches, read_schema
from keygroups.segment.restore import FIX

REQUIRED = {"locator": pa.uint64(), "h": pa.int32(), "key": None, "value": None}
OPTIONAL = {"family": pa.uint16(), "appended": pa.bool_(), "written": pa.uint32()}


def read_blocks(source: pa.NativeFile, ref: FileRef, max_parallelism: int) -> Iterator[Block]:
    """The blocks of a file.

    Args:
        source: the file.
        ref: what a manifest says of it.
        max_parallelism: the number of key groups.

    Raises:
        CheckpointError: the file has other rows than its manifest says.
        ValueError, OSError, pa.ArrowException: it can't be read.
    """
    schema = read_schema(source).remove_metadata()
    check_schema(schema)
    digest, rows = xxhash.xxh3_128(), 0
    for batch in read_batches(source, schema):
        rows += batch.num_rows
        if rows > ref.rows:
            raise _damaged(ref, f"{rows} rows or more")
        if batch.num_rows:
            block = _block(batch, max_parallelism)
            _update(digest, batch, block.family)
            yield block
    if (rows, digest.hexdigest()) != (ref.rows, ref.checksum):
        raise _damaged(ref, f"{digest.hexdigest()} of {rows} rows")


def check_schema(schema: pa.Schema) -> None:
    """Raise ValueError unless the columns are those of format 1, in their order and of their types."""
    kinds = REQUIRED | {name: kind for name, kind in OPTIONAL.items() if name in schema.names}
    if schema.names != list(kinds):
        raise ValueError(f"columns {', '.join(schema.names[:16])}")
    for field, kind in zip(schema, kinds.values(), strict=True):
        fits = field.type == kind if kind is not None else _is_bytes(field.type)
        if not fits or field.nullable != (field.name == "value"):
            raise ValueError(f"columns of other types: {schema.to_string(show_schema_metadata=False)[:500]}")


def _damaged(ref: FileRef, found: str) -> CheckpointError:
    expected = f"{ref.checksum} of {ref.rows} rows"
    return CheckpointError(
        "a file of the checkpoint is damaged", path=ref.path, expected=expected, found=found, fix=FIX
    )


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or (pa.types.is_fixed_size_binary(kind) and kind.byte_width > 0))


def _block(batch: pa.RecordBatch, max_parallelism: int) -> Block:
    names = batch.schema.names
    for column, field in zip(batch.columns, batch.schema, strict=True):
        if column.null_count and not field.nullable:
            raise ValueError(f"column {field.name} has {column.null_count} nulls")
    families = numpy(batch.column("family")) if "family" in names else np.zeros(1, np.uint16)
    if (families != families[0]).any():
        raise ValueError(f"a record batch holds rows of {len(np.unique(families))} column families")
    return Block(
        numpy(batch.column("locator")),
        (numpy(batch.column("h")).astype(np.int64) % max_parallelism).astype(np.uint16),
        batch.column("key"),
        batch.column("value"),
        int(families[0]),
        batch.column("appended") if "appended" in names else None,
        numpy(batch.column("written")) if "written" in names else None,
    )


def _update(digest: xxhash.xxh3_128, batch: pa.RecordBatch, family: int) -> None:
    """Add the column buffers of a batch to a checksum."""
    for name in ("locator", "h", "key", "value", "appended", "written"):
        if name in batch.schema.names:
            for buffer in _written(batch.column(name)):
                digest.update(buffer)
    if family:
        digest.update(family.to_bytes(2, "little"))


def _written(column: pa.Array) -> Iterator[memoryview]:
    """The bytes of a column; memory may hold more, such as a mask without nulls."""
    n = len(column)
    validity, *offsets, data = column.buffers()
    if column.null_count:
        yield memoryview(validity)[: (n + 7) // 8]
    if pa.types.is_boolean(column.type):
        yield memoryview(data)[: (n + 7) // 8]
    elif offsets:
        ends = np.frombuffer(offsets[0], np.int32, n + 1)
        yield (ends - ends[0]).view(np.uint8).data
        if ends[-1] > ends[0]:
            yield memoryview(data)[ends[0] : ends[-1]]
    else:
        yield memoryview(data)[: n * column.type.bit_width // 8]
