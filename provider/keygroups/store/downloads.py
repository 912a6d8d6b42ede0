"""What the JVM has brought from the checkpoint for one operation, and the request for what is still missing.

An operation is one or more calls: a call that needs a listing or files raises ``Wanted``, the JVM downloads them and
makes the call again. The JVM gives each operation a folder of its own and deletes it at the end, whether the operation
succeeds or fails, so a damaged download is never used twice and two operations never share a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from keygroups.checkpoint.manifest import Manifest, read_manifest
from keygroups.progress import ticking
from keygroups.segment.ipc_messages import is_cut


class Listed(msgspec.Struct, frozen=True, array_like=True):
    """A file in a store's checkpoint folder.

    Attributes:
        name: without the folder.
        modified: time of last modification in ms, by the clock of the file system.
        bytes: length.
    """

    name: str
    modified: int
    bytes: int


class Wanted(Exception):  # noqa: N818 - a request to the caller, not an error
    """The JVM must bring something and make the call again.

    Attributes:
        listings: stores of the operator whose checkpoint folders are to be listed.
        files: checkpoint paths, relative to the operator's folder, and the local paths to download them to.
        head: True if the first 256 KiB of each file are enough.
    """

    def __init__(
        self, *, listings: Sequence[str] = (), files: Sequence[tuple[str, str]] = (), head: bool = False
    ) -> None:
        super().__init__("bring what is wanted and call again")
        self.listings, self.files, self.head = list(listings), list(files), head


class Downloads(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What the JVM has brought so far for one operation.

    Attributes:
        folder: local folder of this operation alone.
        listings: the checkpoint folders that were listed, by their stores.
        missing: checkpoint paths that do not exist.
    """

    folder: str
    listings: Mapping[str, list[Listed]] = {}
    missing: frozenset[str] = frozenset()

    def listed(self, store: str) -> list[Listed]:
        """The listing of a store's folder. Raises Wanted."""
        return self.all_listed([store])[store]

    def all_listed(self, stores: Sequence[str]) -> dict[str, list[Listed]]:
        """The listings of the folders of stores. Raises Wanted."""
        if absent := [store for store in stores if store not in self.listings]:
            raise Wanted(listings=absent)
        return {store: self.listings[store] for store in stores}

    def local(self, path: str, *, head: bool = False) -> Path:
        """The local path of a checkpoint path."""
        return Path(self.folder) / (path.replace("/", "~") + (".head" if head else ""))

    def has(self, path: str) -> bool:
        """Whether the file was downloaded, or is known to be missing."""
        return path in self.missing or self.local(path).exists()

    def require(self, paths: Sequence[str], *, head: bool = False) -> None:
        """Raise ``Wanted`` if any of these was not downloaded and is not known to be missing."""
        local = {path: self.local(path, head=head) for path in paths if path not in self.missing}
        if absent := [(path, str(place)) for path, place in local.items() if not place.exists()]:
            raise Wanted(files=absent, head=head)

    def manifest(self, path: str) -> Manifest:
        """The manifest of a file that is downloaded whole. Raises Wanted, CheckpointError, VersionError."""
        self.require([path])
        return read_manifest(self.local(path), path)

    def manifests(self, paths: Sequence[str]) -> list[Manifest]:
        """The manifests of files, of which the heads are downloaded, and the whole only where the head is too short.

        Raises:
            Wanted, CheckpointError, VersionError: as ``manifest``.
        """
        self.require(paths, head=True)
        long = [path for path in paths if path not in self.missing and is_cut(self.local(path, head=True))]
        self.require(long)
        return [read_manifest(self.local(path, head=path not in long), path) for path in ticking(paths)]
