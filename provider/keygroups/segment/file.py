"""Segment files in their local form, which this process and the JVM map: uncompressed record batches, one per block."""

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
from keygroups.progress import tick, ticking
from keygroups.segment.block import Block, empty_block
from keygroups.segment.layout import BlockLayout, layout_of
from keygroups.segment.limits import MAX_BATCH_BYTES
from keygroups.segment.split import MAX_BLOCK_BYTES
from keygroups.segment.streams import read_streams, write_streams


@dataclass
class Segment:
    """A segment in its local form: a mapped file, deleted when the last reference to this object is gone.

    Attributes:
        path: the local file.
        rows: number of rows, tombstones included.
        nbytes: length of the file in bytes.
        blocks: the rows, over mapped memory, in ascending order of (family, locator, key).
        layout: the positions of the columns of each block in the file.
        memory: the mapping.
    """

    path: Path
    rows: int
    nbytes: int
    blocks: Sequence[Block]
    layout: list[BlockLayout]
    memory: mmap.mmap
    _cleanup: weakref.finalize[[bool], Segment] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._cleanup = weakref.finalize(self, self.path.unlink, True)

    @property
    def id(self) -> str:
        """A unique name."""
        return self.path.stem

    def release_pages(self) -> None:
        """Unmap the pages that this process has touched; the next access maps them again.

        After a commit only the JVM reads the rows. Pages mapped by both processes would be counted twice.
        """
        self.memory.madvise(mmap.MADV_DONTNEED)


def write_segment(folder: Path, blocks: Iterable[Block]) -> Segment:
    """Write blocks, in ascending order and without overlap, to a new local segment, with a tick for each.

    Raises:
        CapacityError: the local disk is full; nothing is left behind.
        CancelledError: the operation was cancelled; nothing is left behind.
    """
    path = folder / f"{uuid.uuid4().hex}.arrows"
    with all_or_nothing(path):
        with pa.OSFile(str(path), "wb") as sink:
            write_streams(sink, (_batch(block) for block in ticking(blocks) if len(block)))
            if not sink.tell():  # an empty file can't be mapped
                write_streams(sink, [empty_block().batch()])
            tick()  # what was cancelled meanwhile is not put in place
        return open_segment(path)


def open_segment(path: Path) -> Segment:
    """Map a local segment file."""
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    memory.madvise(mmap.MADV_RANDOM)  # see ``read_ahead``
    buffer = pa.py_buffer(memory)
    batches = [batch for batch in read_streams(buffer) if batch.num_rows]
    blocks = [Block.of(b) for b in batches]
    return Segment(
        path=path,
        rows=sum(map(len, blocks)),
        nbytes=buffer.size,
        blocks=blocks,
        layout=[layout_of(b, c.family, buffer.address) for b, c in zip(batches, blocks, strict=True)],
        memory=memory,
    )


def _batch(block: Block) -> pa.RecordBatch:
    """The block as a record batch. Raises CapacityError if no reader would accept it."""
    batch = block.batch()
    if block.nbytes > MAX_BLOCK_BYTES and (size := ipc.get_record_batch_size(batch)) > MAX_BATCH_BYTES:
        raise CapacityError(
            f"{len(block)} rows are too large for one record batch",
            expected=f"at most {MAX_BATCH_BYTES} bytes",
            found=f"{size} bytes",
            fix="put fewer values under one key",
        )
    return batch


@contextmanager
def all_or_nothing(path: Path) -> Iterator[None]:
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
