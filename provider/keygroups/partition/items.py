"""Values of lists: of each its length, in 8 bytes, and its UnsafeRow; see ``ValueList`` in the shim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from keygroups.keyed.tables import Entry
from keygroups.partition.block_rows import Place, is_appended, is_tombstone, values_of
from keygroups.partition.sealed import Sealed
from keygroups.rows.decode import Bytes

LENGTH_BYTES: Final = 8


def join_items(rows: Sequence[bytes]) -> bytes:
    """Give a list of UnsafeRows. Two lists one after the other are a list."""
    return b"".join(part for row in rows for part in (len(row).to_bytes(LENGTH_BYTES, "little"), row))


def stored_items(sealed: Sealed, locator: int, key: bytes, read: Callable[[Bytes], list[Entry]]) -> list[Entry]:
    """Give the entries of a key's list, oldest first."""
    pieces = [read(_items(place)) for place in _pieces(sealed.history(locator, key))]
    return [entry for piece in reversed(pieces) for entry in piece]


def _items(place: Place) -> Bytes:
    whole = values_of(place.block, np.array([place.row]))
    starts, sizes = [], []
    at, end = int(whole.starts[0]), int(whole.starts[0] + whole.sizes[0])
    while at < end:
        starts.append(at + LENGTH_BYTES)
        sizes.append(int(whole.words[at >> 3]))
        at += LENGTH_BYTES + sizes[-1]
    return whole.at(np.array(starts, np.int64), np.array(sizes, np.int64))


def _pieces(history: Iterator[Place]) -> Iterator[Place]:
    """The rows that make a list, newest first: those that were appended, and the one that they were appended to."""
    for place in history:
        if is_tombstone(place.block, np.array([place.row]))[0]:
            return
        yield place
        if not is_appended(place.block, place.row):
            return
