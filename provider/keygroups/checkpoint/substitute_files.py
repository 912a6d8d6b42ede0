"""Which files make up a version when some of them can't be used."""

from __future__ import annotations

from collections.abc import Callable, Container

from keygroups.checkpoint.manifest import FileRef, Manifest

MAX_ANCESTORS = 1000
"""Version files to go back at most: each is a file to download and a run to search."""


def files_of_version(
    ref: FileRef, manifest: Manifest, unusable: Container[str], parent: Callable[[str], tuple[FileRef, Manifest] | None]
) -> list[FileRef] | None:
    """The files that together make up a version, newest first.

    The manifest lists them. If one of them is unusable, older files may have the same rows: those of the parent
    version, below those that this one wrote, and so on back to a version that does not need the unusable file.

    Args:
        ref: the version file.
        manifest: its manifest.
        unusable: paths of files that are damaged or missing.
        parent: reads the version file of that name, None if it can't be read.

    Returns:
        The files, or None if no usable files have the rows.
    """
    below: list[FileRef] = []
    while len(below) < MAX_ANCESTORS:
        written = [ref, *manifest.earlier_writes]
        if any(f.path in unusable for f in written):
            return None
        files = [ref, *manifest.segments]
        if not any(f.path in unusable for f in files):
            return below + files
        below += written
        if not manifest.parent or (older := parent(manifest.parent)) is None:
            return None
        ref, manifest = older
    return None
