"""Values as a state stores them: of the state's type, and independent of the object that was given."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from pyspark.sql import types as spark

from keygroups.rows.pickled import PickleType, pickle, unpickle
from keygroups.state.errors import StateError
from keygroups.state.misfit import MisfitError, shown
from keygroups.state.rules import taker

Form: TypeAlias = Callable[[Any], Any]
Under: TypeAlias = Callable[[], Any]
"""Gives the current key, for messages."""
_LONG: Final = 1 << 63


def stored_form(kind: spark.DataType, what: str, under: Under | None = None) -> Form:
    """Give what makes a value storable, by the rule of its type.

    Args:
        kind: Type of the state.
        what: Its name in messages, such as ``value state 'count'``.
        under: Gives the current key, if there is one.

    Returns:
        A function that gives what is kept of the value, and raises ``StateError`` if it is not of the type.
    """
    take = taker(kind)

    def form(value: Any) -> Any:
        try:
            return take(value)
        except MisfitError as error:
            raise error.error(f"{what} was given", _key(under)) from error

    if not isinstance(kind, spark.LongType):
        return form

    def long(value: Any) -> Any:  # the most frequent type: 0.1 us in place of 0.2 us
        return value if type(value) is int and -_LONG <= value < _LONG else form(value)

    return long


def _key(under: Under | None) -> str:
    try:
        return "" if under is None else f" for key {shown(under())}"
    except StateError:  # there is none, as for a default
        return ""


def copy_of(kind: spark.DataType) -> Form:
    """Give what copies a value as a state keeps it; None stays None."""
    if not is_mutable(kind):
        return lambda value: value
    copied = _copied(kind)
    return lambda value: None if value is None else copied(value)


def _copied(kind: spark.DataType) -> Form:
    if isinstance(kind, spark.ArrayType):
        element = copy_of(kind.elementType)
        return (lambda values: list(map(element, values))) if is_mutable(kind.elementType) else list
    if isinstance(kind, spark.MapType):
        item = copy_of(kind.valueType)
        return lambda values: {key: item(value) for key, value in values.items()}
    if isinstance(kind, spark.StructType):
        make, fields = spark.Row(*kind.names), [copy_of(field.dataType) for field in kind.fields]
        return lambda row: make(*(field(part) for field, part in zip(fields, row, strict=True)))
    return lambda value: unpickle(pickle(value))


def is_mutable(kind: spark.DataType) -> bool:
    """Tell whether a value of a type can be changed, or holds one that can."""
    if isinstance(kind, spark.StructType):
        return any(is_mutable(field.dataType) for field in kind.fields)
    return isinstance(kind, spark.ArrayType | spark.MapType | PickleType)


def key_form(kind: spark.DataType, what: str, under: Under | None = None) -> Form:
    """Give what makes a value a key: as ``stored_form``, and both zeros of floating point are one."""
    form = stored_form(kind, what, under)
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
