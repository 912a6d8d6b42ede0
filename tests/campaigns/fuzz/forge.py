"""Files that look whole: another structure, other buffers or another manifest, under checksums that fit."""

from __future__ import annotations

import random
from contextlib import suppress

import pyarrow as pa
import pyarrow.ipc as ipc
import xxhash

from campaigns.fuzz.mutate import mutated
from support import format2
from support.arrow_regions import MAGIC
from support.format1 import file_of
from support.format2 import CHECKSUM, KEY, put_together, taken_apart


class Forged(str):
    """A checksum that fits every file: who can write a file can write its checksum too."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return 0


class AnyNumber(int):
    """A number of rows that is that of every file."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return 0


def reshaped(data: bytes, rng: random.Random) -> bytes:
    """The file written anew with mutated buffers, which Arrow does not look at, or with other columns."""
    codec = rng.choice(("zstd", "lz4", None))
    if not data.startswith(MAGIC):
        manifest, blocks = taken_apart(data)
        batches = _reshaped([block.batch for block in blocks], rng)
        return put_together(manifest, [b._replace(batch=c) for b, c in zip(blocks, batches, strict=False)], codec)
    reader = ipc.open_file(pa.BufferReader(data))
    batches = _reshaped([reader.get_batch(number) for number in range(reader.num_record_batches)], rng)
    metadata = reader.schema.metadata if rng.random() < 0.5 else None
    return file_of([batch for batch in batches if batch.schema == batches[0].schema], metadata, codec)


def _reshaped(batches: list[pa.RecordBatch], rng: random.Random) -> list[pa.RecordBatch]:
    if rng.random() < 0.3:
        batches = [_rearranged(batch, rng) for batch in batches][:1]
    else:
        batches = [_mutated_column(batch, rng) for batch in batches]
    if rng.random() < 0.1:
        rng.shuffle(batches)
    return batches


def _mutated_column(batch: pa.RecordBatch, rng: random.Random) -> pa.RecordBatch:
    """Other bytes in one buffer, of the same length."""
    columns = [pa.concat_arrays([c]) if c.offset else c for c in batch.columns]
    at = rng.randrange(len(columns))
    with suppress(pa.ArrowInvalid):  # what is seen here is also to be seen in an uncompressed file
        columns[at] = _with_mutated_buffer(columns[at], rng)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _with_mutated_buffer(array: pa.Array, rng: random.Random) -> pa.Array:
    own = array.buffers()[: 1 if pa.types.is_struct(array.type) else None]
    children = [array.field(i) for i in range(array.type.num_fields)]
    which = rng.randrange(len(own) + len(children))
    if which >= len(own):
        children[which - len(own)] = _with_mutated_buffer(children[which - len(own)], rng)
    elif own[which] is not None and own[which].size:
        old = bytes(own[which])
        own[which] = pa.py_buffer(mutated(old, rng).ljust(len(old), b"\0")[: len(old)])
    return pa.Array.from_buffers(array.type, len(array), own, children=children)


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
            columns[at].cast(pa.string()).dictionary_encode()
            if rng.random() < 0.5 and pa.types.is_integer(columns[at].type)
            else pa.StructArray.from_arrays([columns[at]], ["x"])
        )
    return pa.RecordBatch.from_arrays(columns, names=names)


def with_manifest(data: bytes, text: bytes) -> bytes:
    """The file with another manifest under a checksum that fits."""
    if not data.startswith(MAGIC):
        return format2.with_manifest(data, text)
    reader = ipc.open_file(pa.BufferReader(data))
    metadata = {KEY: text, CHECKSUM: xxhash.xxh3_128(text).hexdigest().encode()}
    return file_of([reader.get_batch(number) for number in range(reader.num_record_batches)], metadata)
