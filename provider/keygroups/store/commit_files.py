"""What a commit writes: a local segment, and the files that make the version durable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef
from keygroups.checkpoint.names import FileName
from keygroups.runs.local import LocalRuns, sort_chunks
from keygroups.runs.run import Piece
from keygroups.segment.block import Block
from keygroups.segment.changelog import read_changelog
from keygroups.segment.chunk import Chunk
from keygroups.segment.file import Segment
from keygroups.segment.span import Span
from keygroups.store.checkpoint_writer import CheckpointFile, CheckpointWriter, Upload
from keygroups.store.version import Version

_THREADS = ThreadPoolExecutor(thread_name_prefix="keygroups-writer")


class Writes(NamedTuple):
    """The writes of a session.

    Attributes:
        applied: segments with the writes that were handed over before, newest first.
        chunks: the last writes.
        batch_time: see ``read_chunk``.
        changelog: all writes, superseded ones too, in the order of the calls; empty if they are not kept.
    """

    applied: Sequence[Segment]
    chunks: Sequence[Chunk]
    batch_time: int
    changelog: Sequence[Chunk]


class WrittenCommit(NamedTuple):
    """The files of a commit.

    Attributes:
        change: the changed rows, in a local segment and in the version's file.
        references: the files that the manifest of the version's file lists.
        uploads: the files to upload, in their order; the version's own is the last.
    """

    change: Piece
    references: tuple[FileRef, ...]
    uploads: list[Upload]


class CommitWriter:
    """Writes the files of commits.

    Args:
        runs: writes local segments.
        checkpoint: writes files for the checkpoint.
    """

    def __init__(self, runs: LocalRuns, checkpoint: CheckpointWriter) -> None:
        self._runs = runs
        self._checkpoint = checkpoint

    def apply(self, chunks: Sequence[Chunk], batch_time: int) -> Segment:
        """Sort chunks of a session that continues into a local segment. The chunks are deleted."""
        with _deleted(chunks):
            return self._runs.write(sort_chunks(chunks, batch_time))

    def write(self, name: FileName, writes: Writes, catalog: Catalog, base: Version) -> WrittenCommit:
        """Write a session's writes. Their chunks are deleted.

        Args:
            name: of the version's file.
            writes: of the session.
            catalog: of the new version.
            base: the version that the session was built on.

        Raises:
            CapacityError: the local disk is full; nothing is left behind.
        """
        with _deleted([*writes.chunks, *writes.changelog]):
            changelog = self._write_changelog(name._replace(kind="changelog"), writes.changelog, catalog, base)
            uploads = [changelog.upload] if changelog else []
            try:
                rows = sort_chunks(writes.chunks, writes.batch_time)
                logged = changelog.ref if changelog else None
                if writes.applied:
                    segment, file = self._merged(name, rows, writes.applied, catalog, base, logged)
                else:
                    segment, file = self._side_by_side(name, rows, catalog, base, logged)
            except BaseException:
                _delete(uploads)
                raise
            return WrittenCommit(
                Piece(segment, Span(0, segment.rows), (file.ref,)), file.references, [*uploads, file.upload]
            )

    def _write_changelog(
        self, name: FileName, chunks: Sequence[Chunk], catalog: Catalog, base: Version
    ) -> CheckpointFile | None:
        return self._checkpoint.write(name, read_changelog(chunks), catalog, base) if chunks else None

    def _merged(
        self,
        name: FileName,
        rows: Sequence[Block],
        applied: Sequence[Segment],
        catalog: Catalog,
        base: Version,
        changelog: FileRef | None,
    ) -> tuple[Segment, CheckpointFile]:
        """Merge the last rows with the segments of the session's earlier writes, and write the result."""
        last = self._runs.write(rows)
        runs = [[b for b in part.blocks if b.family in catalog.ids] for part in (last, *applied)]
        segment = self._runs.merge(runs, bottom=False)
        file = self._checkpoint.write(name, segment.blocks, catalog, base, changelog)
        segment.release_pages()
        return segment, file

    def _side_by_side(
        self, name: FileName, rows: Sequence[Block], catalog: Catalog, base: Version, changelog: FileRef | None
    ) -> tuple[Segment, CheckpointFile]:
        """Write both forms of the same rows at once: one waits for the disk while the other compresses."""
        local = _THREADS.submit(self._runs.write, rows)
        try:
            file = self._checkpoint.write(name, rows, catalog, base, changelog)
        finally:
            wait([local])
        try:
            return local.result(), file
        except BaseException:
            _delete([file.upload])
            raise


def _delete(uploads: Sequence[Upload]) -> None:
    for upload in uploads:
        Path(upload.path).unlink(missing_ok=True)


@contextmanager
def _deleted(chunks: Sequence[Chunk]) -> Iterator[None]:
    """Delete the chunks at the end of the block, whether it succeeds or fails."""
    try:
        yield
    finally:
        for chunk in chunks:
            Path(chunk.path).unlink(missing_ok=True)
