"""Arrow arrays of Python values. None of them is changed on the way: a number with a fraction is no whole number."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.rows.scalars import micros_of
from keygroups.state.arrow import arrow_type, fitting

Maker = Callable[[Sequence[Any]], pa.Array]

_EXACT: Final[dict[type[spark.DataType], type]] = {
    spark.BooleanType: bool,
    spark.ByteType: int,
    spark.ShortType: int,
    spark.IntegerType: int,
    spark.LongType: int,
    spark.DoubleType: float,
    spark.StringType: str,
    spark.BinaryType: bytes,
    spark.DateType: dt.date,
    spark.DayTimeIntervalType: dt.timedelta,
}
"""Values of just this type become Arrow values at once; what Arrow takes others for is looked at first."""


def array_maker(kind: spark.DataType) -> Maker:
    """Give what makes an array of values of a type. It raises one of ``MISTAKES`` if one does not fit."""
    arrow = arrow_type(kind)
    if isinstance(kind, spark.TimestampType):
        return lambda values: pa.array([None if value is None else micros_of(value) for value in values], arrow)
    if isinstance(kind, spark.ArrayType):
        return _lists(array_maker(kind.elementType), arrow)
    if isinstance(kind, spark.MapType):
        return _maps(array_maker(kind.keyType), array_maker(kind.valueType), arrow)
    if isinstance(kind, spark.StructType) and kind.fields:
        return _structs([array_maker(field.dataType) for field in kind.fields], arrow)
    if isinstance(kind, spark.DecimalType | spark.NullType | spark.StructType):
        return lambda values: pa.array(values, arrow)
    return _flat(_EXACT.get(type(kind)), arrow)


def _flat(exact: type | None, arrow: pa.DataType) -> Maker:
    wanted = {exact, type(None)} if exact else set()

    def array(values: Sequence[Any]) -> pa.Array:
        if set(map(type, values)) <= wanted:
            return pa.array(values, arrow)
        if any(isinstance(value, dt.datetime) and value.tzinfo is not None for value in values):
            raise TypeError(f"a time with a zone in place of {arrow}")
        found = pa.array(values)
        if pa.types.is_integer(arrow) and pa.types.is_floating(found.type):
            raise TypeError(f"{found.type} in place of {arrow}")
        return fitting(found, arrow)

    return array


def _lists(element: Maker, arrow: pa.ListType) -> Maker:
    def array(values: Sequence[Any]) -> pa.Array:
        lists = [value.tolist() if _is_plain(value) else value for value in values]
        _require(lists, list | tuple, arrow)
        flat = element(list(chain.from_iterable(filter(None, lists))))
        return pa.ListArray.from_arrays(_offsets(lists), flat, type=arrow)

    return array


def _maps(key: Maker, item: Maker, arrow: pa.MapType) -> Maker:
    def array(values: Sequence[Any]) -> pa.Array:
        _require(values, Mapping, arrow)
        keys = key(list(chain.from_iterable(filter(None, values))))
        items = item(list(chain.from_iterable(value.values() for value in values if value)))
        return pa.MapArray.from_arrays(_offsets(values), keys, items, type=arrow)

    return array


def _structs(makers: Sequence[Maker], arrow: pa.StructType) -> Maker:
    names = [field.name for field in arrow]
    known, nothing = set(names), [None] * len(names)

    def parts(value: Any) -> Sequence[Any]:
        if value is None:
            return nothing
        if isinstance(value, list | tuple) and len(value) == len(names):
            return value
        if isinstance(value, Mapping) and value.keys() <= known:
            return [value.get(name) for name in names]
        raise TypeError(f"{str(value)[:100]} in place of {arrow}")

    def array(values: Sequence[Any]) -> pa.Array:
        columns = zip(*map(parts, values), strict=True) if values else [()] * len(names)
        children = [make(column) for make, column in zip(makers, columns, strict=True)]
        missing = pa.array([value is None for value in values], pa.bool_())
        return pa.StructArray.from_arrays(children, fields=list(arrow), mask=missing)

    return array


def _is_plain(value: Any) -> bool:
    """Whether it is a numpy array of what Python has too: of times it would give numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind not in "mM"


def _require(values: Sequence[Any], kinds: Any, arrow: pa.DataType) -> None:
    for value in values:
        if value is not None and not isinstance(value, kinds):
            raise TypeError(f"{str(value)[:100]} in place of {arrow}")


def _offsets(values: Sequence[Any]) -> pa.Array:
    """Where the elements of each value begin, null for one that is None; and where the last ends."""
    starts = accumulate((len(value or ()) for value in values[:-1]), initial=0)
    begins = [None if value is None else start for value, start in zip(values, starts, strict=True)] if values else []
    return pa.array([*begins, sum(len(value or ()) for value in values)], pa.int32())
