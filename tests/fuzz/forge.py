"""Files that look whole: another structure, other buffers or another manifest, under checksums that fit."""

from __future__ import annotations

import random
from contextlib import suppress

import pyarrow as pa
import pyarrow.ipc as ipc
import xxhash

from fuzz.mutate import mutated

KEY, CHECKSUM = b"keygroups.manifest", b"keygroups.manifest.checksum"


class Forged(str):
    """A checksum that fits every file: who can write a file can write its checksum too."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return 0


def reshaped(data: bytes, rng: random.Random) -> bytes:
    """The file written anew with mutated buffers, which Arrow does not look at, or with other columns."""
    table = ipc.open_file(pa.BufferReader(data)).read_all()
    batches = table.to_batches()
    if rng.random() < 0.3:
        batches = [_rearranged(batch, rng) for batch in batches][:1]
    else:
        batches = [_mutated_column(batch, rng) for batch in batches]
    if rng.random() < 0.1:
        rng.shuffle(batches)
    sink = pa.BufferOutputStream()
    codec = rng.choice(("zstd", "lz4", None))
    with ipc.new_file(sink, batches[0].schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def _mutated_column(batch: pa.RecordBatch, rng: random.Random) -> pa.RecordBatch:
    """Other bytes in one buffer, of the same length."""
    columns = [pa.concat_arrays([c]) if c.offset else c for c in batch.columns]
    at = rng.randrange(len(columns))
    buffers = columns[at].buffers()
    which = rng.randrange(len(buffers))
    if buffers[which] is not None and buffers[which].size:
        old = bytes(buffers[which])
        buffers[which] = pa.py_buffer(mutated(old, rng).ljust(len(old), b"\0")[: len(old)])
        with suppress(pa.ArrowInvalid):  # what is seen here is also to be seen in an uncompressed file
            columns[at] = pa.Array.from_buffers(columns[at].type, len(batch), buffers)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _rearranged(batch: pa.RecordBatch, rng: random.Random) -> pa.RecordBatch:
    """Columns of other types, names or order."""
    columns, names = list(batch.columns), list(batch.schema.names)
    at, other = rng.randrange(len(columns)), rng.randrange(len(columns))
    what = rng.randrange(5)
    if what == 0:
        columns[at] = pa.array(
            [None] * len(batch), rng.choice((pa.null(), pa.string(), pa.large_binary(), pa.list_(pa.int8())))
        )
    elif what == 1:
        names[at], names[other] = names[other], names[at]
    elif what == 2:
        columns[at], columns[other] = columns[other], columns[at]
    elif what == 3:
        del columns[at], names[at]
    else:
        columns[at] = (
            columns[at].dictionary_encode() if rng.random() < 0.5 else pa.StructArray.from_arrays([columns[at]], ["x"])
        )
    return pa.RecordBatch.from_arrays(columns, names=names)


def with_manifest(data: bytes, text: bytes) -> bytes:
    """The file with another manifest under a checksum that fits."""
    reader = ipc.open_file(pa.BufferReader(data))
    metadata = {KEY: text, CHECKSUM: xxhash.xxh3_128(text).hexdigest().encode()}
    sink = pa.BufferOutputStream()
    with ipc.new_file(
        sink, reader.schema.with_metadata(metadata), options=ipc.IpcWriteOptions(compression="zstd")
    ) as writer:
        for number in range(reader.num_record_batches):
            writer.write_batch(reader.get_batch(number))
    return bytes(sink.getvalue())
