"""Loading a version that is not in memory: find its file, read the manifest, restore the files it lists."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef, Manifest
from keygroups.checkpoint.names import FORMAT, FileName, is_path, parse_name
from keygroups.checkpoint.substitute_files import files_of_version
from keygroups.errors import CheckpointError
from keygroups.progress import tick
from keygroups.runs.local import LocalRuns
from keygroups.runs.run import Piece, Plan, Run, plan_of
from keygroups.segment.file import Segment
from keygroups.segment.restore import reading
from keygroups.segment.span import Span
from keygroups.store.downloads import Downloads
from keygroups.store.fit import check_manifest, check_provider
from keygroups.store.restored import RestoredFiles
from keygroups.store.spec import StoreSpec
from keygroups.store.version import Change, Version, VersionKey

log = logging.getLogger(__name__)

T = TypeVar("T")


class Loader:
    """Loads versions of one store from its checkpoint folder.

    Args:
        spec: the store.
        max_parallelism: as set by the user, 0 if not set.
        runs: restores files.
        in_memory: the segment of a file, if some version in memory has it and its families have the same form.
    """

    def __init__(
        self,
        spec: StoreSpec,
        max_parallelism: int,
        runs: LocalRuns,
        in_memory: Callable[[FileRef, Catalog], Segment | None],
    ) -> None:
        self._spec = spec
        self._max_parallelism = max_parallelism
        self._runs = runs
        self._in_memory = in_memory
        self._restored = RestoredFiles()

    def load(self, key: VersionKey, downloads: Downloads) -> Version:
        """Load a version above 0.

        Raises:
            Wanted: something must be downloaded first.
            CheckpointError: the version does not exist, another provider wrote it, or it is damaged and no older files
                replace what is damaged.
            SettingError, VersionError: the checkpoint does not fit the settings or the query.
        """
        return self._from_attempts(key, downloads, lambda path: self._load_attempt(path, downloads))

    def change(self, key: VersionKey, downloads: Downloads, *, writes: bool) -> Change:
        """What a version above 0 changed.

        Args:
            key: the version.
            downloads: what was downloaded so far.
            writes: each write, if the version has kept them, rather than each key.

        Raises:
            As ``load``.
        """
        return self._from_attempts(key, downloads, lambda path: self._change_of(path, downloads, writes=writes))

    def check_foreign(self, downloads: Downloads) -> None:
        """Refuse a folder that another provider has written to. Raises Wanted, CheckpointError."""
        check_provider(self._spec, downloads.listed(self._spec.store))

    def _from_attempts(self, key: VersionKey, downloads: Downloads, read: Callable[[str], T]) -> T:
        with self._restored.kept_for(downloads.folder):
            return self._first_usable(key, downloads, read)

    def _first_usable(self, key: VersionKey, downloads: Downloads, read: Callable[[str], T]) -> T:
        candidates = self._candidates(key, downloads)
        errors: dict[str, CheckpointError] = {}
        try:
            for path in candidates:
                try:
                    return read(path)
                except CheckpointError as error:
                    log.warning("%s%s", error, "; trying another attempt's file" if path != candidates[-1] else "")
                    errors[path] = error
            if errors:
                raise errors[min(errors, key=lambda path: path in downloads.missing)]
        finally:
            errors.clear()  # an error holds this frame, and those below with what they have restored
        raise self._not_found(key)

    def _candidates(self, key: VersionKey, downloads: Downloads) -> list[str]:
        """Paths of the version's files; of several attempts the one written last comes first."""
        if key.checkpoint_id is not None:
            names = (FileName("version", key.version, key.checkpoint_id, number) for number in (FORMAT, 1))
            return [path for name in names if is_path(path := f"{self._spec.store}/{name}")]
        self.check_foreign(downloads)
        wanted = ("version", key.version)
        listed = downloads.listed(self._spec.store)
        files = [f for f in listed if (n := parse_name(f.name)) and (n.kind, n.version) == wanted]
        return [f"{self._spec.store}/{f.name}" for f in sorted(files, key=lambda f: (f.modified, f.name), reverse=True)]

    def _not_found(self, key: VersionKey) -> CheckpointError:
        return CheckpointError(
            f"version {key.version} of the state does not exist",
            path=f"{self._spec.operator_folder}/{self._spec.store}",
            expected=f"a file {FileName('version', key.version, key.checkpoint_id or '<id>')}",
            found="none",
            fix="restore the folder from a backup, or start the query on a new checkpoint",
        )

    def _load_attempt(self, path: str, downloads: Downloads) -> Version:
        ref, manifest = self._version_file(path, downloads)
        unusable = set(downloads.missing)
        errors: list[CheckpointError] = []
        parent = partial(self._parent, downloads=downloads)
        try:
            while (files := files_of_version(ref, manifest, unusable, parent)) is not None:
                try:
                    return self._restore(ref, manifest, files, downloads)
                except _UnusableError as error:
                    log.warning("%s; looking for older files with its rows", error.cause)
                    errors.append(error.cause)
                    unusable.add(error.path)
            if errors:
                raise errors[0]
        finally:
            errors.clear()  # as above
        raise CheckpointError(
            "a file of the checkpoint is missing",
            path=self._full(min(unusable, default=path)),
            expected=f"all files of version {manifest.version}",
            fix="restore the file from a backup",
        )

    def _change_of(self, path: str, downloads: Downloads, *, writes: bool) -> Change:
        ref, manifest = self._version_file(path, downloads)
        shown = [manifest.changelog] if writes and manifest.changelog else [ref, *manifest.earlier_writes]
        parent = parse_name(manifest.parent)
        errors: list[CheckpointError] = []
        try:
            version = self._in_one_run(self._restore(ref, manifest, shown, downloads))
            return Change(version, VersionKey(parent.version, parent.id) if parent else None)
        except _UnusableError as error:
            errors.append(error.cause)
        raise errors.pop()

    def _in_one_run(self, change: Version) -> Version:
        """The rows that a version changed, each key once."""
        if len(change.plan) <= 1:
            return change
        segment = self._runs.merge([run.blocks() for run in change.plan], bottom=False)
        (file, *_) = change.plan[0].files()
        plan = (Run((Piece(segment, Span(0, segment.rows), (file,), change.catalog),)),)
        return msgspec.structs.replace(change, plan=plan)

    def _restore(self, ref: FileRef, manifest: Manifest, files: list[FileRef], downloads: Downloads) -> Version:
        needed = [f for f in files if f.rows]
        wanted = list(dict.fromkeys(f.restored for f in needed))
        known = {f: segment for f in wanted if (segment := self._in_memory(f, manifest.catalog)) is not None}
        restored = self._restored.of(downloads.folder, ref.path)
        self._restore_files([f for f in wanted if f not in known], restored, manifest, downloads)
        segments = known | restored
        plan = plan_of(Piece.restored(segments[f.restored], f, manifest.catalog) for f in needed)
        self._check_order(plan)
        key = VersionKey(manifest.version, ref.name.id)
        return Version(key, ref, manifest.catalog, manifest.max_parallelism, plan)

    def _restore_files(
        self, files: list[FileRef], restored: dict[FileRef, Segment], manifest: Manifest, downloads: Downloads
    ) -> None:
        """Add what is missing to ``restored``, each file as soon as it has arrived."""
        while waiting := [f for f in files if f not in restored]:
            arrived = [f for f in waiting if downloads.has(f.path)]
            if not arrived:
                downloads.require([f.path for f in waiting])
            listed = Counter(f.path for f in arrived)
            for file in arrived:
                restored[file] = self._restore_file(file, manifest, downloads)
                listed[file.path] -= 1
                if file.name.kind == "segment" and not listed[file.path]:
                    # No manifest is read from it again; the next file gets its place on the disk.
                    downloads.local(file.path).unlink()

    def _check_order(self, plan: Plan) -> None:
        for run in plan:
            if not run.is_in_order():
                raise CheckpointError(
                    "the files of a version are not in order",
                    path=self._full(run.pieces[0].files[0].path),
                    fix="restore the folder from a backup",
                )

    def _restore_file(self, file: FileRef, manifest: Manifest, downloads: Downloads) -> Segment:
        tick()  # the files of an operation that was cancelled may be gone
        try:
            if file.path in downloads.missing:
                raise CheckpointError("a file of the checkpoint is missing", path=self._full(file.path))
            local = downloads.local(file.path)
            return self._runs.restore(local, file, manifest.catalog, manifest.max_parallelism)
        except CheckpointError as error:
            raise _UnusableError(file.path, error) from error

    def _parent(self, name: str, downloads: Downloads) -> tuple[FileRef, Manifest] | None:
        try:
            return self._version_file(f"{self._spec.store}/{name}", downloads)
        except CheckpointError as error:
            log.warning("%s", error)
            return None

    def _version_file(self, path: str, downloads: Downloads) -> tuple[FileRef, Manifest]:
        tick()
        downloads.require([path])
        if path in downloads.missing:
            raise CheckpointError(
                "a file of the checkpoint does not exist",
                path=self._full(path),
                fix="restore the file from a backup, or start the query on a new checkpoint",
            )
        manifest = downloads.manifest(path)
        check_manifest(self._spec, self._max_parallelism, path, manifest)
        with reading(path):
            size = downloads.local(path).stat().st_size
        return FileRef(path, manifest.rows, size, manifest.checksum), manifest

    def _full(self, path: str) -> str:
        return f"{self._spec.operator_folder}/{path}"


class _UnusableError(Exception):
    """A file is damaged or missing; older files may have the same rows."""

    def __init__(self, path: str, cause: CheckpointError) -> None:
        super().__init__(path)
        self.path, self.cause = path, cause
