"""Aggregates of a column by groups, without a Python call per row. Nulls are left out; a group of nulls gives null."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keygroups.segment.arrays import arrow, mask, numpy
from keygroups.state.errors import StateError

Groups = npt.NDArray[np.int64]
MAX_LONG: Final = (1 << 63) - 1


def grouped(how: str, column: pa.Array, groups: Groups, count: int) -> pa.Array:
    """Aggregate a column.

    Args:
        how: One of ``AGGREGATES``.
        column: The values.
        groups: int64[n], the number of each value's group.
        count: How many groups there are.

    Returns:
        An array of ``count`` values: sums of whole numbers are bigint, those of decimals have ten digits more, as in
        Spark, counts are bigint and never null, ``collect`` gives lists, which are empty in place of null, and all
        others have the type of the column.

    Raises:
        StateError: There is no such aggregate, it does not go with the type, or a sum is out of range.
    """
    aggregate = AGGREGATES.get(how)
    if aggregate is None:
        raise StateError("there is no such aggregate", expected=", ".join(AGGREGATES), found=repr(how))
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.null_count:
        valid = mask(column.is_valid())
        column, groups = column.filter(column.is_valid()), groups[valid]
    return aggregate(column, groups, count)


def _impossible(how: str, column: pa.Array) -> StateError:
    expected = "numbers in range" if how == "sum" else "values that have an order"
    return StateError(f"{how} of these values is not possible", expected=expected, found=str(column.type))


def _sum(column: pa.Array, groups: Groups, count: int) -> pa.Array:
    if pa.types.is_floating(column.type):
        total = np.zeros(count, column.type.to_pandas_dtype())  # float stays float, as where each row is added alone
        with np.errstate(over="ignore"):
            np.add.at(total, groups, numpy(column))
        if pa.types.is_float32(column.type) and np.isinf(total).any() and not np.isinf(numpy(column)).any():
            raise _impossible("sum", column)
        return _where_any(arrow(total), groups, count)
    if pa.types.is_integer(column.type):
        values = numpy(_signed(column))
        _require_range(values, groups, count)
        whole = np.zeros(count, np.int64)
        np.add.at(whole, groups, values)
        return _where_any(arrow(whole), groups, count)
    if pa.types.is_null(column.type):
        return pa.nulls(count)
    if pa.types.is_duration(column.type):
        return _sum(column.cast(pa.int64()), groups, count).cast(column.type)
    if not pa.types.is_decimal(column.type):
        raise _impossible("sum", column)
    wide = column.cast(pa.decimal256(76, column.type.scale))  # where no sum overflows; those of 38 digits wrap around
    table = pa.table({"group": arrow(groups), "value": wide})
    sums = pa.TableGroupBy(table, ["group"], use_threads=False).aggregate([("value", "sum")]).combine_chunks()
    try:
        found = sums.column("value_sum").combine_chunks().cast(_sum_type(column.type))
    except pa.ArrowInvalid as error:  # a sum of more than 38 digits
        raise _impossible("sum", column) from error
    at = np.full(count, -1, np.int64)
    at[numpy(sums.column("group").combine_chunks())] = np.arange(len(found))
    return _taken(found, at)


def _signed(column: pa.Array) -> pa.Array:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid as error:  # unsigned numbers of 64 bits
        raise _impossible("sum", column) from error


def _sum_type(kind: pa.DataType) -> pa.DataType:
    return pa.decimal128(min(kind.precision + 10, 38), kind.scale)


def _require_range(values: npt.NDArray[np.int64], groups: Groups, count: int) -> None:
    """Refuse sums that bigint cannot hold. Only numbers of such a size are added up in Python."""
    if not len(values) or max(int(values.max()), -int(values.min())) <= MAX_LONG // len(values):
        return
    exact = [0] * count
    for group, value in zip(groups.tolist(), values.tolist(), strict=True):
        exact[group] += value
    for total in exact:
        if not -MAX_LONG - 1 <= total <= MAX_LONG:
            raise StateError(
                "a sum is out of range", expected="a bigint", found=total, fix="add up doubles or decimals"
            )


def _count(column: pa.Array, groups: Groups, count: int) -> pa.Array:
    del column
    return arrow(np.bincount(groups, minlength=count).astype(np.int64, copy=False))


def _least(column: pa.Array, groups: Groups, count: int) -> pa.Array:
    _require_order("min", column)
    return _extreme(column, groups, count, np.fmin if pa.types.is_floating(column.type) else np.minimum)


def _greatest(column: pa.Array, groups: Groups, count: int) -> pa.Array:
    _require_order("max", column)
    return _extreme(column, groups, count, np.maximum)  # which gives NaN if there is one: Spark's greatest number


def _require_order(how: str, column: pa.Array) -> None:
    if pa.types.is_nested(column.type) or pa.types.is_interval(column.type):
        raise _impossible(how, column)


def _extreme(column: pa.Array, groups: Groups, count: int, better: np.ufunc) -> pa.Array:
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        order = numpy(pc.sort_indices(column)).astype(np.int64)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        best = _extreme(arrow(rank), groups, count, better)
        return _taken(column, order[numpy(best.fill_null(0))] if len(order) else np.zeros(count, np.int64), best)
    values = numpy(column)
    result = np.zeros(count, values.dtype)
    result[groups] = values  # any value of the group to begin with
    with np.errstate(invalid="ignore"):  # numpy warns of NaN
        better.at(result, groups, values)
    return _where_any(arrow(result), groups, count)


def _last(column: pa.Array, groups: Groups, count: int) -> pa.Array:
    at = np.full(count, -1, np.int64)
    at[groups] = np.arange(len(groups))  # of equal places the last one stays
    return _taken(column, at)


def _collect(column: pa.Array, groups: Groups, count: int) -> pa.Array:
    order = np.argsort(groups, kind="stable")
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(groups, minlength=count), out=offsets[1:])
    return pa.ListArray.from_arrays(arrow(offsets), column.take(arrow(order)))


def _where_any(result: pa.Array, groups: Groups, count: int) -> pa.Array:
    """The result, null for groups without a value."""
    has_any = np.zeros(count, np.bool_)
    has_any[groups] = True
    return result if has_any.all() else pc.if_else(_booleans(has_any), result, pa.scalar(None, result.type))


def _taken(values: pa.Array, at: Groups, valid: pa.Array | None = None) -> pa.Array:
    """The values at places; null where the place is below 0 or not valid."""
    missing = at < 0 if valid is None else ~mask(valid.is_valid())
    if not missing.any():
        return values.take(arrow(at))
    if missing.all():
        return pa.nulls(len(at), values.type)
    places = pc.if_else(_booleans(missing), pa.scalar(None, pa.int64()), arrow(at))
    return values.take(places)


def _booleans(values: npt.NDArray[np.bool_]) -> pa.Array:
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])


AGGREGATES: Final[dict[str, Callable[[Any, Groups, int], pa.Array]]] = {
    "sum": _sum,
    "min": _least,
    "max": _greatest,
    "count": _count,
    "last": _last,
    "collect": _collect,
}
