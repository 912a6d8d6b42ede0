"""The order of rows that share a locator: the entries of one scan prefix, timers of half a second, or collisions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keygroups.segment.arrays import Mask, Rows, arrow, numpy

Words = npt.NDArray[np.uint64]

_WORD: Final = 8
_WIDEST: Final = 64
"""Bytes of keys up to which a merging sort is tried."""


def order_of_ties(first: Mask, key: pa.Array) -> Rows:
    """Order rows by tie, then by key; rows of one key stay in their order.

    Rows of a merge are a few sorted runs, which numpy's stable sort merges. So keys of one length become numbers, or
    texts of a few words: of 16 bytes behind the prefix, with counters or random numbers that takes 25 to 90 ns a row,
    and Arrow's sort 110 to 160. With letters, all of which differ, both take about 100.

    Args:
        first: bool[n], whether a row begins a tie.
        key: binary or fixed_size_binary[n].

    Returns:
        The permutation that sorts the rows.
    """
    words = _words(key)
    if words is None:
        ties, ages = arrow(np.cumsum(first)), arrow(np.arange(len(key)))
        table = pa.table({"tie": ties, "key": key.cast(pa.binary()), "age": ages})
        by = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names])
        return numpy(by).view(np.int64)
    packed = list(_packed(first, words))
    if len(packed) == 1:
        return np.argsort(packed[0], kind="stable")
    texts = np.empty((len(key), len(packed)), ">u8")
    for number in reversed(range(len(packed))):
        texts[:, number] = packed.pop()
    return np.argsort(texts.view(f"S{texts.shape[1] * _WORD}").ravel(), kind="stable")


def _words(key: pa.Array) -> Words | None:
    """Words of keys that compare as their bytes do; None if the keys are long, or differ in their lengths."""
    if pa.types.is_fixed_size_binary(key.type):
        width = key.type.byte_width
        start = key.offset * width
    else:
        offsets = np.frombuffer(key.buffers()[1], np.int32, len(key) + 1, key.offset * 4)
        start, width = int(offsets[0]), int(offsets[1] - offsets[0])
        if not (np.diff(offsets) == width).all():
            return None
    if width == 0 or width % _WORD or width > _WIDEST:
        return None
    count = len(key) * width // _WORD
    return np.frombuffer(key.buffers()[-1], ">u8", count, start).reshape(len(key), width // _WORD)


def _packed(first: Mask, words: Words) -> Iterator[Words]:
    """Numbers of ties and keys in as few words as hold them, without the bits in which the keys of no tie differ."""
    packed = np.cumsum(first).astype(np.uint64)
    bits = int(packed[-1]).bit_length()
    for column in words.T:
        word = column.astype(np.uint64)
        changes = word[1:] ^ word[:-1]
        changes[first[1:]] = 0
        differing = int(np.bitwise_or.reduce(changes))
        if not differing:
            continue
        lowest = (differing & -differing).bit_length() - 1
        width = differing.bit_length() - lowest
        word = word >> np.uint64(lowest) & np.uint64((1 << width) - 1)
        if bits + width > 64:
            yield packed
            packed, bits = word, width
        else:
            packed = packed << np.uint64(width) | word
            bits += width
    yield packed
