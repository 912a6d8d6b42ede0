"""Lookups among the rows that share a locator: those of one map."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from keygroups.partition.block_rows import RowBytes, Span, fixed_width


class LocatorRows:
    """Rows of one block with the same locator, in the order of their keys.

    Among 1,000 rows numpy finds a key in 0.5 us where all have the same width, and a binary search in Python in 3.4 us.

    Args:
        span: Where they lie.
    """

    __slots__ = ("_block", "_end", "_has_tombstones", "_key_at", "_keys", "_start", "_value_at")

    def __init__(self, span: Span) -> None:
        """See the class."""
        self._block, self._start, self._end = span
        keys = fixed_width(self._block.key)
        self._keys = None if keys is None else keys[self._start : self._end]
        self._key_at, self._value_at = RowBytes(self._block.key), RowBytes(self._block.value)
        self._has_tombstones = self._block.value.null_count > 0

    def find(self, key: bytes) -> int | None:
        """Give the row of a key, None if it has none."""
        start, end = self._start, self._end
        if self._keys is None:
            row = bisect_left(range(end), key, start, end, key=self._key_at)
        else:
            row = start + int(self._keys.searchsorted(key))
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
