"""States with one entry for each key."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keygroups.keyed.forms import copy_of
from keygroups.keyed.tables import Columns, Entry
from keygroups.partition.block_rows import is_tombstone, values_of
from keygroups.partition.chunks import ROWS_AT_ONCE, ChunkColumns, ChunkRows
from keygroups.partition.entry_columns import ColumnForm, EntryColumns, Move
from keygroups.partition.forms import copier, entry_form
from keygroups.partition.keys import Key, Keys, StoredKeys
from keygroups.partition.sealed import Sealed
from keygroups.state.batch_keys import BatchKeys
from keygroups.state.descriptors import StateDescriptor


class FileValues:
    """A ``ValueTable``. The first read of one of the current keys reads all of them.

    Writes are kept key by key, or as columns of one batch, never both: before the other way begins, they move to a
    segment.

    Args:
        descriptor: What the state is.
        sealed: Its stored rows.
        keys: The current keys.

    Attributes:
        move: Moves the writes to a segment.
    """

    move: Move

    def __init__(self, descriptor: StateDescriptor, sealed: Sealed, keys: Keys) -> None:
        """See the class."""
        self.form = entry_form(descriptor)
        self.sealed = sealed
        self._keys = keys
        self._kind = descriptor.type
        self._form: ColumnForm | None = None
        self._many: EntryColumns | None = None
        self._batch: BatchKeys | None = None
        self._copied = copier(descriptor.type, copy_of(descriptor.type))
        self._entries: dict[Key, Entry | None] = {}
        self._written: dict[Key, None] = {}
        self._stored: dict[Key, bool] = {}

    def read(self, key: Key) -> Entry | None:
        """Give the entry, a copy where it could be changed."""
        try:
            entry = self._entries[key]
        except KeyError:
            self._fetch(key)
            entry = self._entries[key]
        if entry is None or self._copied is None:
            return entry
        return self._copied(entry[0]), entry[1]

    def write(self, key: Key, entry: Entry) -> None:
        """Set the entry."""
        if self._many is not None:
            self._leave_columns()
        self._entries[key] = entry if self._copied is None else (self._copied(entry[0]), entry[1])
        self._written[key] = None

    def remove(self, key: Key) -> None:
        """Remove the entry."""
        if self._many is not None:
            self._leave_columns()
        self._entries[key] = None
        self._written[key] = None

    def read_many(self, keys: BatchKeys) -> Columns:
        """Give the entries of all keys."""
        return self._columns(keys).read()

    def write_many(self, keys: BatchKeys, entries: Columns, written: npt.NDArray[np.bool_] | None = None) -> None:
        """Set the entries of all keys, or of those of a mask."""
        self._columns(keys).write(entries, written)
        self._entries, self._stored = {}, {}

    def take(self) -> ChunkRows | ChunkColumns:
        """Give what was written since the last call, and forget what was read."""
        columns = None if self._many is None else self._many.take()
        self._many = self._batch = None
        return self._rows() if columns is None else columns

    def _rows(self) -> ChunkRows:
        unknown = [key for key in self._written if key not in self._stored]
        self._look_up(unknown, StoredKeys.of_keys(unknown))
        rows, keys = ChunkRows(), list(self._written)
        for at in range(0, len(keys), ROWS_AT_ONCE):
            written = [(key, self._entries.pop(key)) for key in keys[at : at + ROWS_AT_ONCE]]
            live = [key for key, entry in written if entry is not None]
            values = self.form.encode([entry for _, entry in written if entry is not None])
            rows.put_all(live, values, [self._stored[key] for key in live])
            for key, entry in written:
                if entry is None and self._stored[key]:
                    rows.remove(key, key.locator, key.data)
        self._entries, self._written, self._stored = {}, {}, {}
        return rows

    def _columns(self, keys: BatchKeys) -> EntryColumns:
        if self._written or (self._many is not None and self._batch is not keys):
            self.move()
        if self._many is None:
            self._form = self._form or ColumnForm(self.form.schema, self._kind)
            self._many, self._batch = EntryColumns(self._form, self.sealed, keys.stored), keys
        return self._many

    def _leave_columns(self) -> None:
        if self._many is not None and self._many.written is not None:
            self.move()
        self._many = self._batch = None

    def _fetch(self, key: Key) -> None:
        self._leave_columns()
        self._look_up(*self._missing(), decode=True)
        if key not in self._entries:  # of a timer
            self._look_up([key], StoredKeys.of_keys([key]), decode=True)

    def _missing(self) -> tuple[list[Key], StoredKeys]:
        """The current keys that were neither read nor written."""
        keys, stored, known = self._keys.current, self._keys.stored, self._entries
        if not known:
            return keys, stored
        missing = [i for i, key in enumerate(keys) if key not in known]
        return [keys[i] for i in missing], stored.take(np.array(missing, np.int64))

    def _look_up(self, keys: list[Key], stored: StoredKeys, *, decode: bool = False) -> None:
        """Find out which keys are stored, and read what they have."""
        if not keys:
            return
        is_stored = np.zeros(len(keys), np.bool_)
        for found in self.sealed.find(stored.locators, stored.data, values=decode):
            live = ~is_tombstone(found.block, found.rows)
            is_stored[found.wanted[live]] = True
            if decode:
                entries = self.form.decode(values_of(found.block, found.rows[live]))
                self._entries.update(zip([keys[i] for i in found.wanted[live].tolist()], entries, strict=True))
        self._stored.update(zip(keys, is_stored.tolist(), strict=True))
        if decode and not is_stored.all():
            self._entries.update(dict.fromkeys(keys[i] for i in np.flatnonzero(~is_stored).tolist()))
