"""Retention of one store: delete the files that no retained version refers to."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from keygroups.checkpoint.manifest import FileRef
from keygroups.checkpoint.retention import deletable, oldest_retained, retained_versions
from keygroups.store.fetched import Fetched


class Cleanup:
    """What is known of the references between a store's files.

    Args:
        store: ``<partition>[/<store name>]``.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._references: dict[str, frozenset[str]] = {}

    def learn(self, name: str, references: Iterable[FileRef]) -> None:
        """Note which files a version file refers to."""
        with self._lock:
            self._references[name] = frozenset(str(ref.name) for ref in references)

    def deletable(
        self, latest: int, retain: int, names: Sequence[str], in_use: frozenset[str], fetched: Fetched
    ) -> list[str]:
        """Names that may be deleted.

        Args:
            latest: the newest version.
            retain: how many versions stay loadable.
            names: all names in the store's checkpoint folder.
            in_use: names that this process may yet refer to.
            fetched: reads the manifests of retained versions that this process has not seen.
        """
        oldest = oldest_retained(latest, retain)
        if not deletable(names, oldest, {"": in_use}):
            return []
        retained = retained_versions(names, oldest)
        with self._lock:
            unknown = [n for n in retained if n not in self._references]
        fetched.require([f"{self._store}/{n}" for n in unknown], head=True)
        for name in unknown:
            self.learn(name, fetched.manifest(f"{self._store}/{name}", head=True).segments)
        fetched.discard(head=True)
        with self._lock:
            self._references = {n: r for n, r in self._references.items() if n in retained}
            return deletable(names, oldest, {**self._references, "": in_use})
