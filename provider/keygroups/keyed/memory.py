"""Tables in dicts, for a function that runs without Spark. Keys are found by their frozen form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import DataType

from keygroups.keyed.forms import copy_of, frozen
from keygroups.keyed.order import order_of
from keygroups.keyed.tables import Columns, Entry
from keygroups.state.arrays import array_maker
from keygroups.state.arrow import values_of
from keygroups.state.batch_keys import BatchKeys
from keygroups.state.descriptors import MapStateDescriptor, SortedMapStateDescriptor, StateDescriptor
from keygroups.state.errors import StateError

Rows: TypeAlias = dict[Any, Any]
Table = TypeVar("Table", "MemoryValues", "MemoryLists", "MemoryMaps")


@dataclass
class MemoryValues:
    """A ``ValueTable``."""

    copied: Callable[[Any], Any]
    kind: DataType
    rows: dict[Any, Entry] = field(default_factory=dict)

    def read(self, key: Any) -> Entry | None:
        """Give a copy of the entry."""
        entry = self.rows.get(frozen(key))
        return entry and (self.copied(entry[0]), entry[1])

    def write(self, key: Any, entry: Entry) -> None:
        """Set the entry."""
        self.rows[frozen(key)] = self.copied(entry[0]), entry[1]

    def remove(self, key: Any) -> None:
        """Remove the entry."""
        self.rows.pop(frozen(key), None)

    def read_many(self, keys: BatchKeys) -> Columns:
        """Give the entries of all keys."""
        entries = [self.read(key) for key in keys.stored]
        values = array_maker(self.kind)([None if entry is None else entry[0] for entry in entries])
        return Columns(values, np.array([0 if entry is None else entry[1] for entry in entries], np.int64))

    def write_many(self, keys: BatchKeys, entries: Columns, written: npt.NDArray[np.bool_] | None = None) -> None:
        """Set the entries of all keys, or of those of a mask."""
        values, begun = values_of(entries.values), entries.begun.tolist()
        for i, key in enumerate(keys.stored):
            if written is not None and not written[i]:
                continue
            if values[i] is None:
                self.remove(key)
            else:
                self.write(key, (values[i], begun[i]))

    def begin_lives(self, now: int) -> None:
        """Let the life of each value begin now."""
        self.rows.update({key: (value, now) for key, (value, _) in self.rows.items()})


@dataclass
class MemoryLists:
    """A ``ListTable``."""

    copied: Callable[[Any], Any]
    rows: dict[Any, list[Entry]] = field(default_factory=dict)

    def read(self, key: Any) -> list[Entry]:
        """Give copies of all entries."""
        return [(self.copied(value), begun) for value, begun in self.rows.get(frozen(key), ())]

    def append(self, key: Any, entries: Iterable[Entry]) -> None:
        """Append entries."""
        self.replace(key, [*self.rows.get(frozen(key), ()), *entries])

    def replace(self, key: Any, entries: Iterable[Entry]) -> None:
        """Replace all entries."""
        copies = [(self.copied(value), begun) for value, begun in entries]
        if copies:
            self.rows[frozen(key)] = copies
        else:
            self.rows.pop(frozen(key), None)

    def append_many(self, keys: BatchKeys, values: pa.Array, groups: npt.NDArray[np.int64], begun: int) -> None:
        """Append values, each to the list of its key."""
        for group, value in zip(groups.tolist(), values_of(values), strict=True):
            self.append(keys.stored[group], [(value, begun)])

    def begin_lives(self, now: int) -> None:
        """Let the life of each element begin now."""
        self.rows.update({key: [(value, now) for value, _ in entries] for key, entries in self.rows.items()})


@dataclass
class MemoryMaps:
    """A ``MapTable``: under each key, under the frozen second key, that key and its entry."""

    copied: Callable[[Any], Any]
    order: Callable[[Any], Any] | None
    rows: dict[Any, dict[Any, tuple[Any, Entry]]] = field(default_factory=dict)

    def read(self, key: Any, name: Any) -> Entry | None:
        """Give a copy of an entry."""
        found = self.rows.get(frozen(key), {}).get(frozen(name))
        return found and (self.copied(found[1][0]), found[1][1])

    def write(self, key: Any, name: Any, entry: Entry) -> None:
        """Set an entry."""
        self.rows.setdefault(frozen(key), {})[frozen(name)] = name, (self.copied(entry[0]), entry[1])

    def remove(self, key: Any, name: Any) -> None:
        """Remove an entry."""
        entries = self.rows.get(frozen(key), {})
        entries.pop(frozen(name), None)
        if not entries:
            self.clear(key)

    def clear(self, key: Any) -> None:
        """Remove all entries of a key."""
        self.rows.pop(frozen(key), None)

    def is_empty(self, key: Any) -> bool:
        """Tell whether a key has no entry."""
        return frozen(key) not in self.rows

    def items(self, key: Any) -> Iterator[tuple[Any, Entry]]:
        """Walk copies of the entries."""
        return self.between(key, None, None, backwards=False)

    def between(self, key: Any, start: Any, end: Any, *, backwards: bool) -> Iterator[tuple[Any, Entry]]:
        """Walk copies of the entries between two bounds."""
        found = list(self.rows.get(frozen(key), {}).values())
        order = self.order
        if order:
            low, high = None if start is None else order(start), None if end is None else order(end)
            found = [f for f in found if (low is None or order(f[0]) >= low) and (high is None or order(f[0]) < high)]
            found.sort(key=lambda f: order(f[0]), reverse=backwards)
        return ((name, (self.copied(value), begun)) for name, (value, begun) in found)

    def begin_lives(self, now: int) -> None:
        """Let the life of each entry begin now."""
        for entries in self.rows.values():
            entries.update({name: (key, (value, now)) for name, (key, (value, _)) in entries.items()})


@dataclass(frozen=True)
class Kept:
    """A state with its rows.

    Attributes:
        descriptor: What it is.
        rows: Its rows by key.
    """

    descriptor: StateDescriptor
    rows: Rows


class MemoryTables:
    """Makes tables, and keeps them by the name of their state.

    Args:
        restored: States that a table continues. One that nobody asks for is kept all the same.
        now: Processing time: values get a life from now on if the state had none before.
    """

    def __init__(self, restored: Mapping[str, Kept] | None = None, now: int = 0) -> None:
        """Begin with what was restored."""
        self.kept: dict[str, Kept] = dict(restored or {})
        self._now = now

    def values(self, descriptor: StateDescriptor) -> MemoryValues:
        """Make the table of a state with one entry."""
        return self._kept(descriptor, MemoryValues(copy_of(descriptor.type), descriptor.type))

    def lists(self, descriptor: StateDescriptor) -> MemoryLists:
        """Make the table of a list state."""
        return self._kept(descriptor, MemoryLists(copy_of(descriptor.type)))

    def maps(self, descriptor: MapStateDescriptor) -> MemoryMaps:
        """Make the table of a map state."""
        ordered = isinstance(descriptor, SortedMapStateDescriptor)
        order = order_of(descriptor.key_type) if ordered else None
        return self._kept(descriptor, MemoryMaps(copy_of(descriptor.type), order))

    def _kept(self, descriptor: StateDescriptor, table: Table) -> Table:
        known = self.kept.get(descriptor.name)
        if known:
            if repr(known.descriptor) != repr(descriptor):
                raise StateError(
                    f"state {descriptor.name!r} was stored as another one",
                    expected=known.descriptor,
                    found=descriptor,
                    fix="give the new state another name, or keep kind and type",
                )
            table.rows.update(known.rows)
            if descriptor.ttl and not known.descriptor.ttl:
                table.begin_lives(self._now)
        self.kept[descriptor.name] = Kept(descriptor, table.rows)
        return table
