"""UnsafeRows as Python values: the inverse of ``keygroups.rows.encode``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pyspark.sql import types as spark

from keygroups.rows.decimals import scaled
from keygroups.rows.pickled import PickleType, unpickle
from keygroups.rows.scalars import Words, scalar_of, unstorable

Decode: TypeAlias = Callable[["Bytes"], list[Any]]
"""Gives the values that lie at some places."""


class Bytes:
    """Values that lie in one memory, one after another or not.

    Args:
        data: The memory; values begin at whole words of it.
        starts: int64[n], where each value begins.
        sizes: int64[n], how many bytes it has.
    """

    __slots__ = ("data", "sizes", "starts", "words")

    def __init__(self, data: memoryview, starts: Words, sizes: Words) -> None:
        """See the class."""
        self.data, self.starts, self.sizes = data, starts, sizes
        self.words: Words = np.frombuffer(data, np.int64, len(data) // 8)

    def at(self, starts: Words, sizes: Words) -> Bytes:
        """Give other values of the same memory."""
        return Bytes(self.data, starts, sizes)

    def pieces(self) -> list[memoryview]:
        """Give each value's memory."""
        data, ends = self.data, self.starts + self.sizes
        return [data[start:end] for start, end in zip(self.starts.tolist(), ends.tolist(), strict=True)]


def row_decoder(schema: spark.StructType) -> Callable[[Bytes], list[list[Any]]]:
    """Give what decodes UnsafeRows to columns: a list of values for each field.

    Raises:
        SettingError: A field has a type that state cannot have.
    """
    fields = [_field(field.dataType) for field in schema.fields]
    bits = (len(fields) + 63) // 64

    def decode(rows: Bytes) -> list[list[Any]]:
        first = rows.starts >> 3
        columns = []
        for number, field in enumerate(fields):
            null = (rows.words[first + number // 64] >> np.int64(number % 64) & 1).astype(np.bool_)
            columns.append(_with_nulls(rows, rows.words[first + bits + number], null, field))
        return columns

    return decode


Field: TypeAlias = Callable[[Bytes, Words, Words], list[Any]]
"""Gives the values of fields from their words; the last argument is where the rows of those words begin."""


def _with_nulls(rows: Bytes, words: Words, null: npt.NDArray[np.bool_], field: Field) -> list[Any]:
    if not null.any():
        return field(rows, words, rows.starts)
    result: list[Any] = [None] * len(null)
    at = np.flatnonzero(~null)
    for i, value in zip(at.tolist(), field(rows, words[at], rows.starts[at]), strict=True):
        result[i] = value
    return result


def _field(kind: spark.DataType) -> Field:
    scalar = scalar_of(kind)
    if scalar is not None:
        unpack = scalar.unpack
        return lambda _rows, words, _starts: unpack(words)
    decode = decoder(kind)
    return lambda rows, words, starts: decode(rows.at(starts + (words >> 32), words & 0xFFFFFFFF))


def decoder(kind: spark.DataType) -> Decode:
    """Give what decodes values of a type that do not fit into a word."""
    match kind:
        case spark.StringType():
            return lambda places: [str(piece, "utf-8") for piece in places.pieces()]
        case spark.BinaryType():
            made = unpickle if isinstance(kind, PickleType) else bytes
            return lambda places: [made(piece) for piece in places.pieces()]
        case spark.DecimalType():
            return lambda places: [
                scaled(int.from_bytes(piece, "big", signed=True), kind.scale) for piece in places.pieces()
            ]
        case spark.StructType():
            return _struct(kind)
        case spark.ArrayType() | spark.MapType():
            return _each(_array(kind.elementType) if isinstance(kind, spark.ArrayType) else _map(kind))
        case spark.NullType():
            return lambda places: [None] * len(places.starts)
    raise unstorable(kind)


def _struct(kind: spark.StructType) -> Decode:
    decode, make = row_decoder(kind), spark.Row(*kind.names)
    if not kind.fields:
        return lambda places: [make() for _ in places.starts]
    return lambda places: [make(*values) for values in zip(*decode(places), strict=True)]


One: TypeAlias = Callable[[Bytes, int, int], Any]
"""Gives the value at a place of some length."""


def _each(one: One) -> Decode:
    return lambda places: [
        one(places, start, size) for start, size in zip(places.starts.tolist(), places.sizes.tolist(), strict=True)
    ]


def _array(kind: spark.DataType) -> One:
    scalar, field = scalar_of(kind), _field(kind)
    size = 8 if scalar is None else scalar.size

    def decode(places: Bytes, start: int, _size: int) -> list[Any]:
        count = int(places.words[start >> 3])
        bits = (count + 63) // 64 * 8
        bitmap = np.frombuffer(places.data, np.uint8, bits, start + 8)
        null = np.unpackbits(bitmap, count=count, bitorder="little").astype(np.bool_)
        elements = np.frombuffer(places.data, f"<i{size}", count, start + 8 + bits).astype(np.int64)
        begin = np.full(count, start, np.int64)
        return _with_nulls(places.at(begin, begin), elements, null, field)

    return decode


def _map(kind: spark.MapType) -> One:
    keys, values = _array(kind.keyType), _array(kind.valueType)

    def decode(places: Bytes, start: int, size: int) -> dict[Any, Any]:
        length = int(places.words[start >> 3])
        names = keys(places, start + 8, length)
        return dict(zip(names, values(places, start + 8 + length, size - 8 - length), strict=True))

    return decode


def bytes_of(values: Sequence[bytes]) -> Bytes:
    """Give encoded values as places in a memory of their own."""
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    return Bytes(memoryview(b"".join(values)), np.cumsum(sizes) - sizes, sizes)
