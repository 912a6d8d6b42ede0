"""The map states.

Source: ``TtlMapState`` of Flink; ``SortedMapState`` of Blink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from keygroups.keyed.forms import key_form, stored_form
from keygroups.keyed.life import Life
from keygroups.keyed.scope import Scope
from keygroups.keyed.tables import Entry, MapTable
from keygroups.state.descriptors import MapStateDescriptor
from keygroups.state.errors import StateError
from keygroups.state.kinds import MapState, SortedMapState

Walk: TypeAlias = Iterator[tuple[Any, Entry]]
Show: TypeAlias = Callable[[Any, Any], Any]


class Mapped(MapState[Any, Any]):
    """A map state.

    Args:
        descriptor: What the state is.
        table: Where it lies.
        scope: The current key and time.
    """

    def __init__(self, descriptor: MapStateDescriptor, table: MapTable, scope: Scope) -> None:
        """See the class."""
        self._name = descriptor.name
        self._table = table
        self._scope = scope
        self._life = Life(descriptor.ttl, scope)
        what = f"{descriptor.kind} state {descriptor.name!r}"
        self._key_form = key_form(descriptor.key_type, f"a key of {what}", scope.shown_key)
        self._value_form = stored_form(descriptor.value_type, what, scope.shown_key)
        self.changes = 0

    def get(self, key: Any) -> Any:
        """Give a value, None if it is absent."""
        entry = self._read(key)
        return None if entry is None else entry[0]

    def contains(self, key: Any) -> bool:
        """Tell whether there is an entry, even with None for a value."""
        return self._read(key) is not None

    def put(self, key: Any, value: Any) -> None:
        """Set a value."""
        self.put_all([(key, value)])

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Set values: all or, if one is wrong, none."""
        if dict_value is None:
            raise StateError(f"map state {self._name!r} was given None for a map", fix="give a dict, or pairs")
        pairs = dict_value.items() if isinstance(dict_value, Mapping) else dict_value
        formed = [(self._formed_key(k), None if v is None else self._value_form(v)) for k, v in pairs]
        key = self._key()
        self.changes += 1
        for name, value in formed:
            self._table.write(key, name, self._life.begin(value))

    def remove(self, key: Any) -> None:
        """Remove an entry; nothing happens if it is absent."""
        self.remove_entry(self._key(), self._formed_key(key))

    def remove_entry(self, key: Any, name: Any) -> None:
        """Remove an entry of any key: a walk goes on under the key it began with."""
        self.changes += 1
        self._table.remove(key, name)

    def clear(self) -> None:
        """Remove all entries."""
        self.changes += 1
        self._table.clear(self._key())

    def is_empty(self) -> bool:
        """Tell whether nothing is stored; what has expired and was not read since counts, as in Flink."""
        return self._table.is_empty(self._key())

    def items(self) -> Entries:
        """Walk the entries."""
        return self._walk(self._table.items(self._key()), lambda key, value: (key, value))

    def keys(self) -> Entries:
        """Walk the keys."""
        return self._walk(self._table.items(self._key()), lambda key, _: key)

    def values(self) -> Entries:
        """Walk the values."""
        return self._walk(self._table.items(self._key()), lambda _, value: value)

    def _walk(self, found: Walk, show: Show) -> Entries:
        return Entries(self, found, show)

    def _key(self) -> Any:
        return self._scope.key_for(self._name)

    def _formed_key(self, key: Any) -> Any:
        return None if key is None else self._key_form(key)

    def _read(self, key: Any) -> Entry | None:
        name = self._formed_key(key)
        return self.seen(self._key(), name, self._table.read(self._key(), name))

    def seen(self, key: Any, name: Any, entry: Entry | None) -> Entry | None:
        """Give an entry that may be seen, as ``Life.read``. What that changes is no change for who walks the map."""
        table = self._table
        return self._life.read(entry, lambda e: table.write(key, name, e), lambda: table.remove(key, name))

    def scope_key(self) -> Any:
        """Give the current key."""
        return self._key()


class SortedMapped(Mapped, SortedMapState[Any, Any]):
    """A sorted map state."""

    def first_entry(self) -> tuple[Any, Any] | None:
        """Give the entry with the smallest key, None if there is none."""
        return next(self._between(None, None), None)

    def last_entry(self) -> tuple[Any, Any] | None:
        """Give the entry with the greatest key, None if there is none."""
        return next(self._between(None, None, backwards=True), None)

    def head_iterator(self, end: Any) -> Entries:
        """Walk the entries whose keys are below the end."""
        return self._none() if end is None else self._between(None, self._key_form(end))

    def tail_iterator(self, start: Any) -> Entries:
        """Walk the entries from the start on."""
        return self._none() if start is None else self._between(self._key_form(start), None)

    def sub_iterator(self, start: Any, end: Any) -> Entries:
        """Walk the entries from the start on, whose keys are below the end; none if the end lies before the start."""
        if start is None or end is None:
            return self._none()
        return self._between(self._key_form(start), self._key_form(end))

    def _formed_key(self, key: Any) -> Any:
        if key is None:
            raise StateError(
                f"sorted map state {self._name!r} was given None for a key, which has no place in an order"
            )
        return self._key_form(key)

    def _between(self, start: Any, end: Any, *, backwards: bool = False) -> Entries:
        found = self._table.between(self._key(), start, end, backwards=backwards)
        return self._walk(found, lambda key, value: (key, value))

    def _none(self) -> Entries:
        return self._walk(iter(()), lambda key, value: (key, value))


class Entries(Iterator[Any]):
    """A walk over a map, which can remove the entry it gave last.

    Args:
        state: The map.
        found: Its entries.
        show: What is given of a key and a value.
    """

    def __init__(self, state: Mapped, found: Walk, show: Show) -> None:
        """See the class."""
        self._state, self._found, self._show = state, found, show
        self._key = state.scope_key()
        self._changes = state.changes
        self._last: list[Any] = []

    def __next__(self) -> Any:
        """Give the next entry.

        Raises:
            StateError: The map was changed meanwhile, other than by ``remove``.
        """
        if self._state.changes != self._changes:
            raise StateError(
                "a map state was changed while it was walked",
                fix="collect the keys first, or remove entries with remove() of the iterator",
            )
        for name, entry in self._found:
            seen = self._state.seen(self._key, name, entry)
            if seen is not None:
                self._last = [name]
                return self._show(name, seen[0])
        raise StopIteration

    def remove(self) -> None:
        """Remove the entry that was given last.

        Raises:
            StateError: None was given yet, or it is removed already.
        """
        if not self._last:
            raise StateError("there is no entry to remove", fix="call remove() once after each next()")
        self._state.remove_entry(self._key, self._last.pop())
        self._changes = self._state.changes
