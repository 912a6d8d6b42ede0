"""A version of a store: its key, and its state in memory."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef
from keygroups.runs.run import Plan


class VersionKey(msgspec.Struct, frozen=True, rename="camel"):
    """Identifies a version, and the attempt that wrote it where Spark uses state store checkpoint ids.

    Attributes:
        version: number, from 0.
        checkpoint_id: None for the current attempt, whichever it is.
    """

    version: int
    checkpoint_id: str | None = None


class Version(msgspec.Struct, frozen=True):
    """A version in memory.

    Attributes:
        key: version and checkpoint id.
        file: its version file; None for version 0.
        catalog: its column families and the number of keys of each.
        max_parallelism: number of key groups.
        plan: its runs.
        revision: grows each time that its rows get other runs.
    """

    key: VersionKey
    file: FileRef | None
    catalog: Catalog
    max_parallelism: int
    plan: Plan
    revision: int = 0


class Change(NamedTuple):
    """What a version changed.

    Attributes:
        version: the version, with only the rows that it changed.
        parent: the version that it was built on; None for the first.
    """

    version: Version
    parent: VersionKey | None
