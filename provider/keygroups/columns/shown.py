"""The values of a field as an Arrow array of its own type, and back."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from keygroups.columns.kinds import Kind
from keygroups.columns.slots import Bools, Slot
from keygroups.segment.arrays import mask

_DECIMAL_BYTES: Final = 16


def show(slot: Slot, kind: Kind) -> pa.Array:
    """The values as ``kind.shown``; texts that are not UTF-8 as binary.

    Raises:
        ValueError: a decimal has more digits than its type, or a time lies outside of a day. Rows may hold such
            values; readers of files refuse them.
    """
    values = _shown(slot, kind)
    if pa.types.is_decimal(kind.shown) or pa.types.is_time(kind.shown):
        values.validate(full=True)
    return values


def _shown(slot: Slot, kind: Kind) -> pa.Array:
    validity, nulls = _validity(slot.valid)
    count = len(slot.words)
    if slot.data is not None and kind.is_wide:
        return pa.Array.from_buffers(kind.shown, count, [validity, _wide(slot.data)], nulls)
    if slot.data is not None:
        whole = pa.Array.from_buffers(pa.binary(), count, [validity, *slot.data.buffers()[1:]], nulls)
        return _as_text(whole) if pa.types.is_string(kind.shown) else whole
    if pa.types.is_null(kind.shown):
        return pa.nulls(count)
    if pa.types.is_boolean(kind.shown):
        data = np.packbits(slot.words != 0, bitorder="little")
    elif pa.types.is_decimal(kind.shown):
        low = np.ascontiguousarray(slot.words).view(np.int64)
        data = np.stack([low, low >> 63], axis=1)
    else:
        data = np.ascontiguousarray(slot.words.astype(kind.number, copy=False))
    return pa.Array.from_buffers(kind.shown, count, [validity, pa.py_buffer(data)], nulls)


def hide(values: pa.Array, kind: Kind) -> Slot:
    """The inverse of ``show``."""
    count = len(values)
    valid = mask(values.is_valid()) if values.null_count else None
    zeros = np.zeros(count, np.uint64)
    if kind.number is None:
        if valid is not None:
            values = values.fill_null(0 if kind.is_wide else b"" if pa.types.is_binary(values.type) else "")
        data = _narrow(values, valid) if kind.is_wide else _as_binary(values)
        return Slot(valid, zeros, data)
    if pa.types.is_null(values.type):
        return Slot(valid, zeros)
    if pa.types.is_boolean(values.type):
        words = np.unpackbits(
            np.frombuffer(values.buffers()[1], np.uint8), count=values.offset + count, bitorder="little"
        )[values.offset :].astype(np.uint64)
    elif pa.types.is_decimal(values.type):
        pairs = np.frombuffer(values.buffers()[1], np.uint64, 2 * count, values.offset * _DECIMAL_BYTES)
        words = pairs[0::2]
    else:
        number = np.dtype(kind.number)
        words = np.frombuffer(values.buffers()[1], number, count, values.offset * number.itemsize).astype(
            np.uint64, copy=False
        )
    return Slot(valid, words if valid is None else np.where(valid, words, np.uint64(0)))


def _validity(valid: Bools | None) -> tuple[pa.Buffer | None, int]:
    if valid is None:
        return None, 0
    return pa.py_buffer(np.packbits(valid, bitorder="little")), int(len(valid) - valid.sum())


def _as_text(values: pa.BinaryArray) -> pa.Array:
    """A string of Spark may hold any bytes."""
    try:
        return values.cast(pa.utf8())
    except pa.ArrowInvalid:
        return values


def _as_binary(values: pa.Array) -> pa.BinaryArray:
    return values if pa.types.is_binary(values.type) else values.cast(pa.binary())


def _wide(data: pa.BinaryArray) -> pa.Buffer:
    """Numbers of at most 16 bytes, big-endian, as Arrow's decimals have them: 16 bytes, little-endian."""
    count = len(data)
    bounds = np.frombuffer(data.buffers()[1], np.int32, count + 1, data.offset * 4).astype(np.int64)
    sizes = np.diff(bounds)
    if count and int(sizes.max()) > _DECIMAL_BYTES:
        raise ValueError(f"a decimal of {int(sizes.max())} bytes")
    source = np.frombuffer(data.buffers()[2] or b"\0", np.uint8)
    result = np.zeros((count, _DECIMAL_BYTES), np.uint8)
    for number in range(_DECIMAL_BYTES):
        rows = np.flatnonzero(sizes > number)
        result[rows, number] = source[bounds[1:][rows] - 1 - number]
    negative = np.flatnonzero((sizes > 0) & (source[np.minimum(bounds[:-1], len(source) - 1)] > 127))
    above = np.arange(_DECIMAL_BYTES) >= sizes[negative][:, None]
    result[negative] |= above.astype(np.uint8) * np.uint8(255)
    return pa.py_buffer(result)


def _narrow(values: pa.Array, valid: Bools | None) -> pa.BinaryArray:
    """The inverse of ``_wide``: the fewest bytes that hold a number and its sign, as Java's BigInteger gives them."""
    count = len(values)
    raw = np.frombuffer(values.buffers()[1], np.uint8, count * _DECIMAL_BYTES, values.offset * _DECIMAL_BYTES)
    little = raw.reshape(count, _DECIMAL_BYTES)
    sign = np.where(little[:, -1] > 127, np.uint8(255), np.uint8(0))
    differs = little != sign[:, None]
    top = np.where(differs.any(axis=1), _DECIMAL_BYTES - np.argmax(differs[:, ::-1], axis=1), 1)
    highest = little[np.arange(count), top - 1]
    sizes = np.minimum(top + ((highest > 127) != (sign > 127)), _DECIMAL_BYTES)
    if valid is not None:
        sizes = np.where(valid, sizes, 0)
    bounds = np.zeros(count + 1, np.int32)
    np.cumsum(sizes, out=bounds[1:])
    kept = np.arange(_DECIMAL_BYTES)[::-1] < sizes[:, None]
    data = np.ascontiguousarray(little[:, ::-1])[kept]
    return pa.BinaryArray.from_buffers(pa.binary(), count, [None, pa.py_buffer(bounds), pa.py_buffer(data)])
