"""A store of the Python side, with a checkpoint folder, driven as the JVM drives it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeVar

import numpy as np

from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.checkpoint.manifest import Manifest, read_manifest
from keygroups.segment.chunk import HEADER, TOMBSTONE, Chunk
from keygroups.settings import Settings
from keygroups.store.checkpoint_writer import Upload
from keygroups.store.downloads import Downloads, Listed, Wanted
from keygroups.store.spec import StoreSpec
from keygroups.store.store import Store
from keygroups.store.version import Version, VersionKey

T = TypeVar("T")

HEAD_BYTES = 256 * 1024
MOST_FAMILIES = 4096


def catalog(keys: int, families: int = 1) -> Catalog:
    """A catalog whose first family has this many keys."""
    columns = '{"fields": []}'
    known = (
        Family(n, f"family {n}", columns, columns, "{}", "avro", num_keys=0 if n else keys) for n in range(families)
    )
    return Catalog(tuple(known), MOST_FAMILIES)


class LocalStore:
    """A store, and the uploads and downloads of the JVM.

    Args:
        folder: for everything; exists.
        settings: of the store.
        store: its partition, and its name if it has one.
        partitions: of the query.
        group_of: the key group of a key.

    Attributes:
        listed: stores whose folders were listed.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        store: str = "0",
        partitions: int = 1,
        group_of: Callable[[int], int] = lambda _: 0,
    ) -> None:
        self.folder = folder
        self.operator = folder / "checkpoint"
        self.checkpoint = self.operator / store
        self.checkpoint.mkdir(parents=True, exist_ok=True)
        self._settings = Settings.parse(settings or {})
        self._spec = StoreSpec("state/0", store, partitions)
        self._group_of = group_of
        self._spilled: dict[str, bool] = {}
        self.listed: list[str] = []
        self.store = self.reopened()

    def reopened(self) -> Store:
        """Another store on the same checkpoint, as after a restart; it becomes the store."""
        self.store = Store(self._spec, self._settings, Path(mkdtemp(dir=self.folder)))
        return self.store

    def write(self, parent: Version, rows: Mapping[int, int | None], keys: int, families: int = 1) -> Version:
        """Commit rows on a version, and upload."""
        version, uploads = self.commit(parent, rows, keys, families)
        for upload in uploads:
            self.upload(upload)
        return version

    def commit(
        self, parent: Version, rows: Mapping[int, int | None], keys: int, families: int = 1
    ) -> tuple[Version, list[Upload]]:
        """Commit rows, and those of ``spill``, on a version."""
        ids, saved = list(self._spilled), {id_ for id_, is_saved in self._spilled.items() if is_saved}
        self._spilled = {}
        writes = self.store.take("session", ids, [self._chunk(rows)], saved=saved)
        return self.store.commit(writes, parent, catalog(keys, families))

    def spill(self, parent: Version, rows: Mapping[int, int | None], *, save: bool, family: int = 0) -> None:
        """Hand rows over before the commit, and save them."""
        id_ = self.store.spill("session", [self._chunk(rows, family)], catalog(0, family + 1)).id
        upload = self.store.save("session", id_, parent) if save else None
        if upload is not None:
            self.upload(upload)
        self._spilled = {id_: upload is not None, **self._spilled}

    def keep_segments_of(self, nbytes: int) -> None:
        """Have segments of so many bytes become files as they are."""
        self.store._writer._large_bytes = nbytes

    def merge_few_rows(self) -> None:
        """Have merges take seven rows or so at a time."""
        self.store._compaction._piece_bytes = 200

    def merge_piece(self, *, newest: bool = False) -> tuple[Version, Upload | None] | None:
        """Do the next piece of a merge, if one is due."""
        segment = self.store.compact(thorough=True, newest=newest)
        return None if segment is None else self.store.install(segment.id)

    def compact(self) -> Upload:
        """Merge the latest version's runs, and put the merged segment into the checkpoint."""
        compacted = self.merge_piece()
        assert compacted is not None, "no merge is due"
        _, upload = compacted
        assert upload is not None, "the merge has no rows"
        self.upload(upload)
        return upload

    def upload(self, upload: Upload) -> None:
        """Put a file into the checkpoint."""
        Path(upload.path).rename(self.checkpoint / upload.name)

    def call(self, method: Callable[[Downloads], T]) -> T:
        """Make a call, download some of what it wants, one whole file at a time, and make it again."""
        folder = Path(mkdtemp(dir=self.folder))
        downloads = Downloads(str(folder))
        try:
            while True:
                try:
                    return method(downloads)
                except Wanted as wanted:
                    downloads = self._brought(downloads, wanted)
        finally:
            shutil.rmtree(folder)

    def load(self, version: Version) -> Version:
        """Load a version."""
        return self.call(lambda downloads: self.store.load(version.key, downloads))

    def change(self, version: Version) -> Version:
        """What a version changed."""
        return self.call(lambda downloads: self.store.change(version.key, downloads)).version

    def clean_up(self, retain: int) -> set[str]:
        """Delete what retention allows; the names that stay."""
        for name in self.call(lambda downloads: self.store.files_to_delete(retain, downloads)):
            (self.checkpoint / name).unlink()
        return {path.name for path in self.checkpoint.iterdir()}

    def manifest(self, version: Version) -> Manifest:
        """The manifest of a version's file."""
        assert version.file is not None
        return read_manifest(self.checkpoint / str(version.file.name), "file")

    def first(self) -> Version:
        """Version 0."""
        return self.call(lambda downloads: self.store.load(VersionKey(0), downloads))

    def _brought(self, downloads: Downloads, wanted: Wanted) -> Downloads:
        listings, missing = dict(downloads.listings), set(downloads.missing)
        for store in wanted.listings:
            self.listed.append(store)
            stats = [(path.name, path.stat()) for path in (self.operator / store).glob("*")]
            listings[store] = [Listed(name, stat.st_mtime_ns // 10**6, stat.st_size) for name, stat in stats]
        for path, local in wanted.files if wanted.head else wanted.files[:1]:
            source = self.operator / path
            if source.exists():
                data = source.read_bytes()
                Path(local).write_bytes(data[:HEAD_BYTES] if wanted.head else data)
            else:
                missing.add(path)
        return Downloads(downloads.folder, listings, frozenset(missing))

    def _chunk(self, rows: Mapping[int, int | None], family: int = 0) -> Chunk:
        """Rows of 8-byte keys and values, as the JVM writes them."""
        header = np.zeros(len(rows), HEADER)
        header["locator"] = list(rows)
        header["key_group"] = [self._group_of(key) for key in rows]
        header["key_bytes"] = 8
        header["value_bytes"] = [0 if value is None else 8 for value in rows.values()]
        header["flags"] = [TOMBSTONE if value is None else 0 for value in rows.values()]
        keys = b"".join(key.to_bytes(8, "big") for key in rows)
        values = b"".join(value.to_bytes(8, "big") for value in rows.values() if value is not None)
        path = self.folder / "rows.chunk"
        path.write_bytes(header.tobytes() + keys + values)
        return Chunk(family, str(path), len(rows), len(keys), len(values))


def rows_of(version: Version, family: int | None = None) -> dict[int, int]:
    """The keys and values of a version, or of a family of it."""
    rows: dict[bytes, bytes | None] = {}
    for run in reversed(version.plan):
        for block in (block for block in run.blocks() if family in (None, block.family)):
            rows |= zip(block.key.to_pylist(), block.value.to_pylist(), strict=True)
    return {int.from_bytes(k, "big"): int.from_bytes(v, "big") for k, v in rows.items() if v is not None}
