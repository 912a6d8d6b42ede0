"""What retention may delete: only files that no retained version refers to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keygroups.checkpoint.names import parse_name, temporary_version


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


def unreferenced_files(names: Iterable[str], oldest: int, references: Mapping[str, frozenset[str]]) -> list[str]:
    """Names of the files in a store's folder that no retained version needs.

    A file of version ``oldest`` or later always stays: an attempt elsewhere may just have written it. So does a segment
    that was written after the oldest retained version file: another executor may list it in its next version.

    Args:
        names: all names in the folder.
        oldest: the oldest retained version.
        references: for every retained version file the names it refers to.
    """
    names = list(names)
    needed = frozenset().union(*references.values())
    ids = [p.id for p in map(parse_name, retained_versions(names, oldest)) if p is not None]
    old = (n for n in names if (v := _version(n)) is not None and v < oldest)
    earliest = min(ids, default="f" * 32)
    return [n for n in old if n not in needed and not _is_later_segment(n, earliest)]


def _is_later_segment(name: str, id_: str) -> bool:
    parsed = parse_name(name)
    return parsed is not None and parsed.kind == "segment" and parsed.id > id_


def _version(name: str) -> int | None:
    parsed = parse_name(name)
    return parsed.version if parsed is not None else temporary_version(name)
