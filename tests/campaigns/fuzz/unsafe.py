"""Rows and stored keys of the families of ``samples``, made a value at a time."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import xxhash

HASHED, PREFIXED, LISTS, ORDERED, TIMED = range(5)
"""The families."""
KEY_GROUPS = 28_800


def packed(*columns: int | str | bytes | None) -> bytes:
    """An UnsafeRow of longs and texts."""
    fixed, variable = 8 + 8 * len(columns), b""
    words = [sum(1 << n for n, column in enumerate(columns) if column is None)]
    for column in columns:
        if column is None:
            words.append(0)
        elif isinstance(column, int):
            words.append(column % 2**64)
        else:
            text = column.encode() if isinstance(column, str) else column
            words.append((fixed + len(variable)) << 32 | len(text))
            variable += text.ljust(-(-len(text) // 8) * 8, b"\0")
    return struct.pack(f"<{len(words)}Q", *words) + variable


def stored_key(family: int, columns: Sequence[int | str | bytes | None]) -> bytes:
    """A key of a family as it is stored."""
    if family == ORDERED:
        (first, *_) = columns
        if not isinstance(first, int):
            return b"\2".ljust(16, b"\0") + packed(*columns)
        return bytes([first >= 0]) + (first % 2**64).to_bytes(8, "big") + bytes(7) + packed(*columns)
    if family == TIMED:
        *rest, time = columns
        assert isinstance(time, int)
        return packed(*rest) + (time + 2**63).to_bytes(8, "big")
    return packed(*columns)


def locator_of(family: int, key_group: int, key: bytes) -> int:
    """Where the row of a stored key lies."""
    if family == ORDERED:
        return int.from_bytes(key[:8], "big") >> 1
    hashed = _first_text(key) if family == PREFIXED else key[:-8] if family == TIMED else key
    return key_group << 48 | int(xxhash.xxh64_intdigest(hashed)) >> 16


def _first_text(key: bytes) -> bytes:
    """The row of the first column of a key of texts and longs."""
    place, size = divmod(struct.unpack_from("<Q", key, 8)[0], 2**32)
    return packed(key[place : place + size] if key[0] & 1 == 0 else None)
