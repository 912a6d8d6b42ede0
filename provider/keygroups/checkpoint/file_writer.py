"""Writes files of the checkpoint: a head with the manifest, then the rows as Arrow IPC streams, one after another."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.ipc as ipc
import xxhash

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.family_form import Forms
from keygroups.checkpoint.invariants import MOST_ROWS
from keygroups.checkpoint.manifest import BlockRef, Part
from keygroups.progress import ticking
from keygroups.segment.block import Block
from keygroups.segment.file import all_or_nothing
from keygroups.segment.read_ahead import read_ahead
from keygroups.segment.split import even_cuts, evenly_split

ZSTD_LEVEL: Final = 1
"""500,000 rows of a number and two: 36 ms and 13.2 bytes a row; level -1 takes 29 ms for 13.9, level 3 33 for 13.3."""
BLOCK_BYTES: Final = 256 << 10
"""Of a block before compression. A quarter of it takes twice the time to write, and 2% more room."""
CONVERTED_BYTES: Final = 16 << 20
"""Of rows that are made columns at once, which takes four times their room."""
IN_MEMORY: Final = 64 << 20
"""Blocks with more bytes are compressed to a file."""
COPIED_BYTES: Final = 64 << 20
"""Of that file, copied at once."""

Metadata = Callable[[tuple[Part, ...]], dict[bytes, bytes]]


def write_file(
    path: Path,
    blocks: Sequence[Block],
    catalog: Catalog,
    metadata: Metadata,
    compression: str,
    *,
    numbered: bool = False,
    mapped: bool = False,
) -> None:
    """Write a file of the checkpoint, with a tick for each part of it.

    Args:
        path: a new local file, to be uploaded.
        blocks: its rows, in order.
        catalog: describes their families.
        metadata: gives what the head says of the parts.
        compression: ``zstd``, ``lz4`` or ``none``.
        numbered: see ``FamilyForm.batch``.
        mapped: whether the rows are in a local file, to be read ahead.

    Raises:
        CapacityError: the local disk is full; nothing is left behind.
        CancelledError: the operation was cancelled; nothing is left behind.
    """
    with all_or_nothing(path), closing(_Body(path, sum(block.nbytes for block in blocks))) as body:
        parts = _Parts(body.sink, _options(compression))
        forms = Forms(catalog)
        pieces = (piece for block in blocks for piece in evenly_split(block, CONVERTED_BYTES))
        groups = ((piece,) for piece in ticking(pieces))
        for (piece,) in read_ahead(groups) if mapped else groups:
            parts.write(piece, forms.of(piece.family).batch(piece, numbered=numbered))
        parts.end()
        content = body.content()
        head = parts.schema.with_metadata(metadata(parts.described(content))).serialize()
        with path.open("wb") as file:
            file.write(head)
            for start in ticking(range(parts.start, content.size, COPIED_BYTES)):
                file.write(memoryview(content)[start : start + COPIED_BYTES])


class _Place(NamedTuple):
    """A block: where it lies, and its first and last locator."""

    offset: int
    length: int
    rows: int
    first: int
    last: int


class _Stream(NamedTuple):
    """A stream: of a family, with one schema, at an offset, and its blocks."""

    family: int
    schema: pa.Schema
    offset: int
    blocks: list[_Place]


class _Parts:
    """Streams of batches, and where they lie."""

    def __init__(self, sink: pa.NativeFile, options: ipc.IpcWriteOptions) -> None:
        self._sink, self._options = sink, options
        self._writer: ipc.RecordBatchStreamWriter | None = None
        self._streams: list[_Stream] = []

    @property
    def schema(self) -> pa.Schema:
        """The schema of the first stream."""
        return self._streams[0].schema if self._streams else pa.schema([])

    @property
    def start(self) -> int:
        """What the first schema takes: the head has it too, and all offsets are counted from its end."""
        return int(self.schema.serialize().size)

    def write(self, block: Block, batch: pa.RecordBatch) -> None:
        """Write a block, as a batch, in pieces."""
        latest = self._streams[-1] if self._streams else None
        if latest is None or (latest.family, latest.schema) != (block.family, batch.schema):
            self._begin(block.family, batch.schema)
        pieces = max(-(-batch.nbytes // BLOCK_BYTES), -(-len(block) // MOST_ROWS))
        for start, end in even_cuts(len(block), pieces):
            self._write(block, batch.slice(start, end - start), start, end)

    def end(self) -> None:
        """Write nothing more."""
        if not self._streams:
            self._writer = ipc.new_stream(self._sink, self.schema)
        if self._writer is not None:
            self._writer.close()

    def described(self, content: pa.Buffer) -> tuple[Part, ...]:
        """The parts as a manifest has them, with a checksum of each block."""
        data, start = memoryview(content), self.start

        def described(place: _Place) -> BlockRef:
            stored = data[place.offset : place.offset + place.length]
            checksum = xxhash.xxh3_64_hexdigest(stored)
            return BlockRef(place.offset - start, place.length, place.rows, place.first, place.last, checksum)

        return tuple(
            Part(stream.family, stream.offset - start, [described(place) for place in stream.blocks])
            for stream in self._streams
        )

    def _begin(self, family: int, schema: pa.Schema) -> None:
        if self._writer is not None:
            self._writer.close()
        self._streams.append(_Stream(family, schema, int(self._sink.tell()), []))
        self._writer = ipc.new_stream(self._sink, schema, options=self._options)

    def _write(self, block: Block, batch: pa.RecordBatch, start: int, end: int) -> None:
        assert self._writer is not None
        stream = self._streams[-1]
        before = int(self._sink.tell()) if stream.blocks else stream.offset + int(stream.schema.serialize().size)
        self._writer.write_batch(batch)
        length = int(self._sink.tell()) - before
        first, last = int(block.locator[start]), int(block.locator[end - 1])
        stream.blocks.append(_Place(before, length, end - start, first, last))


class _Body:
    """What comes behind the head, which can only be written when this is known: in memory, or in a file beside."""

    def __init__(self, path: Path, nbytes: int) -> None:
        self._path = path.with_name(path.name + ".body") if nbytes > IN_MEMORY else None
        self.sink = pa.BufferOutputStream() if self._path is None else pa.OSFile(str(self._path), "wb")

    def close(self) -> None:
        """Delete the file."""
        if self._path is not None:
            self.sink.close()
            self._path.unlink(missing_ok=True)

    def content(self) -> pa.Buffer:
        """All that was written."""
        if self._path is None:
            return self.sink.getvalue()
        self.sink.close()
        with self._path.open("rb") as file:
            return pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _options(compression: str) -> ipc.IpcWriteOptions:
    """Columns are compressed one after another.

    In threads of Arrow's, a batch of 500 rows takes twice as long, and 316,000 rows take 12% more of the processors,
    which have other commits to do.
    """
    level = ZSTD_LEVEL if compression == "zstd" else None
    codec = None if compression == "none" else pa.Codec(compression, compression_level=level)
    return ipc.IpcWriteOptions(compression=codec, use_threads=False)
