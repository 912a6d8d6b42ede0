"""The states as users see them: always those of the current key.

Source: ``pyflink.datastream.state`` of PyFlink 2.3; where it differs from Flink's Java, Java is followed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from keygroups.state.batch_keys import BatchKeys

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")
V_co = TypeVar("V_co", covariant=True)


class State(ABC):
    """What all states have."""

    @abstractmethod
    def clear(self) -> None:
        """Remove what the current key has."""


class ValueState(State, Generic[T]):
    """One value."""

    @abstractmethod
    def value(self) -> T:
        """Give the value, else a copy of the default, else None. Changing it in place changes no state."""

    @abstractmethod
    def update(self, value: T | None) -> None:
        """Set the value; None removes it."""

    @abstractmethod
    def get_many(self, keys: BatchKeys) -> pa.Array:
        """Give the value of each key, the default where there is none."""

    @abstractmethod
    def update_many(self, keys: BatchKeys, values: Any) -> None:
        """Set the value of each key: an array, or a sequence; null removes one. Raises StateError if one is wrong."""


class AppendingState(State, Generic[IN, OUT]):
    """What values are added to."""

    @abstractmethod
    def get(self) -> OUT:
        """Give what has come of them, None if there are none."""

    @abstractmethod
    def add(self, value: IN | None) -> None:
        """Add a value."""

    @abstractmethod
    def get_many(self, keys: BatchKeys) -> pa.Array:
        """Give what has come of the values of each key, null where there are none."""

    @abstractmethod
    def add_many(self, keys: BatchKeys, column: Any) -> pa.Array:
        """Add a column of the batch, each value to its row's key; nulls are left out.

        Without a Python call per row if the descriptor names its function: ``sum``, ``count`` and so on.

        Returns:
            What ``get_many`` gives afterwards.

        Raises:
            StateError: A value is wrong.
        """


class ReducingState(AppendingState[T, T]):
    """Values of which a function makes one. Adding None clears it."""


class AggregatingState(AppendingState[IN, OUT]):
    """An accumulator, read through its function. Adding None clears it."""


class FoldingState(AppendingState[IN, OUT]):
    """An accumulator that begins with a given value. Adding None clears it."""


class ListState(State, Generic[T]):
    """Elements in the order in which they were added; None is no element."""

    @abstractmethod
    def get(self) -> list[T]:
        """Give all elements; an empty list if there are none."""

    @abstractmethod
    def add(self, value: T) -> None:
        """Append an element."""

    @abstractmethod
    def add_all(self, values: Iterable[T]) -> None:
        """Append all elements or, if one is wrong, none."""

    @abstractmethod
    def get_many(self, keys: BatchKeys) -> pa.Array:
        """Give the elements of each key, as an array of lists."""

    @abstractmethod
    def add_many(self, keys: BatchKeys, column: Any) -> None:
        """Append a column of the batch, each value to the list of its row's key, in their order; nulls are left out.

        Raises:
            StateError: A value is wrong.
        """

    @abstractmethod
    def update(self, values: Iterable[T]) -> None:
        """Replace all elements; an empty list clears the state."""

    def __iter__(self) -> Iterator[T]:
        """Walk the elements."""
        return iter(self.get())


class RemovingIterator(Iterator[V_co], Protocol[V_co]):
    """An iterator over a map that can remove the entry it gave last."""

    def remove(self) -> None:
        """Remove it."""


class MapState(State, Generic[K, V]):
    """Entries with a key of their own each; None may be a value. There is no KeyError: what is absent reads as None."""

    @abstractmethod
    def get(self, key: K) -> V:
        """Give a value, None if it is absent."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set a value."""

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        """Set values: of a dict, or of pairs."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove an entry; nothing happens if it is absent."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Tell whether there is an entry, even with None for a value."""

    @abstractmethod
    def items(self) -> RemovingIterator[tuple[K, V]]:
        """Walk the entries, in no promised order."""

    @abstractmethod
    def keys(self) -> RemovingIterator[K]:
        """Walk the keys."""

    @abstractmethod
    def values(self) -> RemovingIterator[V]:
        """Walk the values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Tell whether nothing is stored. Entries that have expired and were not read since count, as in Flink."""

    def __getitem__(self, key: K) -> V:
        """Give a value, None if it is absent."""
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        """Set a value."""
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        """Remove an entry; nothing happens if it is absent."""
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        """Tell whether there is an entry."""
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        """Walk the keys."""
        return iter(self.keys())


class SortedMapState(MapState[K, V]):
    """A map whose entries come in the order of their keys. A bound of None gives no entries."""

    @abstractmethod
    def first_entry(self) -> tuple[K, V] | None:
        """Give the entry with the smallest key, None if there is none."""

    @abstractmethod
    def last_entry(self) -> tuple[K, V] | None:
        """Give the entry with the greatest key, None if there is none."""

    @abstractmethod
    def head_iterator(self, end: K | None) -> RemovingIterator[tuple[K, V]]:
        """Walk the entries whose keys are below the end."""

    @abstractmethod
    def tail_iterator(self, start: K | None) -> RemovingIterator[tuple[K, V]]:
        """Walk the entries from the start on."""

    @abstractmethod
    def sub_iterator(self, start: K | None, end: K | None) -> RemovingIterator[tuple[K, V]]:
        """Walk the entries from the start on, whose keys are below the end."""
