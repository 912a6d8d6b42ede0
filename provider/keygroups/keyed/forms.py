"""Values as a state stores them: checked against the state's type, and independent of the object that was given."""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import types as spark

from keygroups.rows.decimals import rounded
from keygroups.rows.pickled import PickleType, pickle, unpickle
from keygroups.rows.scalars import micros_of
from keygroups.state.errors import StateError

Form: TypeAlias = Callable[[Any], Any]


def stored_form(kind: spark.DataType, what: str) -> Form:
    """Give what makes a value storable: a struct becomes a ``Row``, an int of a floating-point state a float.

    Args:
        kind: Type of the state.
        what: Its name in messages, such as ``value state 'count'``.

    Returns:
        A function that gives the value, a copy of it where it could be changed, and raises ``StateError`` if it is not
        of the type.
    """
    if isinstance(kind, spark.LongType):
        return _long(what)  # the most frequent type: 0.1 us in place of 1 us
    copied = copy_of(kind)
    verify = (lambda _: True) if isinstance(kind, PickleType) else spark._make_type_verifier(kind)

    def form(value: Any) -> Any:
        try:
            made = copied(value)
            verify(made)
        except (PySparkException, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise _wrong(what, kind, value) from error
        return made

    return form


def copy_of(kind: spark.DataType) -> Form:
    """Give what copies a value of a type, and brings it into the form in which a state gives it."""
    if isinstance(kind, PickleType):
        return lambda value: unpickle(pickle(value))
    if type(kind) in _SIMPLE:
        return _SIMPLE[type(kind)]
    if isinstance(kind, spark.DecimalType):
        return lambda value: rounded(value, kind.precision, kind.scale) if isinstance(value, Decimal) else value
    if isinstance(kind, spark.TimestampType):
        return lambda value: value if value is None else kind.fromInternal(micros_of(value))
    if isinstance(kind, spark.StringType):
        return _text
    return _copy_of_parts(kind)


def _copy_of_parts(kind: spark.DataType) -> Form:
    if isinstance(kind, spark.ArrayType):
        element = copy_of(kind.elementType)
        return lambda values: None if values is None else [element(value) for value in _sequence(values)]
    if isinstance(kind, spark.MapType):
        key, value = copy_of(kind.keyType), copy_of(kind.valueType)
        return lambda values: None if values is None else {key(k): value(v) for k, v in values.items()}
    if isinstance(kind, spark.StructType):
        return _struct(kind)
    return lambda value: value


def key_form(kind: spark.DataType, what: str) -> Form:
    """Give what makes a value a key: as ``stored_form``, and both zeros of floating point are one."""
    form = stored_form(kind, what)
    return lambda value: one_zero(form(value))


def one_zero(value: Any) -> Any:
    """Give a key in which 0.0 stands for -0.0 too, as in Spark's grouping."""
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, list):
        return [one_zero(part) for part in value]
    if isinstance(value, spark.Row):
        return spark.Row(*value.__fields__)(*map(one_zero, value))
    return value


def _single(value: Any) -> Any:
    """A float of 32 bits."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        (value,) = struct.unpack("<f", struct.pack("<f", value))
    return value


_SIMPLE: Final[dict[type[spark.DataType], Form]] = {
    spark.FloatType: _single,
    spark.DoubleType: lambda value: float(value) if type(value) is int else value,
    spark.BinaryType: lambda value: bytes(value) if isinstance(value, bytearray) else value,
    spark.DateType: lambda value: value.date() if isinstance(value, dt.datetime) else value,
    spark.TimestampNTZType: lambda value: (
        value.replace(tzinfo=None, fold=0) if isinstance(value, dt.datetime) else value
    ),
}


def frozen(value: Any) -> Any:
    """Give what a value can be found by: equal for equal values, and hashable."""
    if isinstance(value, spark.Row | tuple | list):
        return tuple(map(frozen, value))
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, float) and math.isnan(value):
        return "NaN"  # Spark's NaN equals itself
    if isinstance(value, dt.datetime) and value.fold:
        return value.replace(fold=0), value.fold  # the second of two instants of one local time
    return value


def _long(what: str) -> Form:
    low, high = -(1 << 63), (1 << 63) - 1

    def form(value: Any) -> Any:
        if type(value) is int and low <= value <= high:
            return value
        raise _wrong(what, spark.LongType(), value)

    return form


def _struct(kind: spark.StructType) -> Form:
    make, names = spark.Row(*kind.names), set(kind.names)
    fields = [copy_of(field.dataType) for field in kind.fields]

    def copied(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            values = _sequence(value)
        elif value.keys() <= names:
            values = [value.get(name) for name in kind.names]
        else:
            raise ValueError(f"{value!r} has other fields")
        return make(*(field(part) for field, part in zip(fields, values, strict=True)))

    return copied


def _text(value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")  # Spark's own check lets everything pass
    if not value.isascii():
        value.encode()  # a lone surrogate cannot be stored
    return value


def _sequence(value: Any) -> list[Any] | tuple[Any, ...]:
    if isinstance(value, list | tuple):
        return value
    raise TypeError(f"{value!r} is no list")


def _wrong(what: str, kind: spark.DataType, value: object) -> StateError:
    return StateError(f"{what} was given a wrong value", expected=kind.simpleString(), found=repr(value)[:200])
