"""Segment files: Arrow IPC files, one record batch per block.

The local form is uncompressed, and is mapped by this process and by the JVM, which reads rows in place. The checkpoint
form is the same table with compressed buffers and a manifest in its metadata.
"""

from __future__ import annotations

import errno
import mmap
import uuid
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc

from keygroups.errors import CapacityError
from keygroups.segment.block import Block, conform
from keygroups.segment.layout import BlockLayout, layout_of
from keygroups.segment.limits import MAX_BATCH_BYTES
from keygroups.segment.rows import SortedRows
from keygroups.segment.split import MAX_BLOCK_BYTES

ZSTD_LEVEL = -1
"""500,000 rows of 132 bytes: 105 ms and 36 MB; level 1 takes 130 ms for the same size, lz4 93 ms for 50 MB."""


@dataclass
class Segment:
    """A segment in its local form: a mapped file, deleted when the last reference to this object is gone.

    Attributes:
        path: the local file.
        rows: number of rows, tombstones included.
        nbytes: length of the file in bytes.
        content: the rows, over mapped memory.
        layout: the positions of the columns of each block in the file.
        memory: the mapping.
    """

    path: Path
    rows: int
    nbytes: int
    content: SortedRows
    layout: list[BlockLayout]
    memory: mmap.mmap
    _cleanup: weakref.finalize[[bool], Segment] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._cleanup = weakref.finalize(self, self.path.unlink, True)

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks of ``content``."""
        return self.content.blocks

    @property
    def id(self) -> str:
        """A unique name."""
        return self.path.stem

    def release_pages(self) -> None:
        """Unmap the pages that this process has touched; the next access maps them again.

        After a commit only the JVM reads the rows. Pages mapped by both processes would be counted twice.
        """
        self.memory.madvise(mmap.MADV_DONTNEED)


def write_segment(folder: Path, schema: pa.Schema, blocks: Iterable[Block]) -> Segment:
    """Write blocks, in ascending order and without overlap, to a new local segment.

    Raises:
        CapacityError: the local disk is full; nothing is left behind.
    """
    path = folder / f"{uuid.uuid4().hex}.arrow"
    with _all_or_nothing(path), pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, schema) as writer:
        for block in blocks:
            if len(block):
                writer.write_batch(_batch(conform(block, schema), schema))
    return open_segment(path)


def open_segment(path: Path) -> Segment:
    """Map a local segment file."""
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    buffer = pa.py_buffer(memory)
    reader = ipc.open_file(buffer)
    batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    blocks = [Block.of(b) for b in batches]
    return Segment(
        path=path,
        rows=sum(b.num_rows for b in batches),
        nbytes=buffer.size,
        content=SortedRows(reader.schema, blocks),
        layout=[layout_of(b, c.family, buffer.address) for b, c in zip(batches, blocks, strict=True)],
        memory=memory,
    )


def write_checkpoint_form(path: Path, rows: SortedRows, metadata: dict[bytes, bytes], compression: str) -> None:
    """Write rows as they go to the checkpoint.

    Args:
        path: a new local file, to be uploaded.
        rows: what to write.
        metadata: goes into the Arrow schema.
        compression: ``zstd``, ``lz4`` or ``none``.

    Raises:
        CapacityError: the local disk is full; nothing is left behind.
    """
    schema = rows.schema.with_metadata(metadata)
    with (
        _all_or_nothing(path),
        pa.OSFile(str(path), "wb") as sink,
        ipc.new_file(sink, schema, options=ipc.IpcWriteOptions(compression=_codec(compression))) as writer,
    ):
        for block in rows.blocks:
            writer.write_batch(_batch(block, schema))


def _batch(block: Block, schema: pa.Schema) -> pa.RecordBatch:
    """The block as a record batch. Raises CapacityError if no reader would accept it."""
    batch = block.record_batch(schema)
    if block.nbytes > MAX_BLOCK_BYTES and (size := ipc.get_record_batch_size(batch)) > MAX_BATCH_BYTES:
        raise CapacityError(
            f"{len(block)} rows are too large for one record batch",
            expected=f"at most {MAX_BATCH_BYTES} bytes",
            found=f"{size} bytes",
            fix="put fewer values under one key",
        )
    return batch


def _codec(compression: str) -> pa.Codec | None:
    if compression == "none":
        return None
    return pa.Codec("zstd", compression_level=ZSTD_LEVEL) if compression == "zstd" else pa.Codec("lz4")


@contextmanager
def _all_or_nothing(path: Path) -> Iterator[None]:
    """Delete a partly written file after an error, and raise CapacityError if the disk is full."""
    try:
        yield
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CapacityError(
                "the local disk is full", path=str(path.parent), fix="free space there, or set keyGroups.localDir"
            ) from error
        raise
