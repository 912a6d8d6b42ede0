"""Arrow arrays of Python values: what each becomes, and which are refused, is in ``keygroups.state.rules``.

Columns of plain values become arrays at once. Only where one is not plain are all looked at, one by one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark

from keygroups.rows.encode import has_none
from keygroups.rows.times import BeyondDate, BeyondTime, micros_of, number_of
from keygroups.state.arrow import MISTAKES, cast, listed, objects_of
from keygroups.state.misfit import MisfitError, missing
from keygroups.state.nested import parts_of
from keygroups.state.rules import arrow_type, exact_types, taker

Maker = Callable[[Sequence[Any]], pa.Array]


class NotPlainError(TypeError):
    """Values have to be looked at one by one."""


def array_maker(kind: spark.DataType) -> Maker:
    """Return what makes an array of values of a type.

    The function raises ``MisfitError`` if the type does not take one, or another of ``MISTAKES``.
    """
    plain, take = _plain(kind), taker(kind)

    def array(values: Sequence[Any]) -> pa.Array:
        try:
            return plain(values)
        except MISTAKES:
            return plain(_taken(values, take))

    return array


def column_maker(kind: spark.DataType) -> Callable[[Any], pa.Array]:
    """Return what makes an array of a column that a user gives: an array of Arrow or numpy, or a sequence of values.

    The function raises one of ``MISTAKES``, most often ``MisfitError``.
    """
    arrow, make = arrow_type(kind), array_maker(kind)

    def column(values: Any) -> pa.Array:
        if isinstance(values, np.ndarray) and values.dtype.kind != "O":
            values = pa.array(values)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if not isinstance(values, pa.Array):
            return make(listed(values))
        try:
            return _complete(cast(values, arrow), kind)
        except MISTAKES:
            return make(objects_of(values))

    return column


def require_values(column: pa.Array, field: spark.StructField) -> pa.Array:
    """Return a column. It raises ``MisfitError`` if one value is null where the field says NOT NULL."""
    if field.nullable or not column.null_count:
        return column
    error = missing(field.dataType)
    error.row = column.is_null().index(pa.scalar(True)).as_py()
    raise error


def _taken(values: Sequence[Any], take: Callable[[Any], Any]) -> list[Any]:
    taken: list[Any] = []
    try:
        taken.extend(None if value is None else take(value) for value in values)
    except MisfitError as error:
        error.row = len(taken)
        raise
    return taken


def _plain(kind: spark.DataType) -> Maker:
    """What makes an array of values that are kept as they are, and raises one of ``MISTAKES`` for others."""
    arrow = arrow_type(kind)
    if isinstance(kind, spark.ArrayType):
        return _lists(kind, arrow)
    if isinstance(kind, spark.MapType):
        return _maps(kind, arrow)
    if isinstance(kind, spark.StructType):
        return _structs(kind, arrow)
    if isinstance(kind, spark.TimestampType):
        return _instants(arrow)
    if isinstance(kind, spark.DateType | spark.TimestampNTZType):
        return _times(kind, arrow)
    return _flat(kind, arrow)


def _flat(kind: spark.DataType, arrow: pa.DataType) -> Maker:
    exact = exact_types(kind)

    def array(values: Sequence[Any]) -> pa.Array:
        _require(values, exact)
        made = pa.array(values, arrow)
        if pa.types.is_float32(arrow) and pc.any(pc.is_inf(made)).as_py():
            _require_equal(pc.is_inf(made), pc.is_inf(pa.array(values, pa.float64())))  # not of a large double
        return made

    return array


def _instants(arrow: pa.DataType) -> Maker:
    exact = frozenset((dt.datetime, BeyondTime, type(None)))

    def array(values: Sequence[Any]) -> pa.Array:
        _require(values, exact)
        return pa.array([None if value is None else micros_of(value) for value in values], arrow)

    return array


def _times(kind: spark.DataType, arrow: pa.DataType) -> Maker:
    """Of dates and of times without a zone, which Arrow would convert."""
    exact, number = exact_types(kind), number_of(kind)
    is_date = isinstance(kind, spark.DateType)
    beyond = BeyondDate if is_date else BeyondTime

    def array(values: Sequence[Any]) -> pa.Array:
        if beyond in set(map(type, values)):
            _require(values, exact | {beyond})
            numbers = [None if value is None else number(value) for value in values]
            return pa.array(numbers, pa.int32() if is_date else pa.int64()).cast(arrow)
        _require(values, exact)
        if not is_date and any(value is not None and value.tzinfo is not None for value in values):
            raise NotPlainError
        return pa.array(values, arrow)

    return array


def _lists(kind: spark.ArrayType, arrow: pa.ListType) -> Maker:
    element, exact = _plain(kind.elementType), exact_types(kind)

    def array(values: Sequence[Any]) -> pa.Array:
        lists = [value.tolist() if _is_plain(value) else value for value in values]
        _require(lists, exact)
        flat = element(list(chain.from_iterable(filter(None, lists))))
        _require_nulls(flat, allowed=kind.containsNull)
        return pa.ListArray.from_arrays(_offsets(lists), flat, type=arrow)

    return array


def _maps(kind: spark.MapType, arrow: pa.MapType) -> Maker:
    key, item, exact = _plain(kind.keyType), _plain(kind.valueType), exact_types(kind)

    def array(values: Sequence[Any]) -> pa.Array:
        _require(values, exact)
        keys = key(list(chain.from_iterable(filter(None, values))))
        items = item(list(chain.from_iterable(value.values() for value in values if value)))
        _require_nulls(keys, allowed=False)
        _require_nulls(items, allowed=kind.valueContainsNull)
        return pa.MapArray.from_arrays(_offsets(values), keys, items, type=arrow)

    return array


def _structs(kind: spark.StructType, arrow: pa.StructType) -> Maker:
    makers, parts = [_plain(field.dataType) for field in kind.fields], parts_of(kind.names)
    nothing = [None] * len(makers)

    def array(values: Sequence[Any]) -> pa.Array:
        given = [nothing if value is None else parts(value) for value in values]
        if has_none(given):
            raise NotPlainError
        missing = [value is None for value in values]
        if not makers:
            return pa.array([None if is_missing else {} for is_missing in missing], arrow)
        columns = zip(*given, strict=True) if given else [()] * len(makers)
        children = [make(column) for make, column in zip(makers, columns, strict=True)]
        nulls = sum(missing)
        for field, child in zip(kind.fields, children, strict=True):
            _require_nulls(child, allowed=field.nullable, but=nulls)
        return pa.StructArray.from_arrays(children, fields=list(arrow), mask=pa.array(missing, pa.bool_()))

    return array


def _require(values: Sequence[Any], exact: frozenset[type]) -> None:
    if not set(map(type, values)) <= exact:
        raise NotPlainError


def _require_equal(one: pa.Array, other: pa.Array) -> None:
    if not one.equals(other):
        raise NotPlainError


def _is_plain(value: Any) -> bool:
    """Whether it is a numpy array of what Python has too: of times it would give numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind not in "mM"


