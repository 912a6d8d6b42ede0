"""UnsafeRows taken apart into their fields, and put together again, without a Python call per row.

Source: ``UnsafeRow`` and ``UnsafeRowWriter`` of Spark. A row has 8 bytes of null bits for each 64 fields, a word of 8
bytes for each field, and behind these the values that do not fit into a word, in the order of their fields, each filled
up with zeros to a multiple of 8 bytes. The word of such a value is ``place << 32 | size``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.columns.kinds import WIDE_BYTES, Fields
from keygroups.segment.arrays import arrow

Words = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

WORD: Final = 8
MAX_BYTES: Final = 2**31 - 1
"""Of rows in one memory: their offsets have 32 bits."""
MAX_HEAD_BYTES: Final = 64 << 20
"""Of null bits and words of rows that are put together at once. In a file, columns of booleans or nulls take 1/64 of
that or less; writers convert 16 MiB of rows at a time."""
_PADS: Final = pa.array([bytes(size) for size in range(WIDE_BYTES + 1)], pa.binary())


@dataclass(frozen=True)
class Slot:
    """One field of ``n`` rows.

    Attributes:
        valid: bool[n], None if no value is null.
        words: uint64[n], 0 where a value is null; of a field whose values do not fit into a word they are not used.
        data: binary[n], the values that do not fit into a word, empty where null; None for a field of numbers.
    """

    valid: Bools | None
    words: Words
    data: pa.BinaryArray | None = None


@dataclass(frozen=True)
class Placed:
    """Rows that lie one after another in one memory.

    Attributes:
        data: the memory, as bytes of an Arrow array.
        words: the same in words.
        count: number of rows.
        first: where the first row begins, in words.
        width: words of each row if all have the same, else 0.
        bounds: int64[count + 1], where each row begins and the last one ends, in words; None if ``width`` says it.
    """

    data: pa.Buffer
    words: Words
    count: int
    first: int
    width: int
    bounds: Numbers | None

    @cached_property
    def starts(self) -> Numbers:
        """int64[count], where each row begins, in words."""
        if self.bounds is None:
            return np.arange(self.first, self.first + self.count * self.width, self.width or 1, dtype=np.int64)
        return self.bounds[:-1]

    @cached_property
    def sizes(self) -> Numbers:
        """int64[count], words of each row."""
        return np.full(self.count, self.width) if self.bounds is None else np.diff(self.bounds)

    @property
    def least(self) -> int:
        """Words of the shortest row, if there are rows."""
        return self.width or int(self.sizes.min())

    def word(self, number: int) -> Words:
        """A word of each row, all of which have it."""
        if self.width:
            return self.words[self.first :][: self.count * self.width].reshape(-1, self.width)[:, number]
        return self.words[self.starts + number]


def placed(rows: pa.Array) -> Placed:
    """Where rows lie.

    Args:
        rows: binary or fixed_size_binary[n], without nulls.

    Raises:
        ValueError: a row is not a multiple of 8 bytes long, or the rows take too many bytes.
    """
    data = rows.buffers()[-1] or pa.py_buffer(b"")
    words = np.frombuffer(data, np.uint64, data.size // WORD)
    if pa.types.is_fixed_size_binary(rows.type):
        width, bounds = int(rows.type.byte_width), None
        first, last = rows.offset * width, (rows.offset + len(rows)) * width
        uneven = width % WORD > 0 and len(rows) > 0
    else:
        bounds = np.frombuffer(rows.buffers()[1], np.int32, len(rows) + 1, rows.offset * 4).astype(np.int64)
        sizes = np.diff(bounds)
        width = int(sizes[0]) if len(sizes) and bool((sizes == sizes[0]).all()) else 0
        first, last, uneven = int(bounds[0]), int(bounds[-1]), bool((bounds & (WORD - 1)).any())
    if uneven or first % WORD:
        raise ValueError("a row whose length is not a multiple of 8")
    if last > MAX_BYTES:
        raise ValueError(f"{len(rows)} rows that end at byte {last}")
    return Placed(data, words, len(rows), first // WORD, width // WORD, None if bounds is None else bounds >> 3)


def null_words(fields: Fields) -> int:
    """Words of the null bits."""
    return (len(fields) + 63) // 64


def head_words(fields: Fields) -> int:
    """Words of the null bits and of one word for each field: no row is shorter."""
    return null_words(fields) + len(fields)


def split(rows: pa.Array, fields: Fields) -> list[Slot]:
    """Take rows apart.

    Args:
        rows: binary or fixed_size_binary[n], without nulls.
        fields: of each row.

    Raises:
        ValueError: a row is too short, or a value lies outside of its row.
    """
    where = placed(rows)
    if len(rows) and where.least < head_words(fields):
        raise ValueError(f"a row of {where.least * WORD} bytes, shorter than its {len(fields)} fields")
    masks = [where.word(number) for number in range(null_words(fields))]
    slots = []
    for number, field in enumerate(fields):
        mask = masks[number // 64]
        valid = (mask >> np.uint64(number % 64) & np.uint64(1)) == 0 if mask.any() else None
        valid = None if valid is None or bool(valid.all()) else valid
        word = where.word(null_words(fields) + number)
        if field.kind.number is None:
            slots.append(Slot(valid, word, _values(where, word, valid)))
        else:
            slots.append(Slot(valid, word if valid is None else np.where(valid, word, np.uint64(0))))
    return slots


def join(count: int, fields: Fields, slots: Sequence[Slot]) -> pa.Array:
    """Put rows together: the inverse of ``split``, for rows as Spark writes them.

    Returns:
        fixed_size_binary[count] if all rows have the same length, else binary[count].

    Raises:
        ValueError: the rows take too many bytes.
    """
    bits, head = null_words(fields), head_words(fields)
    if count * head * WORD > MAX_HEAD_BYTES:
        raise ValueError(f"{count} rows of {len(fields)} columns are too many for one block")
    heads = np.zeros((count, head), np.uint64)
    ends = np.full(count, head * WORD, np.uint64)
    parts: list[pa.BinaryArray] = []
    pads: list[Numbers] = []
    for number, (field, slot) in enumerate(zip(fields, slots, strict=True)):
        if slot.valid is not None:
            heads[~slot.valid, number // 64] |= np.uint64(1 << number % 64)
        if slot.data is None:
            heads[:, bits + number] = slot.words
            continue
        sizes = _lengths(slot.data)
        kept = np.full(count, WIDE_BYTES) if field.kind.is_wide else (sizes + WORD - 1) & -WORD
        word = ends << np.uint64(32) | sizes.view(np.uint64)
        if slot.valid is not None and not field.kind.is_wide:  # a wide value keeps its place while it is null
            word = np.where(slot.valid, word, np.uint64(0))
        heads[:, bits + number] = word
        ends += kept.view(np.uint64)
        parts.append(slot.data)
        pads.append(kept - sizes)
    if not parts:
        return _fixed(pa.py_buffer(heads), count, head * WORD)
    return _joined(heads, parts, pads)


def inner(rows: pa.Array, skipped: int, left_out: int) -> pa.Array:
    """Rows without some bytes at their beginning and their end. Raises ValueError if one is shorter."""
    where = placed(rows)
    starts, sizes = where.starts * WORD + skipped, where.sizes * WORD - skipped - left_out
    if len(rows) and int(sizes.min()) < 0:
        raise ValueError(f"a row of {where.least * WORD} bytes")
    return _narrowed(_every_other(where.data, starts, sizes))


def beside(rows: pa.Array, words: Words, *, after: bool) -> pa.Array:
    """Rows with some words, uint64[n, m], before or after each. Raises as ``join``."""
    order = np.arange(2 * len(rows), dtype=np.int64).reshape(2, -1).T
    both = [rows.cast(pa.binary()), _binary(words)]
    return _narrowed(_paired(pa.concat_arrays(both if after else both[::-1]), order))


def values_at(where: Placed, place: Numbers, sizes: Numbers) -> pa.BinaryArray:
    """The bytes at places in the rows, int64[n], all within their rows."""
    return _every_other(where.data, where.starts * WORD + place, sizes)


def _values(where: Placed, word: Words, valid: Bools | None) -> pa.BinaryArray:
    """The values that lie behind the words of rows."""
    place, size = (word >> np.uint64(32)).view(np.int64), (word & np.uint64(0xFFFFFFFF))
    sizes = size.view(np.int64)
    if valid is not None:
        place, sizes = np.where(valid, place, 0), np.where(valid, sizes, 0)
    if (place + sizes > where.sizes * WORD).any():
        raise ValueError("a value points outside its row")
    return values_at(where, place, sizes)


def _every_other(data: pa.Buffer, starts: Numbers, sizes: Numbers) -> pa.BinaryArray:
    """The bytes at some places, which ascend and do not overlap.

    They and what lies between them are taken for a binary array, of which every other element is wanted.
    """
    count = len(starts)
    if not count:
        return pa.array([], pa.binary())
    edges = np.empty(2 * count, np.int32)
    edges[0::2] = starts
    edges[1::2] = starts + sizes
    whole = pa.BinaryArray.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(edges), data])
    return whole.take(arrow(np.arange(0, 2 * count, 2)))


def _paired(parts: pa.BinaryArray, order: Numbers) -> pa.BinaryArray:
    """Binary[n] whose values consist of some others: those of a row of ``order``, int64[n, m]."""
    taken = parts.take(arrow(order.reshape(-1)))
    _, offsets, data = taken.buffers()
    ends = np.frombuffer(offsets, np.int32, len(taken) + 1)[:: order.shape[1]]
    return pa.BinaryArray.from_buffers(
        pa.binary(), len(order), [None, pa.py_buffer(np.ascontiguousarray(ends)), data or pa.py_buffer(b"")]
    )


def _narrowed(rows: pa.BinaryArray) -> pa.Array:
    """The rows as fixed_size_binary if all have the same length."""
    sizes = _lengths(rows)
    if len(rows) and int(sizes[0]) and bool((sizes == sizes[0]).all()):
        return _fixed(rows.buffers()[2], len(rows), int(sizes[0]))
    return rows


def _joined(heads: Words, parts: Sequence[pa.BinaryArray], pads: Sequence[Numbers]) -> pa.Array:
    """Rows of their heads, and of values of which each is followed by zeros."""
    count = len(heads)
    each = np.arange(count, dtype=np.int64)
    values = [_binary(heads)]
    order = np.empty((count, 1 + 2 * len(parts)), np.int64)
    order[:, 0] = each
    for number, (part, pad) in enumerate(zip(parts, pads, strict=True)):
        values.append(part)
        order[:, 1 + 2 * number] = each + (1 + number) * count
        order[:, 2 + 2 * number] = pad + (1 + len(parts)) * count
    return _narrowed(_paired(pa.concat_arrays([*values, _PADS]), order))


def _binary(words: Words) -> pa.BinaryArray:
    """Binary[n] of uint64[n, m]."""
    count, width = words.shape
    if count * width * WORD > MAX_BYTES:
        raise ValueError(f"{count} rows of {width} words")
    bounds = (np.arange(count + 1, dtype=np.int64) * width * WORD).astype(np.int32)
    data = pa.py_buffer(np.ascontiguousarray(words))
    return pa.BinaryArray.from_buffers(pa.binary(), count, [None, pa.py_buffer(bounds), data])


def _fixed(data: pa.Buffer, count: int, width: int) -> pa.Array:
    if not width:  # Arrow has no such type of width 0
        return pa.array([b""] * count, pa.binary())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), count, [None, data])


def _lengths(values: pa.BinaryArray) -> Numbers:
    bounds = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, values.offset * 4)
    return np.diff(bounds).astype(np.int64)
