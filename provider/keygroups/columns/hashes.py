"""xxh64 of many keys at once, with seed 0, as every xxHash library computes it. Keys are multiples of 8 bytes long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import xxhash

from keygroups.columns.slots import WORD, Words, placed

_SHORT: Final = 3
"""Words, less than the algorithm's stripe. Keys of 16 bytes take 26 ns each here and 67 in the library, of 24 bytes 36
and 74; longer ones, above all those of many lengths, are faster there."""
_FEW: Final = 32
"""Keys up to which the library is faster at any length: it takes 1 us each, and column operations 70 us or more."""
_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


def xxh64(keys: pa.Array) -> Words:
    """Hash keys.

    Args:
        keys: binary or fixed_size_binary[n], without nulls.

    Raises:
        ValueError: a key is not a multiple of 8 bytes long.
    """
    where = placed(keys)
    if len(keys) <= _FEW or (where.width or int(where.sizes.max())) > _SHORT:
        return np.fromiter(map(xxhash.xxh64_intdigest, keys.to_pylist()), np.uint64, len(keys))
    if where.width:
        return _short([where.word(number) for number in range(where.width)], len(keys))
    result = np.empty(len(keys), np.uint64)
    for width in range(_SHORT + 1):
        rows = np.flatnonzero(where.sizes == width)
        starts = where.starts[rows]
        result[rows] = _short([where.words[starts + number] for number in range(width)], len(rows))
    return result


def _short(words: Sequence[Words], count: int) -> Words:
    """Hash keys of these words."""
    found = np.full(count, _P5 + np.uint64(len(words) * WORD))
    for word in words:
        found = _turned(found ^ _turned(word * _P2, 31) * _P1, 27) * _P1 + _P4
    found = (found ^ found >> np.uint64(33)) * _P2
    found = (found ^ found >> np.uint64(29)) * _P3
    return found ^ found >> np.uint64(32)


def _turned(value: Words, bits: int) -> Words:
    return value << np.uint64(bits) | value >> np.uint64(64 - bits)