def _require_nulls(array: pa.Array, *, allowed: bool, but: int = 0) -> None:
    """Refuse more nulls than some where none are allowed."""
    if not allowed and array.null_count > but:
        raise NotPlainError


def _complete(array: pa.Array, kind: spark.DataType) -> pa.Array:
    """An array whose parts are null only where their type says so; else it raises ``NotPlainError``."""
    if isinstance(kind, spark.StructType):
        for i, field in enumerate(kind.fields):
            child = array.field(i)
            if not field.nullable and pc.any(pc.and_not(child.is_null(), array.is_null())).as_py():
                raise NotPlainError
            _complete(child, field.dataType)
    elif isinstance(kind, spark.ArrayType):
        _require_nulls(array.flatten(), allowed=kind.containsNull)
        _complete(array.flatten(), kind.elementType)
    elif isinstance(kind, spark.MapType):
        _require_nulls(array.items, allowed=kind.valueContainsNull)
        _complete(array.items, kind.valueType)
    return array


def _offsets(values: Sequence[Any]) -> pa.Array:
    """Where the elements of each value begin, null for one that is None; and where the last ends."""
    starts = accumulate((len(value or ()) for value in values[:-1]), initial=0)
    begins = [None if value is None else start for value, start in zip(values, starts, strict=True)] if values else []
    return pa.array([*begins, sum(len(value or ()) for value in values)], pa.int32())
