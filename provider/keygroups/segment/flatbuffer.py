"""Reads flatbuffers, the encoding of Arrow's metadata, with checked bounds and without allocating memory."""

from __future__ import annotations

from struct import Struct

U8, U16, I64 = Struct("<B"), Struct("<H"), Struct("<q")
_I32, _U32, _PAIR = Struct("<i"), Struct("<I"), Struct("<qq")


class Table:
    """A table: numbered slots that hold numbers, tables and vectors.

    Args:
        data: the whole flatbuffer.
        at: where the table begins; None for the root.

    Raises:
        ValueError: here and in every method: something lies outside of ``data``.
    """

    def __init__(self, data: memoryview, at: int | None = None) -> None:
        self._data = data
        self._at = self._read(_U32, 0) if at is None else at
        self._slots = self._at - self._read(_I32, self._at)
        self._slots_end = self._slots + self._read(U16, self._slots)

    def number(self, slot: int, kind: Struct) -> int:
        """A number, 0 if it is absent."""
        at = self._find(slot)
        return self._read(kind, at) if at else 0

    def table(self, slot: int) -> Table | None:
        """A table, None if it is absent."""
        at = self._find(slot)
        return Table(self._data, at + self._read(_U32, at)) if at else None

    def pairs(self, slot: int) -> list[tuple[int, int]]:
        """A vector of structs of two 64-bit numbers, empty if it is absent."""
        if not (at := self._find(slot)):
            return []
        at += self._read(_U32, at)
        start, size = at + 4, self._read(_U32, at) * _PAIR.size
        if size > len(self._data) - start:
            raise ValueError(f"a vector of {size} bytes at byte {start} of a message's {len(self._data)}")
        return list(_PAIR.iter_unpack(self._data[start : start + size]))

    def _find(self, slot: int) -> int:
        """The position of a slot's content, 0 if it has none."""
        entry = self._slots + 4 + 2 * slot
        offset = self._read(U16, entry) if entry + 2 <= self._slots_end else 0
        return self._at + offset if offset else 0

    def _read(self, kind: Struct, at: int) -> int:
        if not 0 <= at <= len(self._data) - kind.size:
            raise ValueError(f"the metadata of a message points to byte {at} of its {len(self._data)}")
        return int(kind.unpack_from(self._data, at)[0])
