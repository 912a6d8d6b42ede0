"""Loading a version that is not in memory: find its file, read the manifest, restore the files it names."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from keygroups.backend.base import Backend, Run
from keygroups.checkpoint.manifest import Catalog, FileRef, Manifest
from keygroups.checkpoint.names import FileName, foreign_provider, parse_name
from keygroups.checkpoint.recovery import files_of_version
from keygroups.checkpoint.row_check import RowCheck
from keygroups.errors import CheckpointError, SettingError, VersionError
from keygroups.segment.restore import reading
from keygroups.store.fetched import Fetched
from keygroups.store.spec import Listed, StoreSpec, Version, VersionKey, Wanted

log = logging.getLogger(__name__)

T = TypeVar("T")


class Change(NamedTuple):
    """What a version changed.

    Attributes:
        version: the version with the rows that it changed only.
        parent: the version that it was built on; None for the first.
    """

    version: Version
    parent: VersionKey | None


class Loader:
    """Loads versions of one store from its checkpoint folder.

    Args:
        spec: the store.
        max_parallelism: as set by the user, 0 if not set.
        backend: restores files.
        in_memory: the run of a durable file if some version in memory has it, with families of the same form.
    """

    def __init__(
        self,
        spec: StoreSpec,
        max_parallelism: int,
        backend: Backend,
        in_memory: Callable[[FileRef, Catalog], Run | None],
    ) -> None:
        self._spec = spec
        self._max_parallelism = max_parallelism
        self._backend = backend
        self._in_memory = in_memory

    def load(self, key: VersionKey, listing: Sequence[Listed] | None, fetched: Fetched) -> Version:
        """Load a version above 0.

        Raises:
            Wanted: something must be brought first.
            CheckpointError: the version does not exist, is foreign, or is damaged with no older path to it.
            SettingError, VersionError: the checkpoint does not fit the settings or the query.
        """
        return self._from_attempts(key, listing, lambda path: self._load_attempt(path, fetched))

    def change(self, key: VersionKey, listing: Sequence[Listed] | None, fetched: Fetched, *, writes: bool) -> Change:
        """What a version above 0 changed.

        Args:
            key: the version.
            listing: see ``Wanted``.
            fetched: what was brought so far.
            writes: each write, if the version has kept them, rather than each key.

        Raises:
            As ``load``.
        """
        return self._from_attempts(key, listing, lambda path: self._change_of(path, fetched, writes=writes))

    def _from_attempts(self, key: VersionKey, listing: Sequence[Listed] | None, read: Callable[[str], T]) -> T:
        candidates = self._candidates(key, listing)
        first_error: CheckpointError | None = None
        for path in candidates:
            try:
                return read(path)
            except CheckpointError as error:
                log.warning("%s%s", error, "; trying another attempt's file" if path != candidates[-1] else "")
                first_error = first_error or error
        raise first_error or self._not_found(key)

    def check_foreign(self, listing: Sequence[Listed] | None) -> None:
        """Refuse a folder that another provider has written to. Raises Wanted, CheckpointError."""
        if listing is None:
            raise Wanted(listing=True)
        for file in listing:
            if provider := foreign_provider(file.name):
                raise CheckpointError(
                    "another state store provider wrote this checkpoint",
                    path=f"{self._spec.operator_folder}/{self._spec.store}/{file.name}",
                    expected="files of keygroups",
                    found=f"a file of {provider}",
                    fix=f"run the query with {provider}, or start it on a new checkpoint",
                )

    def _candidates(self, key: VersionKey, listing: Sequence[Listed] | None) -> list[str]:
        """Paths of the version's files; of several attempts the last written comes first."""
        if key.checkpoint_id is not None:
            return [f"{self._spec.store}/{FileName('version', key.version, key.checkpoint_id)}"]
        self.check_foreign(listing)
        wanted = ("version", key.version)
        files = [f for f in listing or () if (n := parse_name(f.name)) is not None and (n.kind, n.version) == wanted]
        return [f"{self._spec.store}/{f.name}" for f in sorted(files, key=lambda f: (f.modified, f.name), reverse=True)]

    def _not_found(self, key: VersionKey) -> CheckpointError:
        return CheckpointError(
            f"version {key.version} of the state does not exist",
            path=f"{self._spec.operator_folder}/{self._spec.store}",
            expected=f"a file {FileName('version', key.version, key.checkpoint_id or '<id>')}",
            found="none",
            fix="restore the folder, or start the query on a new checkpoint",
        )

    def _load_attempt(self, path: str, fetched: Fetched) -> Version:
        manifest = self._manifest(path, fetched)
        ref = _ref(path, manifest, fetched)
        damaged = set(fetched.missing)
        first_error: CheckpointError | None = None
        while (files := files_of_version(ref, manifest, damaged, lambda n: self._parent(n, fetched))) is not None:
            try:
                return self._restore(ref, manifest, files, fetched)
            except _DamagedError as error:
                log.warning("%s; looking for an older path to version %d", error.cause, manifest.version)
                first_error = first_error or error.cause
                damaged.add(error.path)
        raise first_error or CheckpointError(
            "a file of the checkpoint is missing",
            path=f"{self._spec.operator_folder}/{min(damaged, default=path)}",
            expected=f"all files of version {manifest.version}",
            fix="restore the file, or restart from a savepoint",
        )

    def _change_of(self, path: str, fetched: Fetched, *, writes: bool) -> Change:
        manifest = self._manifest(path, fetched)
        ref = _ref(path, manifest, fetched)
        shown = manifest.changelog if writes and manifest.changelog else ref
        try:
            version = self._restore(ref, manifest, [shown], fetched)
        except _DamagedError as error:
            raise error.cause from None
        parent = parse_name(manifest.parent)
        return Change(version, VersionKey(parent.version, parent.id) if parent else None)

    def _restore(self, ref: FileRef, manifest: Manifest, files: list[FileRef], fetched: Fetched) -> Version:
        needed = [f for f in files if f.rows]
        runs = {f.path: run for f in needed if (run := self._in_memory(f, manifest.catalog)) is not None}
        fetched.require([f.path for f in needed if f.path not in runs])
        for file in needed:
            if file.path not in runs:
                runs[file.path] = self._restore_file(file, manifest.catalog, fetched)
        plan = tuple(runs[f.path] for f in needed)
        key = VersionKey(manifest.version, ref.name.id)
        return Version(key, ref, manifest.catalog, manifest.max_parallelism, plan)

    def _restore_file(self, file: FileRef, catalog: Catalog, fetched: Fetched) -> Run:
        try:
            if file.path in fetched.missing:
                raise CheckpointError("a file of the checkpoint is missing", path=self._full(file.path))
            return self._backend.restore(fetched.path_of(file.path), file, RowCheck(catalog))
        except CheckpointError as error:
            raise _DamagedError(file.path, error) from error

    def _parent(self, name: str, fetched: Fetched) -> tuple[FileRef, Manifest] | None:
        path = f"{self._spec.store}/{name}"
        try:
            manifest = self._manifest(path, fetched)
        except CheckpointError as error:
            log.warning("%s", error)
            return None
        return _ref(path, manifest, fetched), manifest

    def _manifest(self, path: str, fetched: Fetched) -> Manifest:
        fetched.require([path])
        if path in fetched.missing:
            raise CheckpointError(
                "a file of the checkpoint does not exist",
                path=self._full(path),
                fix="restore the file, or start the query on a new checkpoint",
            )
        manifest = fetched.manifest(path)
        self._check_fit(path, manifest)
        return manifest

    def _check_fit(self, path: str, manifest: Manifest) -> None:
        name = parse_name(path.rpartition("/")[2])
        found = FileName(manifest.kind, manifest.version, manifest.id or (name.id if name else ""))
        if (self._spec.store, name) != (manifest.store, found):
            raise CheckpointError(
                "a file is another than its name says",
                path=self._full(path),
                expected=f"{self._spec.store}/{name}",
                found=f"{manifest.store}/{found}",
                fix="restore the folder from a backup",
            )
        if self._max_parallelism not in (0, manifest.max_parallelism):
            raise SettingError(
                "the maximum parallelism of a checkpoint can't change",
                path=self._full(path),
                expected=manifest.max_parallelism,
                found=self._max_parallelism,
                fix=f"set keyGroups.maxParallelism to {manifest.max_parallelism}, or leave it out",
            )
        if manifest.partitions and self._spec.partitions not in (0, manifest.partitions):
            raise VersionError(
                "the query's number of state partitions is not that of its state",
                path=self._full(path),
                expected=f"{manifest.partitions} partitions",
                found=f"{self._spec.partitions} partitions",
                fix="restore the checkpoint's offset log",
            )

    def _full(self, path: str) -> str:
        return f"{self._spec.operator_folder}/{path}"


class _DamagedError(Exception):
    def __init__(self, path: str, cause: CheckpointError) -> None:
        super().__init__(path)
        self.path, self.cause = path, cause


def _ref(path: str, manifest: Manifest, fetched: Fetched) -> FileRef:
    with reading(path):
        return FileRef(path, manifest.rows, fetched.path_of(path).stat().st_size, manifest.checksum)
