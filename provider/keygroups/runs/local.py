"""The local files of a store's sorted runs: written, merged, and restored from the checkpoint."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

from keygroups.checkpoint.manifest import FileRef
from keygroups.runs.run import Run
from keygroups.segment.block import empty_block
from keygroups.segment.chunk import Chunk, read_chunk
from keygroups.segment.file import Segment, write_segment
from keygroups.segment.merge import merge_segments
from keygroups.segment.restore import BlockCheck, restore_segment
from keygroups.segment.rows import SortedRows


def sort_chunks(chunks: Sequence[Chunk], batch_time: int) -> SortedRows:
    """Sort chunks of a session's writes, one chunk per column family; see ``read_chunk`` for ``batch_time``."""
    ordered = sorted(chunks, key=lambda chunk: chunk.family)
    blocks = [read_chunk(chunk, batch_time) for chunk in ordered] or [empty_block()]
    return SortedRows.of(blocks)


class LocalRuns:
    """The local segments of one store. Segments are immutable; methods may run in several threads at the same time.

    Args:
        folder: where segments go; exists and belongs to this store alone.
        block_bytes: target size of a block of a merged segment.
    """

    def __init__(self, folder: Path, block_bytes: int) -> None:
        self._folder = folder
        self._block_bytes = block_bytes

    def write(self, rows: SortedRows) -> Segment:
        """Write rows to a new segment. Raises CapacityError."""
        return write_segment(self._folder, rows.schema, rows.blocks)

    def merge(self, segments: Sequence[Segment], families: Container[int], *, bottom: bool) -> Segment:
        """Merge the rows of these families, newest segment first. Raises CapacityError.

        Args:
            segments: newest first.
            families: column families to keep.
            bottom: whether no older run lies below; tombstones are then dropped.
        """
        return merge_segments(self._folder, segments, families, bottom=bottom, block_bytes=self._block_bytes)

    def restore(self, source: Path, ref: FileRef, check: BlockCheck) -> Run:
        """Make a downloaded file of the checkpoint a run, if it is intact and all of its blocks pass ``check``.

        Raises:
            CheckpointError: the file is damaged or a block does not pass.
            CapacityError: the local disk is full.
        """
        return Run(restore_segment(self._folder, source, ref.path, ref.checksum, rows=ref.rows, check=check), (ref,))
