"""Which files make a version, when some of them can't be used."""

from __future__ import annotations

from collections.abc import Callable, Container

from keygroups.checkpoint.manifest import FileRef, Manifest

MAX_ANCESTORS = 1000
"""Version files on the way back to one that can be read: each is a file to fetch, and a run to search."""


def files_of_version(
    ref: FileRef, manifest: Manifest, damaged: Container[str], parent: Callable[[str], tuple[FileRef, Manifest] | None]
) -> list[FileRef] | None:
    """The files that together are a version, newest first.

    The manifest lists them. Where one of them is damaged, the same rows may still be had from an older path: the files
    of the parent version, below the rows of this one; and so on back to a version that does not need the damaged file.

    Args:
        ref: the version file.
        manifest: its manifest.
        damaged: paths of files known to be damaged or missing.
        parent: reads the version file of that name, None if that can't be done.

    Returns:
        The files, or None if no path is left.
    """
    below: list[FileRef] = []
    while ref.path not in damaged and len(below) < MAX_ANCESTORS:
        files = [ref, *manifest.segments]
        if not any(f.path in damaged for f in files):
            return below + files
        below.append(ref)
        if not manifest.parent or (older := parent(manifest.parent)) is None:
            return None
        ref, manifest = older
    return None
