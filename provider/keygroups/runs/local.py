"""The local files of a store's sorted runs: written, merged, and restored from the checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.files import blocks_of
from keygroups.checkpoint.manifest import FileRef
from keygroups.checkpoint.row_check import RowCheck
from keygroups.progress import ticking
from keygroups.runs.local_disk import LOCAL_DISK
from keygroups.segment.block import Block
from keygroups.segment.chunk import Chunk, read_chunk
from keygroups.segment.file import Segment, write_segment
from keygroups.segment.merge import merge_runs
from keygroups.segment.restore import restore_segment
from keygroups.segment.split import split_blocks


def sort_chunks(chunks: Sequence[Chunk], batch_time: int) -> list[Block]:
    """Sort chunks of a session's writes, one chunk per column family, with a tick for each.

    Args:
        chunks: the writes.
        batch_time: see ``read_chunk``.
    """
    ordered = sorted(chunks, key=lambda chunk: chunk.family)
    return split_blocks(read_chunk(chunk, batch_time) for chunk in ticking(ordered))


class LocalRuns:
    """The local segments of one store. Segments are immutable; methods may run in several threads at the same time.

    Args:
        folder: where segments go; exists and belongs to this store alone.
        block_bytes: target size of a block of a merged segment.
        disk_budget: bytes that the segments of all stores may take; 0 for any number.
    """

    def __init__(self, folder: Path, block_bytes: int, disk_budget: int = 0) -> None:
        self._folder = folder
        self._block_bytes = block_bytes
        self._disk_budget = disk_budget

    def write(self, blocks: Sequence[Block]) -> Segment:
        """Write rows to a new segment. Raises CapacityError."""
        self._require(sum(block.nbytes for block in blocks))
        return LOCAL_DISK.counted(write_segment(self._folder, blocks))

    def merge(self, runs: Sequence[Sequence[Block]], *, bottom: bool) -> Segment:
        """Merge sorted runs, newest first. Raises CapacityError. See ``merge_runs``."""
        self._require(sum(block.nbytes for run in runs for block in run))
        return LOCAL_DISK.counted(merge_runs(self._folder, runs, bottom=bottom, block_bytes=self._block_bytes))

    def restore(self, source: Path, ref: FileRef, catalog: Catalog, max_parallelism: int) -> Segment:
        """Make a downloaded file of the checkpoint a segment, if it is intact.

        With a filter the segment has only the rows that count, and only those of families of the catalog: it becomes a
        file of its own with that catalog.

        Args:
            source: the local copy.
            ref: what a manifest says of the file.
            catalog: of the version that needs it; the rows have to fit the schemas of its families.
            max_parallelism: the number of key groups.

        Raises:
            CheckpointError: the file is damaged, or its rows are not those of the families.
            CapacityError: the local disk is full.
        """
        check, taken = RowCheck(catalog), 0

        def checked(block: Block) -> None:
            nonlocal taken
            self._require(taken := taken + block.nbytes)
            check(block)

        blocks = blocks_of(source, ref, max_parallelism)
        if ref.key_groups is not None:
            blocks = (block for block in blocks if block.family in catalog.ids)
        return LOCAL_DISK.counted(restore_segment(self._folder, blocks, ref.path, self._block_bytes, checked))

    def _require(self, nbytes: int) -> None:
        LOCAL_DISK.require(nbytes, self._disk_budget, self._folder)
