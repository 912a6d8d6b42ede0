"""Restores local segments from the blocks of a checkpoint's file, and checks everything in them.

A checkpoint is not trusted: its checksums have no key, so whoever can write a file can also make them fit. What passes
here is read in place by the JVM.
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

from keygroups.errors import CapacityError, CheckpointError
from keygroups.progress import ticking
from keygroups.segment.arrays import mask
from keygroups.segment.block import Block
from keygroups.segment.file import Segment, write_segment
from keygroups.segment.split import joined

MAX_LOCATOR = 2**63 - 1
RESERVE_BYTES = 1 << 30
"""What a restore leaves free on the local disk, or 1/32 of a small one: room for the write buffers of other tasks."""

_LOCAL = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.EACCES, errno.ETIMEDOUT, errno.ESTALE}
"""Errors of this machine, which say nothing of the file."""
FIX = "restore the file from a backup"

BlockCheck = Callable[[Block], None]
"""Raises ValueError if rows do not fit the schemas of their column family."""


def restore_segment(
    folder: Path, blocks: Iterator[Block], name: str, block_bytes: int, check: BlockCheck | None = None
) -> Segment:
    """Turn blocks of a file of the checkpoint into a local segment, if they are in order.

    Args:
        folder: where the local form goes.
        blocks: of the file; errors of Arrow and of the file system that they raise become those below.
        name: the file's name in error messages.
        block_bytes: about the size of blocks there; those of files are small, and each of these takes a mapping.
        check: a further check of each block.

    Raises:
        CheckpointError: the file can't be read, or its rows are not those that were written.
        CapacityError: the local disk is full but for a reserve.
    """
    with closing(_read_ahead(blocks, name)) as coming:
        return write_segment(folder, _bounded(joined(_checked(coming, name, check), block_bytes), folder, name))


def _checked(blocks: Iterator[Block], name: str, check: BlockCheck | None) -> Iterator[Block]:
    """The same blocks, each of which has passed all checks."""
    before: Block | None = None
    for block in ticking(blocks):
        with reading(name):
            if int(block.locator[-1]) > MAX_LOCATOR or not _ascends(block):
                raise ValueError("rows are not in order")
            if before is not None and not _precedes(before, block):
                raise ValueError("record batches are not in order")
            if check is not None:
                check(block)
        before = block
        yield block


def _bounded(blocks: Iterator[Block], folder: Path, name: str) -> Iterator[Block]:
    """The same blocks, as long as they fit on the local disk."""
    for block in blocks:
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


def _read_ahead(blocks: Iterator[Block], name: str) -> Generator[Block, None, None]:
    """The same blocks; a thread decompresses the next one while the caller uses the current one."""
    with ThreadPoolExecutor(1) as thread:
        # No variable holds one that has failed: its error holds this frame, and what was restored before.
        coming: list[Future[Block | None]] = [thread.submit(next, blocks, None)]
        while True:
            with reading(name):
                block = coming.pop().result()
            if block is None:
                return
            coming.append(thread.submit(next, blocks, None))
            yield block


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Raise errors of Arrow and the file system about a file as CheckpointError, of this machine as CapacityError."""
    try:
        yield
    except (pa.ArrowException, LookupError, EOFError, OSError, TypeError, ValueError, OverflowError) as error:
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
            fix=FIX,
        ) from error
