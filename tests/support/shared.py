"""An operator whose stores are re-expressed as other stores, by manifests and loans alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.file_writer import write_file
from keygroups.checkpoint.filters import GroupRange
from keygroups.checkpoint.loans import Loan, loan_file
from keygroups.checkpoint.manifest import FileRef, Manifest, Part
from keygroups.checkpoint.names import new_name
from keygroups.store.version import Version, VersionKey
from support.local_store import LocalStore


def ranges_of(groups: Iterable[int]) -> tuple[GroupRange, ...]:
    """Key groups as ranges: one, where they lie at equal distances."""
    known = sorted(groups)
    step = known[1] - known[0] if len(known) > 1 else 1
    if known == list(range(known[0], known[-1] + 1, step)):
        return (GroupRange(known[0], known[-1] + 1, step),)
    runs = ([group for _, group in run] for _, run in groupby(enumerate(known), key=lambda one: one[1] - one[0]))
    return tuple(GroupRange(run[0], run[-1] + 1, 1) for run in runs)


def listed(lender: LocalStore, version: Version) -> list[FileRef]:
    """The files of a version, newest first."""
    assert version.file is not None
    return [version.file, *lender.manifest(version).segments]


def filtered(ref: FileRef, groups: frozenset[int], others: Iterable[int]) -> FileRef | None:
    """A reference to the rows of some key groups; to all rows if the file has those of no others."""
    before = ref.key_groups
    left = groups if before is None else groups & {group for known in before for group in range(*known)}
    if not left or not ref.rows:
        return None
    whole = before is None and not set(others) - left
    key_groups = None if whole else ranges_of(left)
    return FileRef(ref.path, ref.rows, ref.bytes, ref.checksum, ref.span, ref.follows, key_groups)


def lend(operator: Path, store: str, refs: Iterable[FileRef], version: int) -> None:
    """Write the loans for the files of other stores that a store is to list."""
    for lender in {ref.store for ref in refs} - {store}:
        names = frozenset(str(ref.name) for ref in refs if ref.store == lender)
        name, content = loan_file(Loan(names, frozenset({store})), version)
        (operator / lender / name).write_bytes(content)


def put_version(
    operator: Path, store: str, partitions: int, refs: Sequence[FileRef], catalog: Catalog, version: int, groups: int
) -> VersionKey:
    """Write a version file that has no rows of its own."""
    name = new_name("version", version)
    (operator / store).mkdir(parents=True, exist_ok=True)

    def head(parts: tuple[Part, ...]) -> dict[bytes, bytes]:
        return Manifest(
            kind="version", store=store, version=version, rows=0, parts=parts, max_parallelism=groups,
            partitions=partitions, catalog=catalog, segments=tuple(refs), id=name.id,
        ).head()[0]  # fmt: skip

    write_file(operator / store / str(name), [], catalog, head, "zstd")
    return VersionKey(version, name.id)


def shares(
    lenders: Mapping[str, list[FileRef]], owned: Mapping[str, frozenset[int]], owner: Callable[[int], str], groups: int
) -> dict[str, list[FileRef]]:
    """What each new store lists of the lenders' files.

    Args:
        lenders: the files of each old store.
        owned: the key groups of each old store.
        owner: the new store of a key group.
        groups: how many there are.
    """
    wanted: dict[str, list[FileRef]] = {}
    for group in range(groups):
        wanted.setdefault(owner(group), [])
    for store, refs in wanted.items():
        groups_of = frozenset(group for group in range(groups) if owner(group) == store)
        for lender, files in lenders.items():
            found = (filtered(ref, groups_of & owned[lender], owned[lender]) for ref in files)
            refs += [ref for ref in found if ref is not None]
    return wanted
