"""Which files of a store are referred to, by its own versions and by those of its borrowers: the basis of retention."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from keygroups.checkpoint.manifest import FileRef
from keygroups.checkpoint.names import parse_name
from keygroups.checkpoint.retention import oldest_retained, retained_versions, unreferenced_files
from keygroups.store.downloads import Downloads
from keygroups.store.loans import Listing, Loans


class References:
    """The files of a store that the manifests of version files list, as far as this process knows them.

    Args:
        store: ``<partition>[/<store name>]``.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._listed: dict[str, frozenset[str]] = {}
        self._known: set[str] = set()
        self._loans = Loans(store)

    def record(self, path: str, references: Iterable[FileRef]) -> None:
        """Record the files that the manifest of a version file lists. Those in other stores' folders are not ours."""
        listed = frozenset(str(ref.name) for ref in references if ref.store == self._store)
        with self._lock:
            self._listed[path] = listed
            self._known |= listed

    def written(self, name: str) -> None:
        """Record a segment that this process has written: no other is the first to list it."""
        with self._lock:
            self._known.add(name)

    def files_to_delete(self, latest: int, retain: int, in_use: frozenset[str], downloads: Downloads) -> list[str]:
        """Names in the store's folder that retention may delete.

        Args:
            latest: number of the latest version.
            retain: how many versions stay loadable.
            in_use: names that this process may still refer to.
            downloads: listings, loans, and manifests of retained versions that this process has not seen.

        Raises:
            Wanted: something must be downloaded first.
            CheckpointError: the manifest of a retained version, or a loan, can't be read.
        """
        names = [file.name for file in downloads.listed(self._store)]
        # A version that is not in the listing may need any file: it was written since, maybe elsewhere.
        newest = max((_version(name) for name in retained_versions(names, 0)), default=0)
        latest = min(latest, newest)
        oldest = oldest_retained(latest, retain)
        if not unreferenced_files(names, oldest, {"": in_use}, set(names)):
            return []
        retained = [f"{self._store}/{name}" for name in retained_versions(names, oldest)]
        if len(self._of(retained, downloads)) < len(retained):
            return []  # another attempt's file went after it was listed: the next cleanup has a listing without it
        with self._lock:
            # Not by the listing: it may be older than the latest version file.
            self._listed = {path: listed for path, listed in self._listed.items() if _version(path) >= oldest - 1}
            own = {path: listed for path, listed in self._listed.items() if _version(path) >= oldest}
            self._known &= in_use.union(names, *self._listed.values())
            known = frozenset(self._known)
        if not (old := unreferenced_files(names, oldest, {**own, "": in_use}, known)):
            return []
        # A borrower may be a version behind: its task of the latest batch may still be running.
        lent = self._loans.lent(names, min(oldest, latest - 1), downloads, lambda paths: self._of(paths, downloads))
        return [name for name in old if name not in lent.needed] + lent.over

    def _of(self, paths: Sequence[str], downloads: Downloads) -> Listing:
        """What version files list of the store's files; of one that another store has deleted meanwhile, nothing."""
        with self._lock:
            unknown = [path for path in paths if path not in self._listed]
        downloads.require(unknown, head=True)
        found = [path for path in paths if path not in downloads.missing]
        self._read_unknown(found, downloads)
        with self._lock:
            return {path: self._listed[path] for path in found if path in self._listed}

    def _read_unknown(self, paths: Sequence[str], downloads: Downloads) -> None:
        with self._lock:
            unknown = [path for path in paths if path not in self._listed]
        for path, manifest in zip(unknown, downloads.manifests(unknown), strict=True):
            self.record(path, manifest.segments)


def _version(path: str) -> int:
    parsed = parse_name(path.rpartition("/")[2])
    return parsed.version if parsed else -1
