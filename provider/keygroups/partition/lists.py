"""List states: what is appended is written without a look at what is there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.keyed.forms import copy_of
from keygroups.keyed.tables import Columns, Entry
from keygroups.partition.block_rows import is_tombstone
from keygroups.partition.chunks import ROWS_AT_ONCE, ChunkColumns, ChunkRows
from keygroups.partition.entry_columns import ColumnForm, Move, appended
from keygroups.partition.forms import copier, entry_form
from keygroups.partition.items import join_items, stored_items
from keygroups.partition.keys import Key, StoredKeys
from keygroups.partition.sealed import Sealed
from keygroups.state.batch_keys import BatchKeys
from keygroups.state.descriptors import StateDescriptor


@dataclass
class _Changes:
    """What a task did to the list of a key.

    Attributes:
        replaced: What was there before is gone.
        entries: What was appended since.
    """

    replaced: bool = False
    entries: list[Entry] = field(default_factory=list)


class FileLists:
    """A ``ListTable``.

    Args:
        descriptor: What the state is.
        sealed: Its stored rows.

    Attributes:
        move: Moves the writes to a segment.
    """

    move: Move

    def __init__(self, descriptor: StateDescriptor, sealed: Sealed) -> None:
        """See the class."""
        self.form = entry_form(descriptor)
        self.sealed = sealed
        self._copied = copier(descriptor.type, copy_of(descriptor.type))
        self._changes: dict[Key, _Changes] = {}
        self._read: dict[Key, list[Entry]] = {}
        self._kind = descriptor.type
        self._columns: ColumnForm | None = None
        self._appended: ChunkColumns | None = None

    def read(self, key: Key) -> list[Entry]:
        """Give all entries, copies where they could be changed."""
        self._leave_columns()
        changes = self._changes.get(key)
        if changes is not None and changes.replaced:
            return self._copies(changes.entries)
        if key not in self._read:
            self._read[key] = self._stored(key)
        return self._copies(self._read[key] + changes.entries if changes else self._read[key])

    def append(self, key: Key, entries: Iterable[Entry]) -> None:
        """Append entries."""
        self._leave_columns()
        self._changes.setdefault(key, _Changes()).entries.extend(self._copies(entries))

    def replace(self, key: Key, entries: Iterable[Entry]) -> None:
        """Replace all entries."""
        self._leave_columns()
        self._changes[key] = _Changes(replaced=True, entries=self._copies(entries))

    def append_many(self, keys: BatchKeys, values: pa.Array, groups: npt.NDArray[np.int64], begun: int) -> None:
        """Append values, each to the list of its key."""
        if self._changes or self._appended is not None:
            self.move()
        self._read = {}
        self._columns = self._columns or ColumnForm(self.form.schema, self._kind)
        entries = Columns(values, np.full(len(values), begun, np.int64))
        self._appended = appended(self._columns, self.sealed, keys.stored, entries, groups)

    def take(self) -> ChunkRows | ChunkColumns:
        """Give what was written since the last call, and forget what was read."""
        if self._appended is None:
            return self._rows()
        columns, self._appended = self._appended, None
        return columns

    def _leave_columns(self) -> None:
        if self._appended is not None:
            self.move()

    def _rows(self) -> ChunkRows:
        rows = ChunkRows()
        changed = [(key, changes) for key, changes in self._changes.items() if changes.replaced or changes.entries]
        exist = self._exist([key for key, _ in changed])
        self._changes, self._read = {}, {}
        for at in range(0, len(changed), ROWS_AT_ONCE):
            some = changed[at : at + ROWS_AT_ONCE]
            encoded = iter(self.form.encode([entry for _, changes in some for entry in changes.entries]))
            for (key, changes), exists in zip(some, exist[at : at + ROWS_AT_ONCE], strict=True):
                if changes.entries:
                    value = join_items([next(encoded) for _ in changes.entries])
                    rows.put(key, key.locator, key.data, value, exists=exists, appended=not changes.replaced)
                elif exists:
                    rows.remove(key, key.locator, key.data)
                changes.entries.clear()
        return rows

    def _copies(self, entries: Iterable[Entry]) -> list[Entry]:
        copied = self._copied
        return list(entries) if copied is None else [(copied(value), begun) for value, begun in entries]

    def _exist(self, keys: list[Key]) -> list[bool]:
        exist = np.zeros(len(keys), np.bool_)
        stored = StoredKeys.of_keys(keys)
        for found in self.sealed.find(stored.locators, stored.data, values=False):
            exist[found.wanted] = ~is_tombstone(found.block, found.rows)
        return list(map(bool, exist))

    def _stored(self, key: Key) -> list[Entry]:
        return stored_items(self.sealed, key.locator, key.data, self.form.decode)
