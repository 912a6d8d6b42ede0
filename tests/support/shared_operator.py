"""An operator of several stores with rows, merges and cleanups, which becomes other stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from keygroups.store.version import Version, VersionKey
from support.local_store import LocalStore, catalog, rows_of
from support.reader import read_version
from support.shared import lend, listed, put_version, shares

G = 128
Rows = dict[int, int]


def group_of(key: int) -> int:
    """Neighbours in the order of rows are of different key groups."""
    return key * 37 % G


def opened(folder: Path, store: str, partitions: int) -> LocalStore:
    """A store of an operator."""
    conf = {"maxParallelism": str(G), "compactionFanout": "2"}
    (folder / "local").mkdir(exist_ok=True)
    return LocalStore(folder, conf, store, partitions, group_of)


def upload_merges(local: LocalStore, most: int = 1000) -> None:
    """Do what is due, or some of it."""
    while most and (done := local.merge_piece()) is not None:
        if done[1] is not None:
            local.upload(done[1])
            local.store.uploaded(done[1].name, success=True)
        most -= 1


def latest(local: LocalStore) -> Version:
    """The version of a store."""
    version = local.store._versions.latest()
    assert version is not None
    return version


class Operator:
    """Stores 0 and 1 of 2, and what all of them hold.

    Args:
        folder: for everything; exists.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stores = {str(p): opened(folder, str(p), 2) for p in range(2)}
        self.model: Rows = {}
        self.owner: Callable[[int], str] = lambda group: str(group % 2)
        for store in self.stores.values():
            store.first()

    @property
    def version(self) -> int:
        """The version of all stores."""
        (version,) = {latest(local).key.version for local in self.stores.values()}
        return version

    def write(self, rows: Mapping[int, int | None]) -> None:
        """A batch: the next version of each store."""
        self.model |= {key: value for key, value in rows.items() if value is not None}
        self.model = {key: value for key, value in self.model.items() if rows.get(key, 0) is not None}
        for name, local in self.stores.items():
            own = {key: value for key, value in rows.items() if self.owner(group_of(key)) == name}
            local.write(latest(local), own, len(self.rows(name)))

    def rows(self, store: str) -> Rows:
        """What a store has to hold."""
        return {key: value for key, value in self.model.items() if self.owner(group_of(key)) == store}

    def rescale(self, owner: Callable[[int], str]) -> None:
        """Have other stores go on at the next version."""
        version = self.version + 1
        files = {name: listed(local, latest(local)) for name, local in self.stores.items()}
        owned = {name: frozenset(g for g in range(G) if self.owner(g) == name) for name in files}
        new = shares(files, owned, owner, G)
        self.owner, operator = owner, self.folder / "checkpoint"
        for name, refs in new.items():
            lend(operator, name, refs, version)
        keys = {
            name: put_version(operator, name, len(new), refs, catalog(len(self.rows(name))), version, G)
            for name, refs in new.items()
        }
        self.stores = {name: opened(self.folder, name, len(new)) for name in new}
        for name, local in self.stores.items():
            self.load(local, keys[name])

    def restart(self) -> None:
        """Load the stores anew."""
        for local in self.stores.values():
            key = latest(local).key
            local.reopened()
            self.load(local, key)

    def load(self, local: LocalStore, key: VersionKey) -> Version:
        """A version of a store."""
        return local.call(lambda downloads: local.store.load(key, downloads))

    def check(self) -> None:
        """Each store has its rows: in memory, as another process loads them, and as a stranger reads them."""
        for name, local in self.stores.items():
            version = latest(local)
            assert rows_of(local.store.known(version.key)) == self.rows(name)
            again = opened(self.folder, name, len(self.stores))
            assert rows_of(self.load(again, version.key)) == self.rows(name)
            found = dict(read_version(self.folder / "checkpoint" / name, version.key.version)["family 0"])
            numbers = {int.from_bytes(k, "big"): int.from_bytes(v, "big") for k, v in found.items()}
            assert numbers == self.rows(name)

    def clean_up(self, retain: int) -> None:
        """Delete what retention allows."""
        for local in self.stores.values():
            local.clean_up(retain)

    def files(self) -> set[Path]:
        """All files of the checkpoint."""
        return {path for path in (self.folder / "checkpoint").glob("*/*") if path.is_file()}
