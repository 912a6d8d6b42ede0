"""xxh64 of many keys at once, with seed 0, as every xxHash library computes it. Keys are multiples of 8 bytes long."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from keygroups.columns.slots import WORD, Placed, Words, placed

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
    if where.width or not len(keys):
        return _hashed(where, where.width, np.arange(len(keys)))
    result = np.empty(len(keys), np.uint64)
    for width in np.unique(where.sizes).tolist():
        rows = np.flatnonzero(where.sizes == width)
        result[rows] = _hashed(where, width, rows)
    return result


def _hashed(where: Placed, width: int, rows: np.ndarray) -> Words:
    """Hash rows that all have this number of words."""
    starts = where.starts[rows]

    def word(number: int) -> Words:
        return where.word(number) if where.width else where.words[starts + number]

    stripes = width // 4
    if stripes:
        lanes = [np.full(len(rows), seed) for seed in _seeds()]
        for number in range(4 * stripes):
            lanes[number % 4] = _round(lanes[number % 4], word(number))
        found = np.zeros(len(rows), np.uint64)
        for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True):
            found = found + _turned(lane, turn)
        for lane in lanes:
            found = (found ^ _round(np.uint64(0), lane)) * _P1 + _P4
    else:
        found = np.full(len(rows), _P5)
    found = found + np.uint64(width * WORD)
    for number in range(4 * stripes, width):
        found = _turned(found ^ _round(np.uint64(0), word(number)), 27) * _P1 + _P4
    found = (found ^ found >> np.uint64(33)) * _P2
    found = (found ^ found >> np.uint64(29)) * _P3
    return found ^ found >> np.uint64(32)


def _seeds() -> tuple[np.uint64, ...]:
    with np.errstate(over="ignore"):
        return _P1 + _P2, _P2, np.uint64(0), np.uint64(0) - _P1


def _round(lane: Words | np.uint64, word: Words) -> Words:
    return _turned(lane + word * _P2, 31) * _P1


def _turned(value: Words, bits: int) -> Words:
    return value << np.uint64(bits) | value >> np.uint64(64 - bits)
