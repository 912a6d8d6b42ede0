"""Columns as bytes that sort as the columns do: the beginning of keys in range order.

Of each column a marker byte (0 negative, 1 not negative, 2 null), then the value, big-endian, with all bits of a
negative floating-point number inverted; at the end zeros up to a multiple of 8 bytes. Source: Spark's
``RangeKeyScanStateEncoder``, and ``OrderEncoding`` of the shim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.columns.kinds import Fields, Kind
from keygroups.columns.slots import WORD, Slot

_NULL: Final = 2


def width_of(kinds: Sequence[Kind]) -> int:
    """Bytes of the encoding of columns of these kinds, which are numbers."""
    used = sum(1 + _size(kind) for kind in kinds)
    return -(-used // WORD) * WORD


def encoded(slots: Sequence[Slot], fields: Fields, ordinals: Sequence[int]) -> npt.NDArray[np.uint8]:
    """The encoding of some columns of rows: uint8[n, width]."""
    kinds = [fields[ordinal].kind for ordinal in ordinals]
    count = len(slots[ordinals[0]].words)
    result = np.zeros((count, width_of(kinds)), np.uint8)
    at = 0
    for ordinal, kind in zip(ordinals, kinds, strict=True):
        size = _size(kind)
        result[:, at : at + 1 + size] = _column(slots[ordinal], kind, size)
        at += 1 + size
    return result


def _column(slot: Slot, kind: Kind, size: int) -> npt.NDArray[np.uint8]:
    words = np.ascontiguousarray(slot.words)
    negative = words >> np.uint64(8 * size - 1) & np.uint64(1) != 0
    if pa.types.is_floating(kind.shown):
        words = np.where(negative, ~words, words)
    result = np.empty((len(words), 1 + size), np.uint8)
    result[:, 0] = ~negative
    result[:, 1:] = words.astype(">u8").view(np.uint8).reshape(-1, WORD)[:, WORD - size :]
    if slot.valid is not None:
        result[~slot.valid] = 0
        result[~slot.valid, 0] = _NULL
    return result


def _size(kind: Kind) -> int:
    if kind.number is None:
        raise ValueError(f"keys are not in the order of a column of {kind.shown}")
    return np.dtype(kind.number).itemsize
