"""Segment files of the store process, mapped to be read."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from keygroups.partition.sealed import Sealed
from keygroups.partition.view import StoredPiece
from keygroups.segment.block import Block
from keygroups.segment.streams import read_streams


class Segments:
    """The segments of a version.

    Args:
        runs: Its sorted runs, newest first.
    """

    def __init__(self, runs: Sequence[Sequence[StoredPiece]]) -> None:
        """Map the files."""
        files = {path: _blocks(Path(path)) for path in {piece.path for run in runs for piece in run}}
        self._runs = [[block for piece in run for block in piece.span.of(files[piece.path])] for run in runs]

    def family(self, number: int | None) -> Sealed:
        """Give the rows of a column family; None is one that the version does not have."""
        return Sealed([[block for block in blocks if block.family == number] for blocks in self._runs])

    def close(self) -> None:
        """Give back the files."""
        self._runs = []


def _blocks(path: Path) -> list[Block]:
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    memory.madvise(mmap.MADV_RANDOM)  # see ``read_ahead``
    return [Block.of(batch) for batch in read_streams(pa.py_buffer(memory)) if batch.num_rows]
