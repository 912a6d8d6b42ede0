"""Restores local segments from files of the checkpoint, and checks everything in them.

A checkpoint is not trusted: its checksums have no key, so whoever can write a file can also make them fit. What passes
here is read in place by the JVM.

How much a file expands to is bounded in three ways. It may not have more rows than its manifest says; a batch may not
have more bytes than its rows need (see ``limits``); and the local disk keeps a reserve. The manifest does not say how
many bytes the rows have, and a ratio to the compressed length would refuse real state: equal values compress by a
factor of thousands.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from keygroups.errors import CapacityError, CheckpointError
from keygroups.segment.arrays import mask
from keygroups.segment.block import Block, block_schema
from keygroups.segment.file import Segment, write_segment
from keygroups.segment.ipc_messages import read_batches, read_schema
from keygroups.segment.rows import update

REQUIRED = ("locator", "h", "key", "value")
OPTIONAL = ("family", "appended", "written")
MAX_LOCATOR = 2**63 - 1
RESERVE_BYTES = 1 << 30
"""What a restore leaves free on the local disk, or 1/32 of a small one: room for the write buffers of other tasks."""

_LOCAL = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.EACCES}
"""Errors of this machine, which say nothing of the file."""
_FIX = "restore the file from a backup"

BlockCheck = Callable[[Block], None]
"""Raises ValueError if rows do not fit the schemas of their column family."""


def restore_segment(
    folder: Path, source: Path, name: str, expected: str, *, rows: int | None = None, check: BlockCheck | None = None
) -> Segment:
    """Turn a file of the checkpoint into a local segment, if it is intact.

    Args:
        folder: where the local form goes.
        source: the downloaded checkpoint form.
        name: the file's name in error messages.
        expected: its checksum (see ``SortedRows.checksum``).
        rows: its number of rows, None if that is not known.
        check: a further check of each block.

    Raises:
        CheckpointError: the file can't be read, or its rows are not those that were written.
        CapacityError: the local disk is full but for a reserve.
    """
    digest = xxhash.xxh3_128()
    with reading(name):
        file = pa.OSFile(str(source))
    with file:
        with reading(name):
            schema = read_schema(file).remove_metadata()
            check_schema(schema)
        with closing(_read_ahead(read_batches(file, schema), name)) as batches:
            checked = _checked(batches, digest, name, check)
            segment = write_segment(folder, schema, _bounded(checked, folder, name, rows))
    found = digest.hexdigest()
    if (expected, segment.rows if rows is None else rows) != (found, segment.rows):
        raise CheckpointError(
            "a file of the checkpoint is damaged",
            path=name,
            expected=f"{expected} of {'any' if rows is None else rows} rows",
            found=f"{found} of {segment.rows} rows",
            fix=_FIX,
        )
    return segment


def check_schema(schema: pa.Schema) -> None:
    """Raise ValueError unless the columns are those of a segment, in their order and of their types."""
    names = schema.names
    optional = [name for name in OPTIONAL if name in names]
    if names != [*REQUIRED, *optional]:
        raise ValueError(f"columns {', '.join(names[:16])}")
    types = [schema.field(i).type for i in (2, 3)]
    wanted = block_schema(*types, **{_FLAGS[name]: True for name in optional})
    if not all(map(_is_bytes, types)) or not schema.equals(wanted):
        raise ValueError(f"columns of other types: {schema.to_string(show_schema_metadata=False)[:500]}")


_FLAGS = {"family": "families", "appended": "appended", "written": "written"}


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or (pa.types.is_fixed_size_binary(kind) and kind.byte_width > 0))


def _checked(
    batches: Iterator[pa.RecordBatch], digest: xxhash.xxh3_128, name: str, check: BlockCheck | None
) -> Iterator[Block]:
    """The batches as blocks, each of which has passed all checks and was added to ``digest``."""
    before: Block | None = None
    for batch in batches:
        with reading(name):
            if batch.num_rows == 0:
                continue
            block = _block(batch)
            if before is not None and not _precedes(before, block):
                raise ValueError("record batches are not in order")
            if check is not None:
                check(block)
        before = block
        update(digest, block)
        yield block


def _bounded(blocks: Iterator[Block], folder: Path, name: str, rows: int | None) -> Iterator[Block]:
    """The same blocks, as long as they have no more rows than expected, and fit on the local disk."""
    seen = 0
    for block in blocks:
        seen += len(block)
        if rows is not None and seen > rows:
            raise CheckpointError(
                "a file of the checkpoint is damaged",
                path=name,
                expected=f"{rows} rows",
                found=f"{seen} rows or more",
                fix=_FIX,
            )
        disk = os.statvfs(folder)
        reserve = min(RESERVE_BYTES, disk.f_blocks * disk.f_frsize // 32)
        if disk.f_bavail * disk.f_frsize < block.nbytes + reserve:
            raise CapacityError(
                f"the local disk has no room to restore {name}",
                path=str(folder),
                expected=f"{block.nbytes} bytes and a reserve of {reserve} free",
                found=f"{disk.f_bavail * disk.f_frsize} bytes free",
                fix="free space there, or set keyGroups.localDir",
            )
        yield block


def _block(batch: pa.RecordBatch) -> Block:
    for column, field in zip(batch.columns, batch.schema, strict=True):
        if column.null_count and not field.nullable:
            raise ValueError(f"column {field.name} has {column.null_count} nulls")
    block = Block.of(batch)
    if int(block.locator[-1]) > MAX_LOCATOR or not _ascends(block):
        raise ValueError("rows are not in order")
    return block


def _ascends(block: Block) -> bool:
    low, high = block.locator[:-1], block.locator[1:]
    if bool((low < high).all()):
        return True
    keys = pc.less(block.key.slice(0, len(low)), block.key.slice(1))
    return bool(((low < high) | ((low == high) & mask(keys))).all())


def _precedes(block: Block, other: Block) -> bool:
    """Whether all rows of a block come before those of another: by family, locator and key."""
    end, start = (block.family, block.locator[-1]), (other.family, other.locator[0])
    return bool(end < start or (end == start and block.key[-1].as_py() < other.key[0].as_py()))


def _read_ahead(batches: Iterator[pa.RecordBatch], name: str) -> Generator[pa.RecordBatch, None, None]:
    """The same batches; a thread decompresses the next one while the caller uses the current one."""
    with ThreadPoolExecutor(1) as thread:
        coming: Future[pa.RecordBatch | None] = thread.submit(next, batches, None)
        while True:
            with reading(name):
                batch = coming.result()
            if batch is None:
                return
            coming = thread.submit(next, batches, None)
            yield batch


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Raise errors of Arrow and the file system about a file as CheckpointError, of this machine as CapacityError."""
    try:
        yield
    except (pa.ArrowException, KeyError, EOFError, OSError, ValueError) as error:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _LOCAL):
            raise CapacityError(
                "this machine could not read a downloaded file",
                path=name,
                found=str(error)[:500],
                fix="give the executor more memory or file handles, and check its disk",
            ) from error
        raise CheckpointError(
            "a file of the checkpoint can't be read",
            path=name,
            found=str(error)[:500],
            fix=_FIX,
        ) from error
