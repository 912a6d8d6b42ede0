"""A store: what the JVM's calls do to one (operator, partition, name) of a query."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Final

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.names import new_name
from keygroups.errors import RetryError
from keygroups.runs.local import LocalRuns
from keygroups.runs.merging import BLOCKS_PER_PIECE
from keygroups.runs.run import Plan, advance
from keygroups.segment.chunk import Chunk
from keygroups.segment.file import Segment
from keygroups.settings import Settings
from keygroups.store.checkpoint_writer import CheckpointWriter, Upload
from keygroups.store.commit_files import CommitWriter
from keygroups.store.compaction import Compaction
from keygroups.store.downloads import Downloads
from keygroups.store.key_groups import default_max_parallelism
from keygroups.store.load import Loader
from keygroups.store.references import References
from keygroups.store.spec import StoreSpec
from keygroups.store.version import Change, Version, VersionKey
from keygroups.store.versions import Versions
from keygroups.store.writes import Spilled, Writes

MEMTABLE_PARTS: Final = 16
"""A segment of such a part of a full memtable, 8 MB by default, becomes a file as it is. Within a budget memtables move
to disk before they are full: with a quarter of ``overlayBytes``, commits merged all rows of such batches."""


class Store:
    """One store. Calls may come from several threads; those of one session come one after another.

    Args:
        spec: what the store is.
        settings: of the query.
        folder: for local files; exists and belongs to this store alone.
    """

    def __init__(self, spec: StoreSpec, settings: Settings, folder: Path) -> None:
        self.spec = spec
        self._settings = settings
        self._folder = folder
        self._lock = threading.Lock()
        self._sessions: dict[str, list[Spilled]] = {}
        self._versions = Versions()
        (segments := folder / "segments").mkdir()
        runs = LocalRuns(segments, settings.block_bytes, settings.disk_budget)
        checkpoint = CheckpointWriter(spec, settings.compression, folder)
        self._writer = CommitWriter(runs, checkpoint, settings.overlay_bytes // MEMTABLE_PARTS)
        self._loader = Loader(spec, settings.max_parallelism, runs, self._versions.segment_of)
        self._compaction = Compaction(
            runs,
            checkpoint,
            self._versions,
            fanout=settings.compaction_fanout,
            piece_bytes=BLOCKS_PER_PIECE * settings.block_bytes,
        )
        self._references = References(spec.store)
        self._change: Change | None = None
        self.is_closed = False

    @property
    def most_still_seconds(self) -> float:
        """For how long an operation may make no progress."""
        return self._settings.call_timeout_seconds

    def load(self, key: VersionKey, downloads: Downloads) -> Version:
        """The version, from memory or from the checkpoint. Raises as ``Loader.load``."""
        if (version := self._versions.find(key)) is not None:
            return version
        if key.version == 0:
            self._loader.check_foreign(downloads)
            version = self.empty(VersionKey(0))
        else:
            version = self._loader.load(key, downloads)
        self._versions.add(version)
        return version

    def change(self, key: VersionKey, downloads: Downloads, *, writes: bool = False) -> Change:
        """What a version changed. Its segments live until the next call. See ``Loader.change``."""
        self._change = self._loader.change(key, downloads, writes=writes)
        return self._change

    def known(self, key: VersionKey) -> Version:
        """A version that a session was built on. Raises RetryError: it is no longer in memory."""
        if (version := self._versions.built_on(key)) is None:
            raise RetryError(f"version {key.version} is no longer in memory", path=self.spec.store)
        return version

    def empty(self, key: VersionKey) -> Version:
        """A version without rows, as the base of a version that does not contain any earlier row."""
        return Version(key, None, Catalog(), self._new_max_parallelism(), ())

    def spill(self, session: str, chunks: Sequence[Chunk], catalog: Catalog, batch_time: int = 0) -> Segment:
        """Sort full chunks of a session that continues; they become the newest of the session's segments.

        Args:
            session: the session.
            chunks: some of its writes.
            catalog: the session's column families.
            batch_time: see ``read_chunk``.
        """
        segment = self._writer.sort(chunks, batch_time)
        with self._lock:
            self._sessions.setdefault(session, []).insert(0, Spilled(segment, catalog))
        return segment

    def save(self, session: str, segment: str, base: Version) -> Upload | None:
        """Write a segment of a session for the checkpoint, before the commit; the JVM uploads the file.

        Args:
            session: the session.
            segment: id of the segment.
            base: the version that the session was built on.

        Returns:
            None if the segment is small, or no longer here: the commit takes care of it.

        Raises:
            CapacityError: the local disk is full; nothing is left behind.
        """
        spilled = self._spilled(session, segment)
        file = self._writer.save(spilled, base) if spilled else None
        if file is None:
            return None
        with self._lock:
            found = self._sessions.get(session, [])
            found[:] = [one._replace(file=file.ref) if one.segment.id == segment else one for one in found]
        return file.upload

    def _spilled(self, session: str, segment: str) -> Spilled | None:
        with self._lock:
            return next((one for one in self._sessions.get(session, []) if one.segment.id == segment), None)

    def take(
        self,
        session: str,
        segments: Sequence[str],
        chunks: Sequence[Chunk],
        batch_time: int = 0,
        changelog: Sequence[Chunk] = (),
        saved: Container[str] = (),
    ) -> Writes:
        """All writes of a session, which ends.

        Args:
            session: the session.
            segments: ids of the segments that ``spill`` has returned for it, newest first.
            chunks: its last writes.
            batch_time: see ``read_chunk``.
            changelog: all its writes, superseded ones too, in the order of the calls; empty if they are not kept.
            saved: of the segments those whose files are uploaded.

        Raises:
            RetryError: other segments are here than those: another process sorted them, or a commit took them.
        """
        with self._lock:
            spilled = self._sessions.get(session, [])
            if [one.segment.id for one in spilled] != list(segments):
                raise RetryError(
                    "sorted writes of a session are no longer in this process",
                    path=self.spec.store,
                    expected=f"{len(segments)} segments",
                    found=f"{len(spilled)} segments",
                )
            self._sessions.pop(session, None)
        uploaded = [one if one.segment.id in saved else one._replace(file=None) for one in spilled]
        return Writes(uploaded, chunks, batch_time, changelog)

    def commit(self, writes: Writes, parent: Version, catalog: Catalog) -> tuple[Version, list[Upload]]:
        """Make the writes of a session the version after ``parent``.

        It is durable once the JVM has uploaded the files, in their order; if that fails, the JVM calls ``forget``.

        Args:
            writes: see ``take``.
            parent: the version it was built on.
            catalog: of the new version.

        Raises:
            CapacityError: the local disk is full.
        """
        name = new_name("version", parent.key.version + 1)
        with self._versions.pinned(parent) as base:
            written = self._writer.write(name, writes, catalog, base)
            (file,) = written.changes[0].files
            self._references.record(file.path, written.references)

        def successor(plan: Plan) -> Version:
            plan = advance(plan, written.changes, catalog)
            return Version(VersionKey(name.version, name.id), file, catalog, parent.max_parallelism, plan)

        return self._versions.add_successor(parent, successor), written.uploads

    def drop(self, session: str, segment: str) -> None:
        """Drop a segment of a session."""
        with self._lock:
            kept = [one for one in self._sessions.get(session, []) if one.segment.id != segment]
            if kept:
                self._sessions[session] = kept
            else:
                self._sessions.pop(session, None)

    def abort(self, session: str) -> None:
        """Drop a session."""
        with self._lock:
            self._sessions.pop(session, None)

    def forget(self, key: VersionKey) -> None:
        """Drop a version whose upload failed."""
        self._versions.remove(key)

    def wants_compaction(self, version: Version) -> bool:
        """Whether ``compact`` has something to do."""
        return self._compaction.is_due(version)

    def compact(self, *, thorough: bool, newest: bool = False) -> Segment | None:
        """Do the next piece of a merge of the latest version, if one is due. See ``Compaction.run``."""
        return self._compaction.run(thorough=thorough, newest=newest)

    def install(self, segment: str) -> tuple[Version, Upload | None] | None:
        """Have plans read what ``compact`` has merged. See ``Compaction.install``."""
        return self._compaction.install(segment)

    def abandon(self, segment: str) -> None:
        """Leave plans as they are: see ``Compaction.abandon``."""
        self._compaction.abandon(segment)

    def uploaded(self, name: str, *, success: bool) -> bool:
        """The upload of a compacted segment has ended. See ``Compaction.uploaded``."""
        was_in_time = self._compaction.uploaded(name, success=success)
        self._references.written(name)
        return was_in_time

    def files_to_delete(self, retain: int, downloads: Downloads) -> list[str]:
        """Names of checkpoint files that no retained version needs. Raises Wanted, CheckpointError."""
        downloads.listed(self.spec.store)
        if (latest := self._versions.latest()) is None:
            return []
        in_use = self._compaction.files_in_use() | self._versions.files_in_use()
        return self._references.files_to_delete(latest.key.version, retain, in_use, downloads)

    def close(self) -> None:
        """Release everything and delete the store's folder."""
        self.is_closed = True
        with self._lock:
            self._sessions.clear()
        self._versions.clear()
        self.delete_files()

    def delete_files(self) -> None:
        """Delete the store's folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _new_max_parallelism(self) -> int:
        return self._settings.max_parallelism or default_max_parallelism(self.spec.partitions)
