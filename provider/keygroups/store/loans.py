"""What a store's borrowers still need of its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from keygroups.checkpoint.loans import Loan, loan_version, read_loan
from keygroups.checkpoint.names import parse_name
from keygroups.checkpoint.retention import retained_versions
from keygroups.store.downloads import Downloads

Listing = Mapping[str, frozenset[str]]
"""Names of the store's files that version files list, by the paths of these."""


class Lent(NamedTuple):
    """What is to be kept, and what is over.

    Attributes:
        needed: names of files that a borrower needs.
        over: names of loans of which no borrower needs anything.
    """

    needed: frozenset[str]
    over: list[str]


class Loans:
    """The loans in a store's folder.

    Args:
        store: ``<partition>[/<store name>]``.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self._known: dict[str, Loan] = {}

    def lent(
        self, names: Sequence[str], oldest: int, downloads: Downloads, listed_by: Callable[[list[str]], Listing]
    ) -> Lent:
        """What the borrowers need.

        All stores of an operator have the same versions, and one that this store no longer retains can't be loaded. So
        a borrower needs what its versions from ``oldest`` on list, and nothing if it has none: it is gone. One that has
        not begun yet needs all that it was lent.

        Args:
            names: in the store's folder.
            oldest: the oldest version of borrowers that may still be loaded.
            downloads: loans and listings of the borrowers' folders.
            listed_by: reads manifests of version files, by path.

        Raises:
            Wanted: something must be downloaded first.
            CheckpointError: a loan or a manifest can't be read.
        """
        loans = self._read([name for name in names if loan_version(name) is not None], downloads)
        stores = sorted({store for loan in loans.values() for store in loan.stores} - {self._store})
        files = {s: [file.name for file in found] for s, found in downloads.all_listed(stores).items()}
        versions = {store: retained_versions(found, oldest) for store, found in files.items()}
        listed = listed_by([f"{store}/{name}" for store, found in versions.items() for name in found])
        needed: set[str] = set()
        over = []
        for name, loan in loans.items():
            first = loan_version(name) or 0
            begun = all(first < oldest or _has_begun(files[s], first) for s in loan.stores - {self._store})
            wanted = loan.files & _of(loan.stores, listed) if begun else loan.files
            needed |= wanted
            over += [] if wanted else [name]
        return Lent(frozenset(needed), over)

    def _read(self, names: list[str], downloads: Downloads) -> dict[str, Loan]:
        unknown = [name for name in names if name not in self._known]
        paths = [f"{self._store}/{name}" for name in unknown]
        downloads.require(paths)
        read = {n: read_loan(downloads.local(path), path) for n, path in zip(unknown, paths, strict=True)}
        self._known = {name: loan for name, loan in (self._known | read).items() if name in names}
        return self._known


def _has_begun(names: Sequence[str], first: int) -> bool:
    """Whether a borrower has a version file of the version that it begins with, or of a later one."""
    return any((n := parse_name(name)) is not None and n.kind == "version" and n.version >= first for name in names)


def _of(stores: frozenset[str], listed: Listing) -> frozenset[str]:
    """What version files of these stores list."""
    return frozenset().union(*(names for path, names in listed.items() if path.rpartition("/")[0] in stores))
