"""What a store is, and what its calls carry."""

from __future__ import annotations

import msgspec

from keygroups.backend.base import Plan
from keygroups.checkpoint.manifest import Catalog, FileRef


class StoreSpec(msgspec.Struct, frozen=True, rename="camel"):
    """A store as the JVM opens it.

    Attributes:
        operator_folder: the operator's folder in the checkpoint, for messages.
        store: ``<partition>[/<store name>]`` under it.
        partitions: state partitions of the query, 0 if unknown.
    """

    operator_folder: str
    store: str
    partitions: int


class Listed(msgspec.Struct, frozen=True, array_like=True):
    """A file in the store's checkpoint folder.

    Attributes:
        name: without the folder.
        modified: time of last modification in ms, by the clock of the file system.
        bytes: length.
    """

    name: str
    modified: int
    bytes: int


class VersionKey(msgspec.Struct, frozen=True, rename="camel"):
    """A version, and which attempt's: state store checkpoint ids tell them apart, where Spark uses them.

    Attributes:
        version: number, from 0.
        checkpoint_id: None for whichever attempt is current.
    """

    version: int
    checkpoint_id: str | None = None


class Version(msgspec.Struct, frozen=True):
    """A version in memory.

    Attributes:
        key: version and checkpoint id.
        file: its version file; None for version 0.
        catalog: its column families and their keys.
        max_parallelism: number of key groups.
        plan: its runs.
    """

    key: VersionKey
    file: FileRef | None
    catalog: Catalog
    max_parallelism: int
    plan: Plan


class Wanted(Exception):  # noqa: N818 - a request to the caller, not an error
    """The call can go on once the JVM has brought something; it is then made again.

    Attributes:
        listing: the store's checkpoint folder is to be listed.
        files: checkpoint paths, relative to the operator's folder, to be downloaded to ``Fetched.path_of``.
        head: True if the first 256 KiB of each are enough.
    """

    def __init__(self, *, listing: bool = False, files: tuple[str, ...] = (), head: bool = False) -> None:
        super().__init__("bring what is wanted and call again")
        self.listing, self.files, self.head = listing, files, head
