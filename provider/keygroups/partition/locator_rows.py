"""Lookups among the rows that share a locator: those of one map."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

from keygroups.partition.block_rows import RowBytes, Span

ROWS_A_LOOKUP: Final = 16
"""Rows for each lookup so far, up to which all keys are read: among 1,000 rows that takes 30 us, a lookup without it
4 us, with it 0.7 us. It bounds what one lookup adds to the worker's memory as well."""


class LocatorRows:
    """Rows of one block with the same locator, in the order of their keys.

    Args:
        span: Where they lie.
    """

    __slots__ = ("_block", "_end", "_has_tombstones", "_key_at", "_keys", "_lookups", "_start", "_value_at")

    def __init__(self, span: Span) -> None:
        """See the class."""
        self._block, self._start, self._end = span
        self._key_at, self._value_at = RowBytes(self._block.key), RowBytes(self._block.value)
        self._has_tombstones = self._block.value.null_count > 0
        self._keys: list[bytes] | None = None
        self._lookups = 0

    def find(self, key: bytes) -> int | None:
        """Give the row of a key, None if it has none."""
        start, end, keys = self._start, self._end, self._keys
        if keys is not None:
            at = bisect_left(keys, key)
            return start + at if at < len(keys) and keys[at] == key else None
        self._lookups += 1
        if self._lookups * ROWS_A_LOOKUP > end - start:
            self._keys = self._block.key.slice(start, end - start).to_pylist()
            return self.find(key)
        row = bisect_left(range(end), key, start, end, key=self._key_at)
        return row if row < end and self._key_at(row) == key else None

    def value(self, row: int) -> bytes:
        """Give the value of a row that is no tombstone."""
        return self._value_at(row)

    def is_tombstone(self, row: int) -> bool:
        """Tell whether a row is a tombstone."""
        return self._has_tombstones and not self._block.value[row].is_valid


class Row(NamedTuple):
    """One of them."""

    rows: LocatorRows
    row: int

    def value(self) -> bytes:
        """Give its value."""
        return self.rows.value(self.row)


def newest_in(segments: Sequence[Sequence[LocatorRows]], key: bytes) -> Row | None:
    """Give the newest row of a key, None if there is none or it is a tombstone.

    Args:
        segments: The rows with its locator, the newest segment first.
        key: The key.
    """
    for segment in segments:
        for rows in segment:
            row = rows.find(key)
            if row is not None:
                return None if rows.is_tombstone(row) else Row(rows, row)
    return None
