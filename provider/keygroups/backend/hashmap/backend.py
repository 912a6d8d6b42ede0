"""The default backend: immutable mapped segments and tiered compaction."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

from keygroups.backend.base import Backend, Plan, Run
from keygroups.backend.hashmap.compaction import select_runs
from keygroups.checkpoint.manifest import FileRef
from keygroups.segment.block import empty_block, has_appends
from keygroups.segment.chunk import Chunk, read_chunk
from keygroups.segment.file import Segment, write_segment
from keygroups.segment.merge import merge_segments
from keygroups.segment.restore import BlockCheck, restore_segment
from keygroups.segment.rows import SortedRows
from keygroups.settings import Settings


class HashMapBackend(Backend):
    """Working state of one store in a local folder.

    Args:
        folder: exists; belongs to this store alone.
        settings: of the store.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings

    def sort(self, chunks: Sequence[Chunk], written: int) -> SortedRows:
        """See ``Backend.sort``."""
        ordered = sorted(chunks, key=lambda chunk: chunk.family)
        blocks = [read_chunk(chunk, written) for chunk in ordered] or [empty_block()]
        return SortedRows.of(blocks)

    def keep(self, rows: SortedRows) -> Segment:
        """See ``Backend.keep``."""
        return write_segment(self._folder, rows.schema, rows.blocks)

    def merge(self, segments: Sequence[Segment], families: Container[int], *, bottom: bool) -> Segment:
        """See ``Backend.merge``."""
        size = self._settings.block_bytes
        return merge_segments(self._folder, segments, families, bottom=bottom, block_bytes=size)

    def restore(self, source: Path, ref: FileRef, check: BlockCheck) -> Run:
        """See ``Backend.restore``."""
        return Run(restore_segment(self._folder, source, ref.path, ref.checksum, rows=ref.rows, check=check), (ref,))

    def advance(self, plan: Plan, change: Run, num_keys: int) -> Plan:
        """See ``Backend.advance``."""
        blocks = change.segment.blocks
        tombstones = sum(block.value.null_count for block in blocks)
        if change.segment.rows - tombstones == num_keys and not any(map(has_appends, blocks)):
            return (change,) if num_keys else ()  # every key was written or removed: nothing below is needed
        return (change, *plan) if change.segment.rows else plan

    def select(self, plan: Plan, num_keys: int, *, thorough: bool) -> Plan:
        """See ``Backend.select``."""
        rows = [run.segment.rows for run in plan]
        start, stop = select_runs(rows, num_keys, self._settings.compaction_fanout, thorough=thorough)
        return plan[start:stop]
