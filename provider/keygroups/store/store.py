"""A store: what the JVM's calls do to one (operator, partition, name) of a query."""

from __future__ import annotations

import shutil
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from keygroups.backend.base import Backend, Run
from keygroups.backend.base.run import durable_files
from keygroups.checkpoint.manifest import Catalog, FileRef
from keygroups.checkpoint.names import new_name
from keygroups.errors import RetryError
from keygroups.segment.chunk import Chunk
from keygroups.segment.file import Segment
from keygroups.settings import Settings
from keygroups.store.cleanup import Cleanup
from keygroups.store.commit import Writer, Writes
from keygroups.store.compaction import Compaction
from keygroups.store.fetched import Fetched
from keygroups.store.key_groups import default_max_parallelism
from keygroups.store.load import Change, Loader
from keygroups.store.publish import Publisher, Upload
from keygroups.store.spec import Listed, StoreSpec, Version, VersionKey, Wanted

VERSIONS_IN_MEMORY = 2
"""The latest, and the one before it for a retried batch; older ones would keep compacted segments on the disk."""


class Store:
    """One store. Calls may come from several threads; those of one session come one after another.

    Args:
        spec: what the store is.
        settings: of the query.
        backend: keeps the working state.
        folder: for downloads and uploads; belongs to this store alone.
    """

    def __init__(self, spec: StoreSpec, settings: Settings, backend: Backend, folder: Path) -> None:
        self.spec = spec
        self._settings = settings
        self._backend = backend
        self._folder = folder
        self._lock = threading.Lock()
        self._versions: OrderedDict[VersionKey, Version] = OrderedDict()
        self._sessions: dict[str, list[Segment]] = {}
        self._publisher = Publisher(spec, settings.compression, folder)
        self._writer = Writer(backend, self._publisher)
        self._loader = Loader(spec, settings.max_parallelism, backend, self._run_of)
        self._change: Change | None = None
        self._compaction = Compaction(backend)
        self._cleanup = Cleanup(spec.store)
        (folder / "fetched").mkdir()
        self.fetched = Fetched(folder / "fetched")

    def load(self, key: VersionKey, listing: Sequence[Listed] | None, missing: Sequence[str]) -> Version:
        """The version, from memory or from the checkpoint. Raises as ``Loader.load``."""
        if (version := self._cached(key)) is not None:
            return version
        fetched = Fetched(self._folder / "fetched", frozenset(missing))
        if key.version == 0:
            self._loader.check_foreign(listing)
            version = self.empty(VersionKey(0))
        else:
            version = self._loader.load(key, listing, fetched)
            fetched.discard(head=False)
        self._remember(version)
        return version

    def change(
        self, key: VersionKey, listing: Sequence[Listed] | None, missing: Sequence[str], *, writes: bool = False
    ) -> Change:
        """What a version changed; good until the next one is asked for. See ``Loader.change``."""
        fetched = Fetched(self._folder / "fetched", frozenset(missing))
        self._change = self._loader.change(key, listing, fetched, writes=writes)
        fetched.discard(head=False)
        return self._change

    def known(self, key: VersionKey) -> Version:
        """A version that a session was built on. Raises RetryError: it is no longer in memory."""
        with self._lock:
            version = self._versions.get(key)
        if version is None:
            raise RetryError(f"version {key.version} is no longer in memory", path=self.spec.store)
        return version

    def empty(self, key: VersionKey) -> Version:
        """A version without rows, for one that is written anew after it."""
        return Version(key, None, Catalog(), self._new_max_parallelism(), ())

    def apply(self, session: str, chunks: Sequence[Chunk], written: int) -> Segment:
        """Take full chunks of a session that goes on; they become the newest of the session's segments."""
        segment = self._backend.keep(self._writer.sorted(chunks, written))
        with self._lock:
            self._sessions.setdefault(session, []).insert(0, segment)
        return segment

    def commit(
        self,
        session: str,
        parent: Version,
        chunks: Sequence[Chunk],
        catalog: Catalog,
        written: int = 0,
        changelog: Sequence[Chunk] = (),
    ) -> tuple[Version, list[Upload]]:
        """Make the session's writes the version after ``parent``.

        It is durable once the JVM has uploaded the files, one after another; if that fails, it calls ``forget``.

        Args:
            session: whose full chunks were taken by ``apply``.
            parent: the version it was built on.
            chunks: its last writes.
            catalog: the new version's.
            written: see ``read_chunk``.
            changelog: all its writes, superseded ones too, in the order of the calls; empty if they are not kept.

        Raises:
            CapacityError: the local disk is full.
        """
        with self._lock:
            applied = self._sessions.pop(session, [])
        name = new_name("version", parent.key.version + 1)
        taken = self._writer.take(name, Writes(applied, chunks, written, changelog), catalog, parent)
        plan = self._backend.advance(parent.plan, Run(taken.segment, (taken.file,)), catalog.num_keys)
        version = Version(VersionKey(name.version, name.id), taken.file, catalog, parent.max_parallelism, plan)
        self._cleanup.learn(str(name), durable_files(parent.plan))
        self._remember(version)
        return version, taken.uploads

    def abort(self, session: str) -> None:
        """Drop a session."""
        with self._lock:
            self._sessions.pop(session, None)

    def forget(self, key: VersionKey) -> None:
        """Drop a version whose upload failed."""
        with self._lock:
            self._versions.pop(key, None)

    def wants_compaction(self, version: Version) -> bool:
        """Whether ``compact`` has something to do."""
        return bool(self._backend.select(version.plan, version.catalog.num_keys, thorough=False))

    def compact(self, *, thorough: bool) -> tuple[Version, Upload] | None:
        """Merge runs of the latest version, if it is time to.

        Returns:
            The latest version over the merged run, and the file to upload; None if there was nothing to do.
        """
        with self._compaction.exclusive:
            if (version := self._latest()) is None:
                return None
            merged = self._compaction.merge(version, thorough=thorough)
            if merged is None:
                return None
            run, covered = merged
            name = new_name("segment", max(ref.name.version for ref in run.files))
            ref, upload = self._publisher.publish(name, run.segment.content, version.catalog, version)
            run.segment.rest()
            self._compaction.pending[str(name)] = (run, ref)
            with self._lock:
                for key, old in self._versions.items():
                    if old.catalog.ids == version.catalog.ids:  # else rows of its families went
                        self._versions[key] = self._compaction.substitute(old, covered, run)
                return self._versions[next(reversed(self._versions))], upload

    def uploaded(self, name: str, *, success: bool) -> None:
        """A compacted segment is durable: later manifests list it in place of the files it was merged from.

        If the upload failed, they go on with those files, and the next compaction uploads the segment again.
        """
        if (entry := self._compaction.pending.pop(name, None)) is not None and success:
            run, ref = entry
            run.files = (ref,)

    def deletable(self, retain: int, listing: Sequence[Listed] | None, missing: Sequence[str]) -> list[str]:
        """Names of checkpoint files that no retained version needs. Raises Wanted, CheckpointError."""
        if listing is None:
            raise Wanted(listing=True)
        fetched = Fetched(self._folder / "fetched", frozenset(missing))
        if (latest := self._latest()) is None:
            return []
        names = [f.name for f in listing]
        return self._cleanup.deletable(latest.key.version, retain, names, self._in_use(), fetched)

    def close(self) -> None:
        """Let go of everything and delete the store's folder."""
        with self._lock:
            self._versions.clear()
            self._sessions.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _new_max_parallelism(self) -> int:
        return self._settings.max_parallelism or default_max_parallelism(self.spec.partitions)

    def _cached(self, key: VersionKey) -> Version | None:
        with self._lock:
            if key.checkpoint_id is not None or key.version == 0:
                return self._versions.get(key)
            return next((v for k, v in reversed(self._versions.items()) if k.version == key.version), None)

    def _remember(self, version: Version) -> None:
        with self._lock:
            self._versions[version.key] = version
            self._versions.move_to_end(version.key)
            while len(self._versions) > VERSIONS_IN_MEMORY:
                self._versions.popitem(last=False)

    def _in_use(self) -> frozenset[str]:
        """Names of files that a later manifest may yet list, whether one does now or not."""
        with self._lock:
            listed = (ref for version in self._versions.values() for ref in durable_files(version.plan))
            return frozenset([str(ref.name) for ref in listed] + list(self._compaction.pending))

    def _latest(self) -> Version | None:
        with self._lock:
            return next(reversed(self._versions.values()), None)

    def _run_of(self, ref: FileRef, catalog: Catalog) -> Run | None:
        """The run of a file, whose rows were checked against families of the same form."""
        with self._lock:
            versions = [version for version in self._versions.values() if version.catalog.forms >= catalog.forms]
            return next((run for version in versions for run in version.plan if run.files == (ref,)), None)
