"""The catalog of a version: its column families, the form of their rows, and the number of keys of each."""

from __future__ import annotations

from typing import Annotated

import msgspec

MAX_FAMILIES = 1 << 16
"""Their numbers have 16 bits in segments."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A number that the JVM can hold."""


class Family(msgspec.Struct, frozen=True):
    """A column family.

    Attributes:
        id: its number in segments; never given to another family of the store.
        name: its name in Spark.
        key_schema: Spark's JSON of the key's schema.
        value_schema: the same of the value.
        encoder: Spark's KeyStateEncoderSpec as JSON; it decides how keys are sorted.
        encoding: of values: ``unsaferow``, or ``avro`` as Spark's AvroStateEncoder writes them.
        lists: whether a key may have several values.
        internal: whether Spark uses it for its own bookkeeping.
        num_keys: number of its keys.
    """

    id: Count
    name: str
    key_schema: str
    value_schema: str
    encoder: str
    encoding: str = "unsaferow"
    lists: bool = False
    internal: bool = False
    num_keys: Count = msgspec.field(default=0, name="keys")


class Catalog(msgspec.Struct, frozen=True):
    """The column families of a version.

    Attributes:
        families: in the order of their numbers.
        next_family: number of the next family to be created.
    """

    families: tuple[Family, ...] = ()
    next_family: Count = 0

    @property
    def num_keys(self) -> int:
        """Number of keys in all families."""
        return sum(family.num_keys for family in self.families)

    @property
    def ids(self) -> frozenset[int]:
        """Numbers of the families that exist."""
        return frozenset(family.id for family in self.families)

    @property
    def forms(self) -> frozenset[tuple[int, str, str, str, str, bool]]:
        """For each family its number and everything that decides how the bytes of its rows are read."""
        return frozenset((f.id, f.key_schema, f.value_schema, f.encoder, f.encoding, f.lists) for f in self.families)
