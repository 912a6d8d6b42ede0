"""Python values as UnsafeRows.

Source: ``UnsafeRowWriter``, ``UnsafeArrayWriter`` and ``UnsafeMapData`` of Spark. A row is its null bits, in words of
eight bytes; a word for each field; and the values that do not fit into a word, each padded to whole words. The word of
such a field holds where its value begins, counted from the start of the row, and its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pyspark.sql import types as spark

from keygroups.rows.decimals import unscaled
from keygroups.rows.pickled import PickleType, pickle
from keygroups.rows.scalars import Words, scalar_of, unstorable

Encode: TypeAlias = Callable[[Sequence[Any]], list[bytes]]
"""Gives the bytes of each value, none of which is None."""


def has_none(values: Iterable[Any]) -> bool:
    """Tell whether one of some values is None. Pickled ones, such as arrays of numpy, are not compared with ``==``."""
    return type(None) in map(type, values)


def row_encoder(schema: spark.StructType) -> Encode:
    """Give what encodes rows.

    Args:
        schema: Of the rows.

    Returns:
        A function of rows, each a sequence with a value for each field. It gives an UnsafeRow for each.

    Raises:
        SettingError: A field has a type that state cannot have.
    """
    encode, width = encoder_of_columns(schema), len(schema.fields)
    return lambda rows: encode(list(zip(*rows, strict=True)) if rows else [()] * width, len(rows))


def encoder_of_columns(schema: spark.StructType) -> Callable[[Sequence[Sequence[Any]], int], list[bytes]]:
    """Give what encodes rows whose columns are given: the values of each field, and how many rows there are.

    Raises:
        SettingError: A field has a type that state cannot have.
    """
    fields = [(_field(field.dataType), _reserve(field.dataType)) for field in schema.fields]
    return lambda columns, count: _rows(columns, fields, count)


Field: TypeAlias = Callable[[Sequence[Any]], "Words | list[bytes | None]"]


def _field(kind: spark.DataType) -> Field:
    """What gives a column: words, or the bytes of each value. None stays None, or is 0 as a word."""
    scalar = scalar_of(kind)
    if scalar is None:
        encode = encoder(kind)
        return lambda values: _spread(values, encode)
    pack = scalar.pack

    def words(values: Sequence[Any]) -> Words:
        if not has_none(values):
            return pack(list(values))
        result = np.zeros(len(values), np.int64)
        result[[value is not None for value in values]] = pack([value for value in values if value is not None])
        return result

    return words


def encoder(kind: spark.DataType) -> Encode:
    """Give what encodes values of a type that do not fit into a word."""
    match kind:
        case spark.StringType():
            return _each(str.encode)
        case spark.BinaryType():
            return _each(pickle if isinstance(kind, PickleType) else bytes)
        case spark.DecimalType():
            return _each(_unscaled(kind.scale))
        case spark.StructType():
            return row_encoder(kind)
        case spark.ArrayType():
            return _each(_array(kind.elementType))
        case spark.MapType() | spark.NullType():
            return _each(_map(kind) if isinstance(kind, spark.MapType) else lambda _: b"")
    raise unstorable(kind)


def _each(one: Callable[[Any], bytes]) -> Encode:
    return lambda values: list(map(one, values))


def _spread(values: Sequence[Any], encode: Encode) -> list[bytes | None]:
    if not has_none(values):
        return list(encode(values))
    found = iter(encode([value for value in values if value is not None]))
    return [None if value is None else next(found) for value in values]


def _reserve(kind: spark.DataType) -> int:
    """Bytes that a field of a row takes beside its word, whatever its value."""
    return 16 if isinstance(kind, spark.DecimalType) and scalar_of(kind) is None else 0


def _rows(columns: Sequence[Sequence[Any]], fields: Sequence[tuple[Field, int]], count: int) -> list[bytes]:
    bits = (len(fields) + 63) // 64
    words = np.zeros((count, bits + len(fields)), np.int64)
    ends = np.full(count, words.shape[1] * 8, np.int64)
    tails: list[list[bytes]] = []
    for number, (values, (field, reserve)) in enumerate(zip(columns, fields, strict=True)):
        column = field(values)
        if isinstance(column, list):
            words[:, bits + number] = _places(column, ends, reserve)
            tails.append([_padded(value).ljust(reserve, b"\0") for value in column])
        else:
            words[:, bits + number] = column
        if has_none(values):
            null = np.array([value is None for value in values])
            words[null, number // 64] |= np.int64(np.uint64(1) << np.uint64(number % 64))
    return _joined(words, tails)


def _places(column: list[bytes | None], ends: Words, reserve: int) -> Words:
    """The words of a column, whose values come next in their rows."""
    sizes = np.array([0 if value is None else len(value) for value in column], np.int64)
    has_place = np.array([value is not None for value in column], np.bool_) | (reserve > 0)
    places = has_place * (ends << 32 | sizes)
    ends += np.maximum((sizes + 7) // 8 * 8, reserve)
    return places


def _joined(words: Words, tails: list[list[bytes]]) -> list[bytes]:
    width = words.shape[1] * 8
    data = words.tobytes()
    heads = [data[at : at + width] for at in range(0, len(data), width or 1)] or [b""] * len(words)
    if not tails:
        return heads
    if len(tails) == 1:
        return list(map(bytes.__add__, heads, tails[0]))
    return [b"".join(parts) for parts in zip(heads, *tails, strict=True)]


def _padded(value: bytes | None) -> bytes:
    return b"" if value is None else value + bytes(-len(value) % 8)


def _array(kind: spark.DataType) -> Callable[[Iterable[Any]], bytes]:
    """What encodes an array: its length, its null bits, its elements, and what does not fit there."""
    scalar, field = scalar_of(kind), _field(kind)
    size = 8 if scalar is None else scalar.size

    def encode(given: Iterable[Any]) -> bytes:
        values = list(given)
        bits = (len(values) + 63) // 64 * 8
        null = np.zeros(bits, np.uint8)
        packed = np.packbits(np.array([value is None for value in values], np.bool_), bitorder="little")
        null[: len(packed)] = packed
        head = len(values).to_bytes(8, "little") + null.tobytes()
        column = field(values)
        if not isinstance(column, list):
            elements = column.astype("<i8").view(np.uint8).reshape(len(values), 8)[:, :size].tobytes()
            return head + _padded(elements)
        places = _places_in_array(column, len(head) + 8 * len(values))
        return head + places.tobytes() + b"".join(map(_padded, column))

    return encode


def _places_in_array(column: list[bytes | None], start: int) -> npt.NDArray[np.int64]:
    sizes = np.array([0 if value is None else len(value) for value in column], np.int64)
    padded = (sizes + 7) // 8 * 8
    starts = start + np.cumsum(padded) - padded
    return np.array([value is not None for value in column], np.bool_) * (starts << 32 | sizes)


def _map(kind: spark.MapType) -> Callable[[Mapping[Any, Any]], bytes]:
    """What encodes a map: how long its keys are, then keys and values, each an array."""
    keys_of, values_of = _array(kind.keyType), _array(kind.valueType)

    def encode(entries: Mapping[Any, Any]) -> bytes:
        keys = keys_of(entries)
        return len(keys).to_bytes(8, "little") + keys + values_of(entries.values())

    return encode


def _unscaled(scale: int) -> Callable[[Decimal], bytes]:
    def encode(value: Decimal) -> bytes:
        number = unscaled(value, scale)
        length = (number + (number < 0)).bit_length() // 8 + 1
        return number.to_bytes(length, "big", signed=True)

    return encode
