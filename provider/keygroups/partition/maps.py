"""Map states, entry by entry: to touch one entry does not load the others."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, Final

import numpy as np

from keygroups.keyed.forms import copy_of
from keygroups.keyed.order import order_of
from keygroups.keyed.tables import Entry
from keygroups.partition.block_rows import Place, RowBytes, is_tombstone, values_of
from keygroups.partition.chunks import ROWS_AT_ONCE, ChunkRows
from keygroups.partition.forms import copier, entry_form
from keygroups.partition.keys import Key
from keygroups.partition.locator_rows import LocatorRows, Row, newest_in
from keygroups.partition.names import PAIR_HEAD, Names, pair, prefix
from keygroups.partition.sealed import Sealed
from keygroups.segment.read_ahead import will_read_column, will_read_rows
from keygroups.state.descriptors import MapStateDescriptor, SortedMapStateDescriptor

PAGE: Final = 64
"""Entries that a walk over a sorted map takes at once."""
MANY: Final = 100
"""Rows from which on it pays to ask for all of their pages; that takes 15 us where they are in memory."""
_sort = itemgetter(0)


class _Entries:
    """What a task knows of the map of one key.

    Attributes:
        locator: Where its rows lie.
        known: Entries that were read or written, by the row of their second key: that key, and the entry or None.
        written: The rows of those that were written.
        cleared: What is stored is gone.
        is_stored: Whether the version has an entry, for those of which that is known.
        rows: Those with the locator, once one was looked for, the newest segment first.
        stored: Stored second keys by their rows, and the place of each, once all were asked for.
        order: Second keys of all entries in their order, each after what it is sorted by, once it was asked for.
        readers: What reads the values of blocks in ``stored``, by the identity of the block.
    """

    __slots__ = ("cleared", "is_stored", "known", "locator", "order", "readers", "rows", "stored", "written")

    def __init__(self, locator: int) -> None:
        self.locator = locator
        self.known: dict[bytes, tuple[Any, Entry | None]] = {}
        self.written: dict[bytes, None] = {}
        self.is_stored: dict[bytes, bool] = {}
        self.rows: list[list[LocatorRows]] | None = None
        self.cleared = False
        self.stored: dict[bytes, tuple[Any, Place]] | None = None
        self.order: list[tuple[Any, Any]] | None = None
        self.readers: dict[int, RowBytes] = {}

    def value_at(self, place: Place) -> bytes:
        """Give the value of a place in ``stored``. To make a reader takes 0.8 us, to read 0.3 us."""
        reader = self.readers.get(id(place.block))
        if reader is None:
            reader = self.readers[id(place.block)] = RowBytes(place.block.value)
        return reader(place.row)


class FileMaps:
    """A ``MapTable``.

    Args:
        descriptor: What the state is.
        sealed: Its stored rows.
    """

    def __init__(self, descriptor: MapStateDescriptor, sealed: Sealed) -> None:
        """See the class."""
        self.form = entry_form(descriptor, nullable=True)
        self.names = Names(descriptor.key_type)
        self.sealed = sealed
        self._order = order_of(descriptor.key_type) if isinstance(descriptor, SortedMapStateDescriptor) else None
        self._copied = copier(descriptor.type, copy_of(descriptor.type))
        self._name = copier(descriptor.key_type, copy_of(descriptor.key_type)) or (lambda name: name)
        self._maps: dict[Key, _Entries] = {}

    def read(self, key: Key, name: Any) -> Entry | None:
        """Give an entry, a copy where it could be changed."""
        entries, row = self._of(key), self.names.row(name)
        known = entries.known.get(row)
        if known is None:
            value = None if entries.cleared else self._value(key, entries, row)
            entry = None if value is None else self.form.decode_one(value)
            known = entries.known[row] = self._name(name), entry
        return self._copy(known[1])

    def write(self, key: Key, name: Any, entry: Entry) -> None:
        """Set an entry."""
        self._set(self._of(key), name, self._copy(entry))

    def remove(self, key: Key, name: Any) -> None:
        """Remove an entry."""
        self._set(self._of(key), name, None)

    def clear(self, key: Key) -> None:
        """Remove all entries of a key."""
        entries = self._maps[key] = _Entries(self._of(key).locator)
        entries.cleared = True

    def is_empty(self, key: Key) -> bool:
        """Tell whether a key has no entry."""
        entries = self._of(key)
        if any(entry is not None for _, entry in entries.known.values()):
            return False
        if entries.cleared:
            return True
        if entries.stored is not None:
            return not entries.stored.keys() - entries.known.keys()
        return all(row in entries.known for row, _ in self._live(key, entries.locator))

    def items(self, key: Key) -> Iterator[tuple[Any, Entry]]:
        """Walk the entries as they are now."""
        if self._order:
            return self.between(key, None, None, backwards=False)
        entries = self._of(key)
        unchanged = list(self._unchanged(key, entries))
        decoded = self._decoded([place for _, place in unchanged])
        stored = [(self._name(name), entry) for (name, _), entry in zip(unchanged, decoded, strict=True)]
        known = [
            (self._name(name), copied)
            for name, entry in entries.known.values()
            if (copied := self._copy(entry)) is not None
        ]
        return iter(stored + known)

    def between(self, key: Key, start: Any, end: Any, *, backwards: bool) -> Iterator[tuple[Any, Entry]]:
        """Walk the entries between two bounds, as they are now."""
        order, sort = self._sorted(key), self._order
        assert sort is not None, "the map has no order"
        low = 0 if start is None else bisect_left(order, sort(start), key=_sort)
        high = len(order) if end is None else bisect_left(order, sort(end), key=_sort)
        while low < high:
            page = order[max(low, high - PAGE) : high] if backwards else order[low : min(high, low + PAGE)]
            low, high = (low, high - len(page)) if backwards else (low + len(page), high)
            rest = (order[low][0], order[high - 1][0]) if low < high else None
            for _, name in reversed(page) if backwards else page:
                entry = self.read(key, name)
                if entry is not None:
                    yield self._name(name), entry
            if rest is None:
                return
            order = self._sorted(key)  # entries may have gone meanwhile
            low, high = bisect_left(order, rest[0], key=_sort), bisect_right(order, rest[1], key=_sort)

    def take(self) -> ChunkRows:
        """Give what was written since the last call, and forget what was read."""
        rows = ChunkRows()
        live: list[tuple[Key, _Entries, bytes, bool]] = []
        values: list[Entry] = []
        while self._maps:
            key, entries = self._maps.popitem()
            if entries.cleared:
                self._remove_stored(key, entries, rows)
            for row in entries.written:
                entry = entries.known.pop(row)[1]
                stored = pair(key.data, row)
                exists = self._exists(entries, row, stored)
                if entry is not None:
                    live.append((key, entries, stored, exists))
                    values.append(entry)
                elif exists and not entries.cleared:
                    rows.remove(key, entries.locator, stored)
                if len(live) == ROWS_AT_ONCE:
                    self._put(rows, live, values)
        self._put(rows, live, values)
        self.forget()
        return rows

    def forget(self) -> None:
        """Forget what was read and written, and where it lies."""
        self._maps = {}
        self.names.forget()

    def _put(self, rows: ChunkRows, live: list[tuple[Key, _Entries, bytes, bool]], values: list[Entry]) -> None:
        """Add entries to the rows, and forget them."""
        for (key, entries, stored, exists), value in zip(live, self.form.encode(values), strict=True):
            rows.put(key, entries.locator, stored, value, exists=exists)
        live.clear()
        values.clear()

    def _of(self, key: Key) -> _Entries:
        entries = self._maps.get(key)
        if entries is None:
            entries = self._maps[key] = _Entries(key.locator_of(prefix(key)))
        return entries

    def _set(self, entries: _Entries, name: Any, entry: Entry | None) -> None:
        row = self.names.row(name)
        entries.known[row] = self._name(name), entry
        entries.written[row] = None
        if entries.order is not None:
            self._reorder(entries.order, name, present=entry is not None)

    def _reorder(self, order: list[tuple[Any, Any]], name: Any, *, present: bool) -> None:
        assert self._order is not None, "the map has no order"
        sort = self._order(name)
        at = bisect_left(order, sort, key=_sort)
        found = at < len(order) and order[at][0] == sort
        if present and not found:
            order.insert(at, (sort, name))
        elif found and not present:
            del order[at]

    def _copy(self, entry: Entry | None) -> Entry | None:
        if entry is None or self._copied is None or entry[0] is None:
            return entry
        return self._copied(entry[0]), entry[1]

    def _sorted(self, key: Key) -> list[tuple[Any, Any]]:
        entries, sort = self._of(key), self._order
        assert sort is not None, "the map has no order"
        if entries.order is None:
            names = [name for name, _ in self._unchanged(key, entries)]
            names += [name for name, entry in entries.known.values() if entry is not None]
            entries.order = sorted(((sort(name), name) for name in names), key=_sort)
        return entries.order

    def _unchanged(self, key: Key, entries: _Entries) -> Iterable[tuple[Any, Place]]:
        """The stored entries that are not known."""
        if entries.cleared:
            return []
        if entries.stored is None:
            live = list(self._live(key, entries.locator))
            names = self.names.names([row for row, _ in live])
            entries.stored = {row: (name, place) for name, (row, place) in zip(names, live, strict=True)}
        return [found for row, found in entries.stored.items() if row not in entries.known]

    def _live(self, key: Key, locator: int) -> Iterator[tuple[bytes, Place]]:
        """The rows of the stored second keys, and their places."""
        seen: set[bytes] = set()
        begin = PAIR_HEAD + len(key.data)
        for spans in self.sealed.ranges(locator):
            newer = frozenset(seen)
            for block, start, end in spans:
                column = block.key.slice(start, end - start)
                if len(column) > MANY:
                    will_read_column(column)
                stored = column.to_pylist()
                dead = is_tombstone(block, np.arange(start, end)).tolist()
                for i, one in enumerate(stored):
                    row = one[begin:]
                    if row not in newer and one[PAIR_HEAD:begin] == key.data:
                        seen.add(row)
                        if not dead[i]:
                            yield row, Place(block, start + i)

    def _value(self, key: Key, entries: _Entries, row: bytes) -> bytes | None:
        """The stored value of a second key."""
        if entries.stored is not None:
            known = entries.stored.get(row)
            return None if known is None else entries.value_at(known[1])
        found = self._newest(entries, pair(key.data, row))
        entries.is_stored[row] = found is not None
        return None if found is None else found.value()

    def _newest(self, entries: _Entries, stored: bytes) -> Row | None:
        if entries.rows is None:
            entries.rows = [list(map(LocatorRows, spans)) for spans in self.sealed.ranges(entries.locator)]
        return newest_in(entries.rows, stored)

    def _exists(self, entries: _Entries, row: bytes, stored: bytes) -> bool:
        known = entries.is_stored.get(row)
        return self._newest(entries, stored) is not None if known is None else known

    def _remove_stored(self, key: Key, entries: _Entries, rows: ChunkRows) -> None:
        for row, _ in self._live(key, entries.locator):
            known = entries.known.get(row)
            if known is None or known[1] is None:
                rows.remove(key, entries.locator, pair(key.data, row))

    def _decoded(self, found: list[Place]) -> list[Entry]:
        """The entries at places; those of one block together."""
        result: list[Entry] = [(None, 0)] * len(found)
        groups: dict[int, list[int]] = {}
        for i, place in enumerate(found):
            groups.setdefault(id(place.block), []).append(i)
        for numbers in groups.values():
            block = found[numbers[0]].block
            rows = np.array([found[i].row for i in numbers])
            if len(rows) > MANY:
                will_read_rows(block.value, rows)
            entries = self.form.decode(values_of(block, rows))
            for i, entry in zip(numbers, entries, strict=True):
                result[i] = entry
        return result
