"""The writes of a session, on their way to a version."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef
from keygroups.segment.chunk import Chunk
from keygroups.segment.file import Segment


class Spilled(NamedTuple):
    """Writes that were handed over before the commit.

    Attributes:
        segment: the rows, sorted.
        catalog: the column families that the session had then.
        file: with the same rows in the checkpoint; None if none is there.
    """

    segment: Segment
    catalog: Catalog
    file: FileRef | None = None


class Writes(NamedTuple):
    """All writes of a session.

    Attributes:
        spilled: those that were handed over before, newest first.
        chunks: the last writes.
        batch_time: see ``read_chunk``.
        changelog: all writes, superseded ones too, in the order of the calls; empty if they are not kept.
    """

    spilled: Sequence[Spilled]
    chunks: Sequence[Chunk]
    batch_time: int
    changelog: Sequence[Chunk]

    def groups(self, large_bytes: int) -> list[list[Spilled]]:
        """What becomes one file each, newest first: a large segment, or small ones between large ones.

        The first group goes with the last writes; it may be empty.

        Args:
            large_bytes: of a segment that becomes a file as it is.
        """

        def is_large(spilled: Spilled) -> bool:
            return spilled.segment.nbytes >= large_bytes

        parts = [(large, list(part)) for large, part in groupby(self.spilled, key=is_large)]
        groups = [group for large, part in parts for group in ([[one] for one in part] if large else [part])]
        return groups if parts and not parts[0][0] else [[], *groups]
