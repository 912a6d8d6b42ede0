"""UnsafeRows as Arrow columns, and back, without a Python call per row where all columns are scalars or texts.

The form of a row is in ``keygroups.rows.encode``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark

from keygroups.rows.decode import Bytes, row_decoder
from keygroups.rows.encode import row_encoder
from keygroups.rows.scalars import Words
from keygroups.segment.arrays import mask, numpy
from keygroups.state.arrays import array_maker
from keygroups.state.arrow import values_of
from keygroups.state.rules import arrow_type

WORD: Final = 8
PIECE_BYTES: Final = 1 << 20
_WORDS: Final[dict[type[spark.DataType], str]] = {
    spark.ByteType: "i1",
    spark.ShortType: "i2",
    spark.IntegerType: "i4",
    spark.LongType: "i8",
    spark.FloatType: "u4",
    spark.DoubleType: "i8",
    spark.DateType: "i4",
    spark.TimestampType: "i8",
    spark.TimestampNTZType: "i8",
    spark.DayTimeIntervalType: "i8",
}
"""The numbers that lie in the low bytes of words. Those of floating point are its bits."""
_FLAT: Final = (*_WORDS, spark.BooleanType, spark.StringType, spark.BinaryType)


@dataclass(frozen=True)
class Packed:
    """Rows one after another.

    Attributes:
        words: int64[m], their bytes.
        sizes: int64[n], words of each row.
    """

    words: Words
    sizes: Words

    @property
    def starts(self) -> Words:
        """Where each row begins, in words."""
        starts: Words = np.cumsum(self.sizes) - self.sizes
        return starts

    def with_lengths(self) -> Packed:
        """Give each row with its length in bytes before it: the items of a list."""
        result = np.empty(len(self.words) + len(self.sizes), np.int64)
        starts = self.starts + np.arange(len(self.sizes))
        result[starts] = self.sizes * WORD
        is_row = np.ones(len(result), np.bool_)
        is_row[starts] = False
        result[is_row] = self.words
        return Packed(result, self.sizes + 1)


Decode: TypeAlias = Callable[[Bytes], list[pa.Array]]
Encode: TypeAlias = Callable[[Sequence[pa.Array]], Packed]


def column_decoder(schema: spark.StructType) -> Decode:
    """Give what turns rows into an array for each field."""
    kinds = [field.dataType for field in schema.fields]
    if not all(type(kind) in _FLAT for kind in kinds):
        return _decoder_by_values(schema)
    bits = (len(kinds) + 63) // 64

    def decode(rows: Bytes) -> list[pa.Array]:
        first = rows.starts >> 3
        columns = []
        for number, kind in enumerate(kinds):
            valid = (rows.words[first + number // 64] >> np.int64(number % 64) & 1) == 0
            columns.append(_column(kind, rows, rows.words[first + bits + number], valid))
        return columns

    return decode


def column_encoder(schema: spark.StructType) -> Encode:
    """Give what turns arrays, of the Arrow types of the fields, into rows."""
    kinds = [field.dataType for field in schema.fields]
    if not all(type(kind) in _FLAT for kind in kinds):
        return _encoder_by_values(schema)
    bits = (len(kinds) + 63) // 64

    def encode(columns: Sequence[pa.Array]) -> Packed:
        count = len(columns[0])
        heads = np.zeros((count, bits + len(kinds)), np.int64)
        ends = np.full(count, heads.shape[1] * WORD, np.int64)
        texts: list[Texts] = []
        for number, (kind, column) in enumerate(zip(kinds, columns, strict=True)):
            valid = mask(column.is_valid())
            heads[~valid, number // 64] |= np.int64(np.uint64(1) << np.uint64(number % 64))
            if isinstance(kind, spark.StringType | spark.BinaryType):
                text = _texts(column, valid, ends)
                heads[:, bits + number] = valid * (ends << 32 | text.sizes)
                texts.append(text)
                ends = ends + (text.sizes + 7) // WORD * WORD
            else:
                heads[:, bits + number] = valid * _words(kind, column)
        return _joined(heads, ends, texts)

    return encode


@dataclass(frozen=True)
class Texts:
    """The values of a column of texts.

    Attributes:
        places: int64[n], where in its row each begins.
        starts: int64[n], where it begins in the bytes.
        sizes: int64[n], bytes of each.
        data: The bytes.
    """

    places: Words
    starts: Words
    sizes: Words
    data: npt.NDArray[np.uint8]


def _joined(heads: Words, ends: Words, texts: Sequence[Texts]) -> Packed:
    """Rows of their fixed parts, and of texts."""
    if not texts:
        return Packed(heads.reshape(-1), ends // WORD)
    starts = np.cumsum(ends) - ends
    result = np.zeros(int(ends.sum()) // WORD, np.int64)
    result[(starts // WORD)[:, None] + np.arange(heads.shape[1])] = heads
    data = result.view(np.uint8)
    for text in texts:
        _copy(data, starts + text.places, text.data, text.starts, text.sizes)
    return Packed(result, ends // WORD)


def _copy(
    target: npt.NDArray[np.uint8], places: Words, source: npt.NDArray[np.uint8], starts: Words, sizes: Words
) -> None:
    """Copy values to places, in pieces: the places of all bytes at once would take 16 bytes for each."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        done = int(ends[start]) - int(sizes[start])
        end = max(int(np.searchsorted(ends, done + PIECE_BYTES, side="right")), start + 1)
        some = slice(start, end)
        if end == start + 1:
            place, at, size = int(places[start]), int(starts[start]), int(sizes[start])
            target[place : place + size] = source[at : at + size]
        else:
            target[_each_byte(places[some], sizes[some])] = source[_each_byte(starts[some], sizes[some])]
        start = end


