"""Values that fit into the eight bytes of a field.

Source: ``UnsafeRowWriter`` and ``UnsafeArrayWriter`` of Spark: a value lies in the low bytes, the others are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pyspark.sql import types as spark

from keygroups.errors import SettingError
from keygroups.rows.decimals import scaled, unscaled
from keygroups.rows.times import number_of, times_of

Words = npt.NDArray[np.int64]
MAX_LONG_DIGITS: Final = 18
"""Decimals of more digits do not fit."""


@dataclass(frozen=True)
class Scalar:
    """How values of a type lie in words.

    Attributes:
        size: Bytes of an element of an array.
        pack: Gives the words of values, none of which is None.
        unpack: Gives the values of words.
    """

    size: int
    pack: Callable[[list[Any]], Words]
    unpack: Callable[[Words], list[Any]]


def scalar_of(kind: spark.DataType) -> Scalar | None:
    """Give how values of a type lie in words; None if they may be longer than one."""
    if isinstance(kind, spark.DecimalType):
        return _decimal(kind.scale) if kind.precision <= MAX_LONG_DIGITS else None
    return _SCALARS.get(type(kind))


def unstorable(kind: spark.DataType) -> SettingError:
    """Give the error of a type that rows cannot have."""
    return SettingError(
        f"state cannot have the type {kind.simpleString()}", fix="use another type, such as a string or binary"
    )


def _whole(numbers: type[np.signedinteger[Any]], bits: type[np.unsignedinteger[Any]]) -> Scalar:
    def pack(values: list[Any]) -> Words:
        return np.array(values, numbers).view(bits).astype(np.int64)

    return Scalar(np.dtype(numbers).itemsize, pack, lambda words: words.astype(numbers).tolist())


def _real(numbers: type[np.floating[Any]], bits: type[np.integer[Any]]) -> Scalar:
    def pack(values: list[Any]) -> Words:
        given = np.array(values, numbers)
        given[np.isnan(given)] = np.nan  # one NaN, as in Java: keys are compared by their bytes
        return given.view(bits).astype(np.int64)

    return Scalar(np.dtype(numbers).itemsize, pack, lambda words: words.astype(bits).view(numbers).tolist())


def _converted(kind: spark.DataType, plain: Scalar) -> Scalar:
    """Dates, times and intervals, which lie in rows as numbers."""
    number = number_of(kind)
    return Scalar(
        plain.size,
        lambda values: plain.pack(list(map(number, values))),
        lambda words: times_of(kind, plain.unpack(words)),
    )


def _decimal(scale: int) -> Scalar:
    return Scalar(
        8,
        lambda values: np.array([unscaled(value, scale) for value in values], np.int64),
        lambda words: [scaled(number, scale) for number in words.tolist()],
    )


_INT: Final = _whole(np.int32, np.uint32)
_LONG: Final = Scalar(8, lambda values: np.array(values, np.int64), lambda words: words.tolist())
_SCALARS: Final[dict[type[spark.DataType], Scalar]] = {
    spark.BooleanType: Scalar(
        1, lambda values: np.array(values, np.bool_).astype(np.int64), lambda words: (words != 0).tolist()
    ),
    spark.ByteType: _whole(np.int8, np.uint8),
    spark.ShortType: _whole(np.int16, np.uint16),
    spark.IntegerType: _INT,
    spark.LongType: _LONG,
    spark.FloatType: _real(np.float32, np.uint32),
    spark.DoubleType: _real(np.float64, np.int64),
    spark.DateType: _converted(spark.DateType(), _INT),
    spark.TimestampType: _converted(spark.TimestampType(), _LONG),
    spark.TimestampNTZType: _converted(spark.TimestampNTZType(), _LONG),
    spark.DayTimeIntervalType: _converted(spark.DayTimeIntervalType(), _LONG),
}
