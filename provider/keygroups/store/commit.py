"""What a commit writes: a segment of the working state, and the files that make the version durable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from keygroups.backend.base import Backend
from keygroups.checkpoint.manifest import Catalog, FileRef
from keygroups.checkpoint.names import FileName
from keygroups.segment.changelog import read_changelog
from keygroups.segment.chunk import Chunk
from keygroups.segment.file import Segment
from keygroups.segment.rows import SortedRows
from keygroups.store.publish import Publisher, Upload
from keygroups.store.spec import Version

_THREADS = ThreadPoolExecutor(thread_name_prefix="keygroups-writer")


class Writes(NamedTuple):
    """The writes of a session.

    Attributes:
        applied: what was sorted before, newest first.
        chunks: the last of them.
        written: see ``read_chunk``.
        changelog: all of them, superseded ones too, in the order of the calls; empty if they are not kept.
    """

    applied: Sequence[Segment]
    chunks: Sequence[Chunk]
    written: int
    changelog: Sequence[Chunk]


class Taken(NamedTuple):
    """Writes that a store has taken.

    Attributes:
        segment: the changed rows in the working state.
        file: the version's file, which has the same rows.
        uploads: the files to upload, in their order; the version's own is the last.
    """

    segment: Segment
    file: FileRef
    uploads: list[Upload]


class Writer:
    """Takes the writes of sessions.

    Args:
        backend: keeps the working state.
        publisher: writes files for the checkpoint.
    """

    def __init__(self, backend: Backend, publisher: Publisher) -> None:
        self._backend = backend
        self._publisher = publisher

    def sorted(self, chunks: Sequence[Chunk], written: int) -> SortedRows:
        """The rows of chunks, which are deleted."""
        with _deleted(chunks):
            return self._backend.sort(chunks, written)

    def take(self, name: FileName, writes: Writes, catalog: Catalog, base: Version) -> Taken:
        """Take a session's writes.

        Args:
            name: of the version's file.
            writes: of the session.
            catalog: of the new version.
            base: the version that the session was built on.

        Raises:
            CapacityError: the local disk is full; nothing is left behind.
        """
        with _deleted([*writes.chunks, *writes.changelog]):
            return self._take(name, writes, catalog, base)

    def _take(self, name: FileName, writes: Writes, catalog: Catalog, base: Version) -> Taken:
        logged = self._log(name._replace(kind="changelog"), writes.changelog, catalog, base)
        changelog = logged[0] if logged else None
        uploads = [logged[1]] if logged else []
        try:
            rows = self.sorted(writes.chunks, writes.written)
            if not writes.applied:
                segment, ref, upload = self._side_by_side(name, rows, catalog, base, changelog)
            else:
                parts = [self._backend.keep(rows), *writes.applied]
                segment = self._backend.merge(parts, catalog.ids, bottom=False)
                ref, upload = self._publisher.publish(name, segment.content, catalog, base, changelog)
                segment.rest()
        except BaseException:
            _forget(uploads)
            raise
        return Taken(segment, ref, [*uploads, upload])

    def _log(
        self, name: FileName, chunks: Sequence[Chunk], catalog: Catalog, base: Version
    ) -> tuple[FileRef, Upload] | None:
        return self._publisher.publish(name, read_changelog(chunks), catalog, base) if chunks else None

    def _side_by_side(
        self, name: FileName, rows: SortedRows, catalog: Catalog, base: Version, changelog: FileRef | None
    ) -> tuple[Segment, FileRef, Upload]:
        """Write both forms of the same rows at once: one waits for the disk while the other compresses."""
        keeping = _THREADS.submit(self._backend.keep, rows)
        try:
            ref, upload = self._publisher.publish(name, rows, catalog, base, changelog)
        finally:
            wait([keeping])
        try:
            return keeping.result(), ref, upload
        except BaseException:
            _forget([upload])
            raise


def _forget(uploads: Sequence[Upload]) -> None:
    for upload in uploads:
        Path(upload.path).unlink(missing_ok=True)


@contextmanager
def _deleted(chunks: Sequence[Chunk]) -> Iterator[None]:
    """Whatever comes of it, the chunks are deleted."""
    try:
        yield
    finally:
        for chunk in chunks:
            Path(chunk.path).unlink(missing_ok=True)
