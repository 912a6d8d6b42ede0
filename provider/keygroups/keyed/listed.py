"""The list state.

Source: ``TtlListState`` and the RocksDB backend's list state of Flink, which appends all elements or none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.keyed.forms import stored_form
from keygroups.keyed.life import Life
from keygroups.keyed.many import Given
from keygroups.keyed.scope import Scope
from keygroups.keyed.tables import Entry, ListTable
from keygroups.rows.encode import has_none
from keygroups.segment.arrays import mask
from keygroups.state.arrays import array_maker
from keygroups.state.batch_keys import BatchKeys
from keygroups.state.descriptors import ListStateDescriptor
from keygroups.state.errors import StateError
from keygroups.state.kinds import ListState


class Listed(ListState[Any]):
    """A list state.

    Args:
        descriptor: What the state is.
        table: Where it lies.
        scope: The current key and time.
    """

    def __init__(self, descriptor: ListStateDescriptor, table: ListTable, scope: Scope) -> None:
        """See the class."""
        self._name = descriptor.name
        self._table = table
        self._scope = scope
        self._life = Life(descriptor.ttl, scope)
        self._given = Given(descriptor)
        self._type = descriptor.type
        self._form = stored_form(descriptor.type, f"list state {descriptor.name!r}", scope.shown_key)

    def get(self) -> list[Any]:
        """Give all elements that may be seen. Expired ones stay stored until all are."""
        key = self._key()
        entries = self._table.read(key)
        if self._life.ends and entries:
            self._tidy(key, entries)
        return [entry[0] for entry in entries if self._life.visible(entry)]

    def add(self, value: Any) -> None:
        """Append an element."""
        self._table.append(self._key(), self._entries([value]))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append all elements or, if one is wrong, none."""
        self._table.append(self._key(), self._entries(values))

    def get_many(self, keys: BatchKeys) -> pa.Array:
        """Give the elements of each key. Lists are read one by one."""
        return array_maker(spark.ArrayType(self._type))([self.get() for _ in keys])

    def add_many(self, keys: BatchKeys, column: Any) -> None:
        """Append a column of the batch, each value to the list of its row's key."""
        values = self._given.array(column, keys, keys.groups)
        keys.require_rows(values)
        groups = keys.groups
        if values.null_count:
            valid = values.is_valid()
            values, groups = values.filter(valid), groups[mask(valid)]
        if len(values):
            self._table.append_many(keys, values, groups, self._life.now if self._life.ends else 0)

    def update(self, values: Iterable[Any]) -> None:
        """Replace all elements; an empty list clears the state."""
        self._table.replace(self._key(), self._entries(values))

    def clear(self) -> None:
        """Remove all elements."""
        self._table.replace(self._key(), ())

    def _key(self) -> Any:
        return self._scope.key_for(self._name)

    def _entries(self, values: Iterable[Any] | None) -> list[Entry]:
        if values is None:
            raise StateError(f"list state {self._name!r} was given None for a list", fix="clear it with clear()")
        listed = list(values)
        if has_none(listed):
            raise StateError(f"list state {self._name!r} was given None for an element", fix="leave it out")
        return [self._life.begin(self._form(value)) for value in listed]

    def _tidy(self, key: Any, entries: list[Entry]) -> None:
        alive = [entry for entry in entries if not self._life.has_expired(entry)]
        if not alive:
            self._table.replace(key, ())
        elif self._life.renewed_by_reads:
            self._table.replace(key, [self._life.begin(entry[0]) for entry in alive])
