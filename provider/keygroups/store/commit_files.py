"""What a commit writes: local segments, and the files that make the version durable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef
from keygroups.checkpoint.names import FileName, new_name
from keygroups.progress import shared
from keygroups.runs.local import LocalRuns, sort_chunks
from keygroups.runs.run import Piece
from keygroups.segment.block import Block
from keygroups.segment.changelog import read_changelog
from keygroups.segment.chunk import Chunk
from keygroups.segment.file import Segment
from keygroups.segment.span import Span
from keygroups.store.checkpoint_writer import CheckpointFile, CheckpointWriter, Upload
from keygroups.store.version import Version
from keygroups.store.writes import Spilled, Writes

THREADED_BYTES: Final = 1 << 20
"""Rows of fewer bytes are written in one thread: with two, both forms of 500 rows take 12% more of the processors, and
those of 18,000 rows 5% more and no less time."""

_THREADS = ThreadPoolExecutor(256, "keygroups-writer")
"""As many as commits: one that waited for others would seem to stand still."""


class WrittenCommit(NamedTuple):
    """The files of a commit.

    Attributes:
        changes: the changed rows, newest first, in local segments and in files; the first is the version's own.
        references: the files that the manifest of the version's file lists.
        uploads: the files to upload, in their order; the version's own is the last.
    """

    changes: Sequence[Piece]
    references: tuple[FileRef, ...]
    uploads: list[Upload]


class CommitWriter:
    """Writes the files of commits.

    Args:
        runs: writes local segments.
        checkpoint: writes files for the checkpoint.
        large_bytes: of a segment that becomes a file of the checkpoint as it is; each file is a request or more.
    """

    def __init__(self, runs: LocalRuns, checkpoint: CheckpointWriter, large_bytes: int) -> None:
        self._runs = runs
        self._checkpoint = checkpoint
        self._large_bytes = large_bytes

    def sort(self, chunks: Sequence[Chunk], batch_time: int) -> Segment:
        """Sort chunks of a session that continues into a local segment. The chunks are deleted."""
        with _deleted(chunks):
            return self._runs.write(sort_chunks(chunks, batch_time))

    def save(self, spilled: Spilled, base: Version) -> CheckpointFile | None:
        """Write earlier writes of a session for the checkpoint, if they become a file as they are.

        Raises:
            CapacityError: the local disk is full; nothing is left behind.
        """
        return self._file_of(spilled, base) if spilled.segment.nbytes >= self._large_bytes else None

    def _file_of(self, spilled: Spilled, base: Version) -> CheckpointFile:
        name = new_name("segment", base.key.version + 1)
        file = self._checkpoint.write(name, spilled.segment.blocks, spilled.catalog, base)
        spilled.segment.release_pages()
        return file

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
        with _deleted([*writes.chunks, *writes.changelog]), _deleted_unless_done() as uploads:
            logged = self._write_changelog(name._replace(kind="changelog"), writes.changelog, catalog, base)
            uploads.extend([logged.upload] if logged else [])
            groups = writes.groups(self._large_bytes)
            earlier = [self._saved(group, base, uploads) for group in groups[1:]]
            rows = sort_chunks(writes.chunks, writes.batch_time)

            def version_file(blocks: Sequence[Block]) -> CheckpointFile:
                spilled = [ref for piece in earlier for ref in piece.files]
                changelog = logged.ref if logged else None
                return self._checkpoint.write(name, blocks, catalog, base, changelog=changelog, spilled=spilled)

            if groups[0]:
                segment, file = self._merged(rows, groups[0], catalog, version_file)
            else:
                segment, file = self._both(rows, version_file)
            uploads.append(file.upload)
            return WrittenCommit([_piece(segment, file.ref), *earlier], file.references, uploads)

    def _saved(self, group: Sequence[Spilled], base: Version, uploads: list[Upload]) -> Piece:
        """Earlier writes as a file, which is added to the uploads unless it is uploaded."""
        segment, catalog, ref = group[0]
        if ref is not None:
            return _piece(segment, ref)
        if len(group) > 1:
            segment = self._merge([one.segment for one in group], catalog)
        file = self._file_of(Spilled(segment, catalog), base)
        uploads.append(file.upload)
        return _piece(segment, file.ref)

    def _write_changelog(
        self, name: FileName, chunks: Sequence[Chunk], catalog: Catalog, base: Version
    ) -> CheckpointFile | None:
        return self._checkpoint.write(name, read_changelog(chunks), catalog, base) if chunks else None

    def _merged(
        self, rows: Sequence[Block], spilled: Sequence[Spilled], catalog: Catalog, write: _WritesFile
    ) -> tuple[Segment, CheckpointFile]:
        """Merge the last rows with earlier writes, and write the result."""
        segment = self._merge([self._runs.write(rows), *(one.segment for one in spilled)], catalog)
        file = write(segment.blocks)
        segment.release_pages()
        return segment, file

    def _merge(self, segments: Sequence[Segment], catalog: Catalog) -> Segment:
        """Merge segments, newest first; rows of families that were removed meanwhile are dropped."""
        runs = [[b for b in segment.blocks if b.family in catalog.ids] for segment in segments]
        return self._runs.merge(runs, bottom=False)

    def _both(self, rows: Sequence[Block], write: _WritesFile) -> tuple[Segment, CheckpointFile]:
        """Write both forms of the same rows, of many at once: one waits for the disk while the other compresses."""
        if sum(block.nbytes for block in rows) < THREADED_BYTES:
            return self._runs.write(rows), write(rows)
        local = _THREADS.submit(shared(self._runs.write), rows)
        try:
            file = write(rows)
        finally:
            wait([local])
        try:
            return local.result(), file
        except BaseException:
            _delete([file.upload])
            raise
        finally:
            del local  # an error that it has holds this frame, and the rows


_WritesFile = Callable[[Sequence[Block]], CheckpointFile]


def _piece(segment: Segment, file: FileRef) -> Piece:
    return Piece(segment, Span(0, segment.rows), (file,))


def _delete(uploads: Iterable[Upload]) -> None:
    for upload in uploads:
        Path(upload.path).unlink(missing_ok=True)


@contextmanager
def _deleted_unless_done() -> Iterator[list[Upload]]:
    """Files that are deleted if the block fails."""
    uploads: list[Upload] = []
    try:
        yield uploads
    except BaseException:
        _delete(uploads)
        raise


@contextmanager
def _deleted(chunks: Sequence[Chunk]) -> Iterator[None]:
    """Delete the chunks at the end of the block, whether it succeeds or fails."""
    try:
        yield
    finally:
        for chunk in chunks:
            Path(chunk.path).unlink(missing_ok=True)
