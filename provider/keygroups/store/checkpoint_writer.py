"""Writes the checkpoint form of rows to a local file, with the manifest that describes it. The JVM uploads the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from keygroups._version import __version__
from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.file_writer import write_file
from keygroups.checkpoint.manifest import FileRef, Manifest, Part
from keygroups.checkpoint.names import FileName
from keygroups.runs.run import durable_files
from keygroups.segment.block import Block
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
        compression: see ``write_file``.
        folder: for the files; exists.
    """

    def __init__(self, spec: StoreSpec, compression: str, folder: Path) -> None:
        self._spec = spec
        self._compression = compression
        self._folder = folder

    def write(
        self,
        name: FileName,
        blocks: Sequence[Block],
        catalog: Catalog,
        base: Version,
        *,
        changelog: FileRef | None = None,
        spilled: Sequence[FileRef] = (),
    ) -> CheckpointFile:
        """Write the checkpoint form of rows.

        Args:
            name: of the file.
            blocks: its rows.
            catalog: of the version that they are part of.
            base: of a version file, the version it was built on; else the version it is part of.
            changelog: of a version file, the file with all its writes.
            spilled: of a version file, the files with earlier writes of its batch, newest first.

        Raises:
            CapacityError: the local disk is full; nothing is left behind.
        """
        is_version = name.kind == "version"
        segments = (*spilled, *durable_files(base.plan)) if is_version else ()
        rows, checksum = sum(map(len, blocks)), ""

        def metadata(parts: tuple[Part, ...]) -> dict[bytes, bytes]:
            nonlocal checksum
            head, checksum = Manifest(
                kind=name.kind,
                store=self._spec.store,
                version=name.version,
                rows=rows,
                parts=parts,
                max_parallelism=base.max_parallelism,
                partitions=self._spec.partitions,
                catalog=catalog,
                parent=str(base.file.name) if is_version and base.file else "",
                segments=segments,
                spilled=len(spilled),
                changelog=changelog,
                written_by=f"keygroups {__version__}",
                id=name.id,
            ).head()
            return head

        path = self._folder / str(name)
        numbered, mapped = name.kind == "changelog", name.kind == "segment"
        write_file(path, blocks, catalog, metadata, self._compression, numbered=numbered, mapped=mapped)
        ref = FileRef(f"{self._spec.store}/{name}", rows, path.stat().st_size, checksum)
        return CheckpointFile(ref, Upload(str(path), str(name)), segments)
