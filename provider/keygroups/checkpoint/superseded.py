"""Which files of a store its latest version has replaced: version files name them, so that a commit can delete them.

A query that is started for a single batch ends before any maintenance. It knows from the version that it loads what no
retained version needs, without a listing. Files that no version names, of attempts that failed, are left to cleanups.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from keygroups.checkpoint.catalog import Count
from keygroups.checkpoint.retention import oldest_retained

MOST_RETAINED: Final = 16
"""Versions to retain up to which files are named: about 1.3 for each, with 80 bytes. With more, cleanups find them."""

LEAST_RETAINED: Final = 2
"""Without checkpoint ids, two executors may go on with different attempts at a version, for a batch or two."""


class Superseded(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A file of a store's own folder that a version does not need any more.

    Attributes:
        name: of the file.
        version: the first version that does not need it, nor do later ones.
    """

    name: str
    version: Count


class Needs(msgspec.Struct, frozen=True):
    """What a version needs of the store's own folder, and what versions before it needed.

    Attributes:
        names: files that it needs: its own, and those that its manifest lists.
        superseded: files that it does not need, and that may still exist.
        root: the version without a parent that it goes back to. Files up to that one may be lent to other stores: they
            are never named.
    """

    names: frozenset[str] = frozenset()
    superseded: tuple[Superseded, ...] = ()
    root: int = 0

    def after(self, parent: Needs, version: int, retain: int) -> Needs:
        """Return the needs with what the version has superseded.

        What a commit deletes is named once more: it may have ended before it was deleted.

        Args:
            parent: of the version that this one was built on.
            version: this one.
            retain: how many versions stay loadable; 0 if that is not known.
        """
        if not 0 < retain <= MOST_RETAINED:
            return Needs(self.names, (), parent.root)
        oldest = _oldest(version - 1, retain)
        kept = (one for one in parent.superseded if one.version >= oldest and one.name not in self.names)
        new = sorted(name for name in parent.names - self.names if _version(name) > parent.root)
        return Needs(self.names, (*kept, *(Superseded(name, version) for name in new)), parent.root)

    def deletable(self, version: int, retain: int, in_use: AbstractSet[str]) -> list[str]:
        """Return the names of files that no retained version needs.

        Args:
            version: this one, which Spark has committed.
            retain: how many versions before it stay loadable.
            in_use: names that the store's process may still list.
        """
        oldest = _oldest(version, retain)
        return [one.name for one in self.superseded if one.version <= oldest and one.name not in in_use]


def _oldest(version: int, retain: int) -> int:
    return oldest_retained(version, max(retain, LEAST_RETAINED))


def _version(name: str) -> int:
    return int(name[1:21])
