"""Whether a checkpoint belongs to a query: its provider, the store's name, its key groups and its partitions."""

from __future__ import annotations

from collections.abc import Sequence

from keygroups.checkpoint.manifest import Manifest
from keygroups.checkpoint.names import FileName, foreign_provider, parse_name
from keygroups.errors import CheckpointError, SettingError, VersionError
from keygroups.store.downloads import Listed
from keygroups.store.spec import StoreSpec


def check_provider(spec: StoreSpec, listing: Sequence[Listed]) -> None:
    """Raise CheckpointError if another provider has written to the store's folder."""
    for file in listing:
        if provider := foreign_provider(file.name):
            raise CheckpointError(
                "another state store provider wrote this checkpoint",
                path=f"{spec.operator_folder}/{spec.store}/{file.name}",
                expected="files of keygroups",
                found=f"a file of {provider}",
                fix=f"run the query with {provider}, or start it on a new checkpoint",
            )


def check_manifest(spec: StoreSpec, max_parallelism: int, path: str, manifest: Manifest) -> None:
    """Check that a manifest belongs to its file and to the query.

    Args:
        spec: the store.
        max_parallelism: as set by the user, 0 if not set.
        path: of the file, relative to the operator's folder.
        manifest: of the file.

    Raises:
        CheckpointError, SettingError, VersionError: it does not.
    """
    full = f"{spec.operator_folder}/{path}"
    name = parse_name(path.rpartition("/")[2])
    found = FileName(manifest.kind, manifest.version, manifest.id or (name.id if name else ""), manifest.format)
    if (spec.store, name) != (manifest.store, found):
        raise CheckpointError(
            "the manifest of a file does not match its name or folder",
            path=full,
            expected=f"{spec.store}/{name}",
            found=f"{manifest.store}/{found}",
            fix="restore the folder from a backup",
        )
    if max_parallelism not in (0, manifest.max_parallelism):
        raise SettingError(
            "the maximum parallelism of a checkpoint can't change",
            path=full,
            expected=manifest.max_parallelism,
            found=max_parallelism,
            fix=f"set keyGroups.maxParallelism to {manifest.max_parallelism}, or leave it out",
        )
    if manifest.partitions and spec.partitions not in (0, manifest.partitions):
        raise VersionError(
            "the query and its state have different numbers of state partitions",
            path=full,
            expected=f"{manifest.partitions} partitions",
            found=f"{spec.partitions} partitions",
            fix="restore the checkpoint's offset log",
        )