def _each_byte(starts: Words, sizes: Words) -> Words:
    """The places of all bytes of values that begin at some places."""
    before = np.cumsum(sizes) - sizes
    places: Words = np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))
    return places


def _column(kind: spark.DataType, rows: Bytes, words: Words, valid: npt.NDArray[np.bool_]) -> pa.Array:
    count, nulls = len(words), int(len(valid) - valid.sum())
    validity = pa.py_buffer(np.packbits(valid, bitorder="little")) if nulls else None
    if isinstance(kind, spark.StringType | spark.BinaryType):
        sizes = np.where(valid, words & 0xFFFFFFFF, 0)
        offsets = np.zeros(count + 1, np.int32)
        np.cumsum(sizes, out=offsets[1:])
        text = np.empty(int(offsets[-1]), np.uint8)
        _copy(
            text, offsets[:-1].astype(np.int64), np.frombuffer(rows.data, np.uint8), rows.starts + (words >> 32), sizes
        )
        buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(text)]
    elif isinstance(kind, spark.BooleanType):
        buffers = [validity, pa.py_buffer(np.packbits(words != 0, bitorder="little"))]
    else:
        buffers = [validity, pa.py_buffer(words.astype(_WORDS[type(kind)]))]
    return pa.Array.from_buffers(arrow_type(kind), count, buffers, nulls)


def _words(kind: spark.DataType, column: pa.Array) -> Words:
    """The words of an array; those of nulls have no meaning."""
    if isinstance(kind, spark.BooleanType):
        return mask(pc.fill_null(column, fill_value=False)).astype(np.int64)
    number = np.dtype(_WORDS[type(kind)])
    values = np.frombuffer(column.buffers()[1], number, len(column), column.offset * number.itemsize)
    if pa.types.is_floating(column.type):
        real = values.view(f"f{number.itemsize}").copy()
        real[np.isnan(real)] = np.nan  # one NaN, as in Java
        values = real.view(number)
    unsigned = values.view(f"u{number.itemsize}")
    return unsigned.astype(np.int64)


def _texts(column: pa.Array, valid: npt.NDArray[np.bool_], places: Words) -> Texts:
    """The values of a column, which are to begin at some places of their rows."""
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4).astype(np.int64)
    sizes = np.where(valid, np.diff(bounds), 0)
    whole = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return Texts(places, bounds[:-1], sizes, whole)


def _decoder_by_values(schema: spark.StructType) -> Decode:
    decode, makers = row_decoder(schema), [array_maker(field.dataType) for field in schema.fields]
    return lambda rows: [make(values) for make, values in zip(makers, decode(rows), strict=True)]


def _encoder_by_values(schema: spark.StructType) -> Encode:
    encode = row_encoder(schema)

    def packed(columns: Sequence[pa.Array]) -> Packed:
        rows = encode(list(zip(*map(values_of, columns), strict=True)))
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        return Packed(np.frombuffer(b"".join(rows), np.int64), sizes // WORD)

    return packed


def bytes_of_column(column: pa.Array) -> Bytes:
    """Give the values of a binary array, which are rows, in place."""
    _, offsets, data = column.buffers()
    bounds = numpy(pa.Array.from_buffers(pa.int32(), len(column) + 1, [None, offsets], 0, column.offset))
    whole: Any = data if data is not None else b""
    return Bytes(memoryview(whole), bounds[:-1].astype(np.int64), np.diff(bounds).astype(np.int64))
