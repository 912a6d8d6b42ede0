"""Where the states of an operator lie: the interface between states and what keeps them.

A table has one state. An entry is a value with the time at which its life began, 0 where nothing expires. What a table
gives is the caller's own: changing it changes nothing that is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.state.batch_keys import BatchKeys
from keygroups.state.descriptors import MapStateDescriptor, StateDescriptor

Entry: TypeAlias = tuple[Any, int]


@dataclass(frozen=True)
class Columns:
    """An entry for each key of a batch.

    Attributes:
        values: Of the Arrow type of the state; null where there is no entry.
        begun: int64[n], when the life of each began.
    """

    values: pa.Array
    begun: npt.NDArray[np.int64]


class ValueTable(Protocol):
    """One entry for each key."""

    def read(self, key: Any) -> Entry | None:
        """Give the entry, None if there is none."""

    def write(self, key: Any, entry: Entry) -> None:
        """Set the entry."""

    def remove(self, key: Any) -> None:
        """Remove the entry."""

    def read_many(self, keys: BatchKeys) -> Columns:
        """Give the entries of all keys."""

    def write_many(self, keys: BatchKeys, entries: Columns, written: npt.NDArray[np.bool_] | None = None) -> None:
        """Set the entries of all keys, or of those of a mask; null removes one."""


class ListTable(Protocol):
    """Entries in the order in which they were appended."""

    def read(self, key: Any) -> list[Entry]:
        """Give all entries."""

    def append(self, key: Any, entries: Iterable[Entry]) -> None:
        """Append entries."""

    def replace(self, key: Any, entries: Iterable[Entry]) -> None:
        """Replace all entries; without any, the key is gone."""

    def append_many(self, keys: BatchKeys, values: pa.Array, groups: npt.NDArray[np.int64], begun: int) -> None:
        """Append values, none of them null, each to the list of the key of its group."""


class MapTable(Protocol):
    """Entries by a second key, the map's own; in its order where the map is sorted."""

    def read(self, key: Any, name: Any) -> Entry | None:
        """Give an entry, None if there is none."""

    def write(self, key: Any, name: Any, entry: Entry) -> None:
        """Set an entry."""

    def remove(self, key: Any, name: Any) -> None:
        """Remove an entry; nothing happens if there is none."""

    def clear(self, key: Any) -> None:
        """Remove all entries of a key."""

    def is_empty(self, key: Any) -> bool:
        """Tell whether a key has no entry."""

    def items(self, key: Any) -> Iterator[tuple[Any, Entry]]:
        """Walk the entries."""

    def between(self, key: Any, start: Any, end: Any, *, backwards: bool) -> Iterator[tuple[Any, Entry]]:
        """Walk the entries of a sorted map from a start, inclusive, to an end, exclusive; None is no bound."""


class Tables(Protocol):
    """Makes the tables of an operator."""

    def values(self, descriptor: StateDescriptor) -> ValueTable:
        """Give the table of a value, reducing, aggregating or folding state."""

    def lists(self, descriptor: StateDescriptor) -> ListTable:
        """Give the table of a list state."""

    def maps(self, descriptor: MapStateDescriptor) -> MapTable:
        """Give the table of a map state, sorted or not."""
