"""States with one entry for each key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from keygroups.keyed.forms import copy_of
from keygroups.keyed.tables import Entry
from keygroups.partition.chunks import ChunkRows
from keygroups.partition.forms import copier, entry_form
from keygroups.partition.keys import Key, Keys
from keygroups.partition.sealed import Sealed, is_tombstone, values_of
from keygroups.state.descriptors import StateDescriptor


class FileValues:
    """A ``ValueTable``. The first read of one of the current keys reads all of them.

    Args:
        descriptor: What the state is.
        sealed: Its stored rows.
        keys: The current keys.
    """

    def __init__(self, descriptor: StateDescriptor, sealed: Sealed, keys: Keys) -> None:
        """See the class."""
        self.form = entry_form(descriptor)
        self.sealed = sealed
        self._keys = keys
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
        self._entries[key] = entry if self._copied is None else (self._copied(entry[0]), entry[1])
        self._written[key] = None

    def remove(self, key: Key) -> None:
        """Remove the entry."""
        self._entries[key] = None
        self._written[key] = None

    def take(self) -> ChunkRows:
        """Give what was written since the last call, and forget what was read."""
        self._look_up([key for key in self._written if key not in self._stored])
        rows = ChunkRows()
        live = [key for key in self._written if self._entries[key] is not None]
        values = self.form.encode([entry for key in live if (entry := self._entries[key]) is not None])
        for key, value in zip(live, values, strict=True):
            rows.put(key, key.locator, key.data, value, exists=self._stored[key])
        for key in self._written:
            if self._entries[key] is None and self._stored[key]:
                rows.remove(key, key.locator, key.data)
        self._entries, self._written, self._stored = {}, {}, {}
        return rows

    def _fetch(self, key: Key) -> None:
        missing = [one for one in self._keys.current if one not in self._entries]
        if key not in self._entries and key not in missing:
            missing.append(key)
        self._look_up(missing, decode=True)

    def _look_up(self, keys: list[Key], *, decode: bool = False) -> None:
        """Find out which keys are stored, and read what they have."""
        if not keys:
            return
        self._stored.update(dict.fromkeys(keys, False))
        if decode:
            self._entries.update(dict.fromkeys(keys))
        locators = np.fromiter((key.locator for key in keys), np.uint64, len(keys))
        for found in self.sealed.find(locators, pa.array([key.data for key in keys], pa.binary())):
            live = ~is_tombstone(found.block, found.rows)
            present = [keys[i] for i in found.wanted[live].tolist()]
            self._stored.update(dict.fromkeys(present, True))
            if decode:
                entries = self.form.decode(values_of(found.block, found.rows[live]))
                self._entries.update(zip(present, entries, strict=True))
