"""Record batches of any schemas in one file: Arrow IPC streams, one after another.

Batches that follow each other with the same schema share a stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.ipc as ipc


def write_streams(sink: pa.NativeFile, batches: Iterable[pa.RecordBatch]) -> None:
    """Write batches, uncompressed."""
    writer: ipc.RecordBatchStreamWriter | None = None
    schema = None
    for batch in batches:
        if writer is None or batch.schema != schema:
            if writer is not None:
                writer.close()
            schema = batch.schema
            writer = ipc.new_stream(sink, schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()


def read_streams(data: pa.Buffer) -> Iterator[pa.RecordBatch]:
    """The batches of a file that this machine has written, without a copy."""
    source = pa.BufferReader(data)
    while source.tell() < data.size:
        yield from ipc.open_stream(source)
