"""The versions of one store that are in memory, and what happens to their plans while sessions and commits use them."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef
from keygroups.runs.merging import Step
from keygroups.runs.run import Plan, durable_files, pieces_of, substitute, uploaded
from keygroups.segment.file import Segment
from keygroups.store.version import Version, VersionKey

VERSIONS_IN_MEMORY = 2
"""The latest, and the one before it for a retried batch; older ones would keep compacted segments on the disk."""


class Versions:
    """Versions in memory, the latest last. Every method is atomic; versions, plans and runs are immutable."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: OrderedDict[VersionKey, Version] = OrderedDict()
        self._pinned: Counter[str] = Counter()
        self._uploading: set[VersionKey] = set()
        """Versions that were committed here, and that no session is known to have been built on."""
        self._revision = 0

    def get(self, key: VersionKey) -> Version | None:
        """A version by its exact key."""
        with self._lock:
            return self._versions.get(key)

    def built_on(self, key: VersionKey) -> Version | None:
        """A version that a session was built on, which means that it was uploaded."""
        with self._lock:
            self._uploading.discard(key)
            return self._versions.get(key)

    def find(self, key: VersionKey) -> Version | None:
        """A version; without a checkpoint id, the attempt that was added last.

        That may be of a task that has lost, and whose upload may still fail: only once a session was built on a version
        is it known to be uploaded. The JVM does not ask for the one that it has uploaded last.
        """
        if key.checkpoint_id is not None or key.version == 0:
            return self.get(key)
        with self._lock:
            attempts = (k for k in reversed(self._versions) if k.version == key.version and k not in self._uploading)
            return next((self._versions[k] for k in attempts), None)

    def latest(self) -> Version | None:
        """The version that was added last."""
        with self._lock:
            return next(reversed(self._versions.values()), None)

    def add(self, version: Version) -> None:
        """Add a version as the latest; the oldest may go."""
        with self._lock:
            self._add(version)
            self._uploading.discard(version.key)

    def add_successor(self, parent: Version, successor: Callable[[Plan], Version]) -> Version:
        """Add the version after ``parent``, on the parent's present plan: runs may have been merged meanwhile."""
        with self._lock:
            version = successor(self._present(parent).plan)
            self._add(version)
            self._uploading.add(version.key)
            self._uploading.discard(parent.key)
            return version

    @contextmanager
    def pinned(self, version: Version) -> Iterator[Version]:
        """The version with its present plan, whose files count as in use until the end of the block.

        A commit writes them into a manifest that retention can't see yet, while a merge may replace them in memory.
        """
        with self._lock:
            present = self._present(version)
            names = [str(ref.name) for ref in durable_files(present.plan)]
            self._pinned.update(names)
        try:
            yield present
        finally:
            with self._lock:
                self._pinned -= Counter(names)

    def replace(self, step: Step) -> None:
        """Put a merged piece in the place of the rows it covers, in every version with just its column families.

        A version with other families may still have rows that the merge dropped.
        """
        with self._lock:
            for version in list(self._versions.values()):
                if version.catalog.ids == step.merge.catalog.ids:
                    self._revise(version, substitute(version.plan, step.merge.runs, step.runs_after))

    def set_file(self, segment: Segment, ref: FileRef) -> None:
        """A segment was uploaded: later manifests list this file in the place of those it was merged from."""
        with self._lock:
            for version in list(self._versions.values()):
                self._revise(version, uploaded(version.plan, segment, ref))

    def remove(self, key: VersionKey) -> None:
        """Remove a version."""
        with self._lock:
            self._versions.pop(key, None)
            self._uploading.discard(key)

    def clear(self) -> None:
        """Remove all versions."""
        with self._lock:
            self._versions.clear()
            self._uploading.clear()

    def files_in_use(self) -> frozenset[str]:
        """Names of the checkpoint files that a later manifest may list, or one that is being written."""
        with self._lock:
            refs = (ref for version in self._versions.values() for ref in durable_files(version.plan))
            return frozenset([*(str(ref.name) for ref in refs), *self._pinned])

    def segment_of(self, ref: FileRef, catalog: Catalog) -> Segment | None:
        """The segment restored of a file, or written with it, if it was checked against families of the same form.

        With a filter, one that has the rows of just these families.
        """
        with self._lock:
            versions = [version for version in self._versions.values() if version.catalog.forms >= catalog.forms]
            pieces = (piece for version in versions for piece in pieces_of(version.plan))
            return next((p.segment for p in pieces if p.is_restored_of(ref) and p.has_families_of(catalog)), None)

    def _present(self, version: Version) -> Version:
        return self._versions.get(version.key, version)

    def _add(self, version: Version) -> None:
        self._versions[version.key] = version
        self._versions.move_to_end(version.key)
        while len(self._versions) > VERSIONS_IN_MEMORY:
            oldest, _ = self._versions.popitem(last=False)
            self._uploading.discard(oldest)

    def _revise(self, version: Version, plan: Plan) -> None:
        self._revision += 1
        self._versions[version.key] = msgspec.structs.replace(version, plan=plan, revision=self._revision)
