"""What retention may delete: only files that no retained version refers to."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from keygroups.checkpoint.names import FileName, parse_name, parse_temporary

_UNLISTED_MICROS: Final = 3600 * 1_000_000
"""For so long another process may be about to list a segment that it has written."""
_UPLOAD_MICROS: Final = _UNLISTED_MICROS // 2
"""A segment whose upload took longer is not listed any more: the rest is for clocks that differ."""


def oldest_retained(latest: int, versions_to_retain: int) -> int:
    """The oldest version that must stay loadable.

    Spark's ``minBatchesToRetain`` versions before the latest, as in HDFSBackedStateStoreProvider: the latest may not be
    uploaded yet, and a batch that Spark's commit log does not have runs again on the version before it.
    """
    return max(1, latest - versions_to_retain)


def retained_versions(names: Iterable[str], oldest: int) -> list[str]:
    """The version files, of every attempt, whose manifests say what must stay."""
    parsed = ((n, parse_name(n)) for n in names)
    return [n for n, p in parsed if p is not None and p.kind == "version" and p.version >= oldest]


def unreferenced_files(
    names: Iterable[str],
    oldest: int,
    references: Mapping[str, frozenset[str]],
    known: AbstractSet[str] = frozenset(),
) -> list[str]:
    """Names of the files in a store's folder that no retained version needs.

    A file of version ``oldest`` or later always stays: an attempt elsewhere may just have written it. So does a segment
    that another process may list in its next version: one that was begun after the oldest retained version file or, if
    nothing is known of it, an hour before that. A file that is being uploaded is judged by its final
    name, unless that file is there: then an attempt has failed and left it.

    Args:
        names: all names in the folder.
        oldest: the oldest retained version.
        references: for every retained version file the names it refers to.
        known: names that some version has listed, or that this process has written: no other is the first to list them.
    """
    names = list(names)
    present = frozenset(names)
    needed = frozenset().union(*references.values())
    retained = map(parse_name, retained_versions(names, oldest))
    earliest = min((file.begun for file in retained if file is not None), default=1 << 64)

    def may_go(name: str, file: FileName) -> bool:
        if file.version >= oldest:
            return False
        if name != str(file) and str(file) in present:
            return True
        if str(file) in needed:
            return False
        waits = 0 if str(file) in known else _UNLISTED_MICROS
        return file.kind != "segment" or file.begun + waits <= earliest

    files = ((name, parse_name(name) or parse_temporary(name)) for name in names)
    return [name for name, file in files if file is not None and may_go(name, file)]


def may_be_listed(segment: FileName) -> bool:
    """Whether a segment whose upload has ended is young enough: no other executor's cleanup deletes it before long."""
    return time.time_ns() // 1000 - segment.begun <= _UPLOAD_MICROS
