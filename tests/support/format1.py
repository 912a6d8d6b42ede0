"""Writes files of format 1, as release 0.1.0 did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import xxhash

from keygroups.checkpoint.format1 import _update
from keygroups.segment.block import Block


def batches_of(blocks: Sequence[Block]) -> list[pa.RecordBatch]:
    """Blocks as record batches of one schema: keys and values are bytes, of a fixed width if all have it."""
    key, value = (_common([getattr(block, name) for block in blocks]) for name in ("key", "value"))
    fields = [
        pa.field("locator", pa.uint64(), nullable=False),
        pa.field("h", pa.int32(), nullable=False),
        pa.field("key", key, nullable=False),
        pa.field("value", value),
        *(pa.field("family", pa.uint16(), nullable=False) for _ in range(any(block.family for block in blocks))),
        *(pa.field("appended", pa.bool_(), nullable=False) for _ in range(any(b.appended is not None for b in blocks))),
        *(pa.field("written", pa.uint32(), nullable=False) for _ in range(any(b.written is not None for b in blocks))),
    ]
    return [_batch(block, pa.schema(fields)) for block in blocks]


def file_of(
    batches: Sequence[pa.RecordBatch], metadata: dict[bytes, bytes] | None = None, codec: str | None = "zstd"
) -> bytes:
    """Batches as a file."""
    sink, schema = pa.BufferOutputStream(), batches[0].schema.with_metadata(metadata or {})
    with ipc.new_file(sink, schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def checksum_of(batches: Sequence[pa.RecordBatch]) -> str:
    """xxh3-128 of all column buffers."""
    digest = xxhash.xxh3_128()
    for batch in batches:
        family = batch.column("family")[0].as_py() if "family" in batch.schema.names else 0
        whole = pa.RecordBatch.from_arrays([pa.concat_arrays([c]) for c in batch.columns], schema=batch.schema)
        _update(digest, whole, family)
    return digest.hexdigest()


def _batch(block: Block, schema: pa.Schema) -> pa.RecordBatch:
    n = len(block)
    columns = {
        "locator": pa.array(block.locator),
        "h": pa.array(block.key_group.astype(np.int32)),
        "key": block.key.cast(schema.field("key").type),
        "value": block.value.cast(schema.field("value").type),
        "family": pa.array(np.full(n, block.family, np.uint16)),
        "appended": pa.array([False] * n) if block.appended is None else block.appended,
        "written": pa.array(np.zeros(n, np.uint32) if block.written is None else block.written),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _common(columns: Sequence[pa.Array]) -> pa.DataType:
    kinds = {column.type for column in columns if column.null_count < len(column)}
    return kinds.pop() if len(kinds) == 1 else pa.binary()
