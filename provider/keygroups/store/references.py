"""Which files of a store refer to which: the basis of retention."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from keygroups.checkpoint.manifest import FileRef
from keygroups.checkpoint.names import parse_name
from keygroups.checkpoint.retention import oldest_retained, retained_versions, unreferenced_files
from keygroups.store.downloads import Downloads


class References:
    """The files that the manifests of version files list, as far as this process knows them.

    Args:
        store: ``<partition>[/<store name>]``.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._references: dict[str, frozenset[str]] = {}

    def record(self, name: str, references: Iterable[FileRef]) -> None:
        """Record the files that the manifest of a version file lists."""
        with self._lock:
            self._references[name] = frozenset(str(ref.name) for ref in references)

    def files_to_delete(self, latest: int, retain: int, in_use: frozenset[str], downloads: Downloads) -> list[str]:
        """Names that retention may delete.

        Args:
            latest: number of the latest version.
            retain: how many versions stay loadable.
            in_use: names that this process may still refer to.
            downloads: the listing, and manifests of retained versions that this process has not seen.

        Raises:
            Wanted: something must be downloaded first.
            CheckpointError: the manifest of a retained version can't be read.
        """
        names = [file.name for file in downloads.listed()]
        oldest = oldest_retained(latest, retain)
        if not unreferenced_files(names, oldest, {"": in_use}):
            return []
        self._read_unknown(retained_versions(names, oldest), downloads)
        with self._lock:
            # Not by the listing: it may be older than the latest version file.
            self._references = {n: r for n, r in self._references.items() if _version(n) >= oldest}
            return unreferenced_files(names, oldest, {**self._references, "": in_use})

    def _read_unknown(self, names: list[str], downloads: Downloads) -> None:
        with self._lock:
            unknown = [name for name in names if name not in self._references]
        manifests = downloads.manifests([f"{self._store}/{name}" for name in unknown])
        for name, manifest in zip(unknown, manifests, strict=True):
            self.record(name, manifest.segments)


def _version(name: str) -> int:
    parsed = parse_name(name)
    return parsed.version if parsed else -1
