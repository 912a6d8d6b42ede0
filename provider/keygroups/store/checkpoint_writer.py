"""Writes the checkpoint form of rows to a local file, with the manifest that describes it. The JVM uploads the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from keygroups._version import __version__
from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.file_writer import write_file
from keygroups.checkpoint.manifest import FileRef, Manifest, Part, own_names
from keygroups.checkpoint.names import FileName
from keygroups.checkpoint.superseded import Needs
from keygroups.runs.plan import durable_files
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


def delete(uploads: Iterable[Upload]) -> None:
    """Delete the local files."""
    for upload in uploads:
        Path(upload.path).unlink(missing_ok=True)


@contextmanager
def deleted_unless_done(uploads: list[Upload]) -> Iterator[None]:
    """Delete the local files that are added in the block, if it fails."""
    try:
        yield
    except BaseException:
        delete(uploads)
        raise


class CheckpointFile(NamedTuple):
    """A file that was written for the checkpoint.

    Attributes:
        ref: as later manifests list it.
        upload: what the JVM has to do.
        references: the files that its own manifest lists.
        needs: of a version file, what the version needs of the store's folder.
    """

    ref: FileRef
    upload: Upload
    references: tuple[FileRef, ...]
    needs: Needs


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
        retain: int = 0,
    ) -> CheckpointFile:
        """Write the checkpoint form of rows.

        Args:
            name: of the file.
            blocks: its rows.
            catalog: of the version that they are part of.
            base: of a version file, the version it was built on; else the version it is part of.
            changelog: of a version file, the file with all its writes.
            spilled: of a version file, the files with earlier writes of its batch, newest first.
            retain: of a version file, how many versions stay loadable; 0 if that is not known.

        Raises:
            CapacityError: the local disk is full; nothing is left behind.
        """
        is_version = name.kind == "version"
        segments = (*spilled, *durable_files(base.plan)) if is_version else ()
        rows, checksum = sum(map(len, blocks)), ""
        names = own_names(self._spec.store, name, (*segments, *((changelog,) if changelog else ())))
        needs = Needs(names).after(base.needs, name.version, retain) if is_version else Needs()

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
                superseded=needs.superseded,
                root=needs.root,
                written_by=f"keygroups {__version__}",
                id=name.id,
            ).head()
            return head

        path = self._folder / str(name)
        numbered, mapped = name.kind == "changelog", name.kind == "segment"
        write_file(path, blocks, catalog, metadata, self._compression, numbered=numbered, mapped=mapped)
        ref = FileRef(f"{self._spec.store}/{name}", rows, path.stat().st_size, checksum)
        return CheckpointFile(ref, Upload(str(path), str(name)), segments, needs)
