"""Writes the checkpoint form of rows to a local file, with the manifest that describes it. The JVM uploads the file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from keygroups._version import __version__
from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef, Manifest
from keygroups.checkpoint.names import FileName
from keygroups.runs.run import durable_files
from keygroups.segment.file import write_checkpoint_form
from keygroups.segment.rows import SortedRows
from keygroups.store.spec import StoreSpec
from keygroups.store.version import Version


class Upload(NamedTuple):
    """A local file that the JVM is to upload and then to delete.

    Attributes:
        path: the local file.
        name: its name in the store's checkpoint folder.
    """

    path: str
    name: str


class CheckpointFile(NamedTuple):
    """A file that was written for the checkpoint.

    Attributes:
        ref: as later manifests list it.
        upload: what the JVM has to do.
        references: the files that its own manifest lists.
    """

    ref: FileRef
    upload: Upload
    references: tuple[FileRef, ...]


class CheckpointWriter:
    """Writes files of one store.

    Args:
        spec: the store.
        compression: see ``write_checkpoint_form``.
        folder: for the files; exists.
    """

    def __init__(self, spec: StoreSpec, compression: str, folder: Path) -> None:
        self._spec = spec
        self._compression = compression
        self._folder = folder

    def write(
        self, name: FileName, rows: SortedRows, catalog: Catalog, base: Version, changelog: FileRef | None = None
    ) -> CheckpointFile:
        """Write the checkpoint form of rows.

        Args:
            name: of the file.
            rows: in it.
            catalog: of the version that they are part of.
            base: of a version file, the version it was built on; else the version it is part of.
            changelog: of a version file, the file with all its writes.

        Raises:
            CapacityError: the local disk is full; nothing is left behind.
        """
        is_version = name.kind == "version"
        manifest = Manifest(
            kind=name.kind,
            store=self._spec.store,
            version=name.version,
            rows=len(rows),
            checksum=rows.checksum(),
            max_parallelism=base.max_parallelism,
            partitions=self._spec.partitions,
            catalog=catalog,
            parent=str(base.file.name) if is_version and base.file else "",
            segments=durable_files(base.plan) if is_version else (),
            changelog=changelog,
            written_by=f"keygroups {__version__}",
            id=name.id,
        )
        path = self._folder / str(name)
        write_checkpoint_form(path, rows, manifest.metadata(), self._compression)
        ref = FileRef(f"{self._spec.store}/{name}", len(rows), path.stat().st_size, manifest.checksum)
        return CheckpointFile(ref, Upload(str(path), str(name)), manifest.segments)
