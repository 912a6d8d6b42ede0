"""What a store is."""

from __future__ import annotations

import msgspec


class StoreSpec(msgspec.Struct, frozen=True, rename="camel"):
    """A store as the JVM opens it.

    Attributes:
        operator_folder: the operator's folder in the checkpoint, for error messages.
        store: ``<partition>[/<store name>]`` under it.
        partitions: state partitions of the query, 0 if unknown.
    """

    operator_folder: str
    store: str
    partitions: int
