"""Values of Arrow's columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row
from pyspark.sql import types as spark

from keygroups.rows.times import local_time, time_of, times_of
from keygroups.segment.arrays import numpy

_INSTANTS: Final = spark.TimestampType()
_LOCAL_TIMES: Final = spark.TimestampNTZType()
_DATES: Final = spark.DateType()
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
MOST_DIGITS: Final = 38
"""Of a decimal."""
LONG_DIGITS: Final = 20
"""Of a whole number of 64 bits."""
MISTAKES: Final = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)
"""What comes of values that do not fit a type."""


def values_of(column: pa.Array) -> list[Any]:
    """Give the values of a column as those of a ``Row``: structs as rows, maps as dicts, instants in local time."""
    return _values(column, _spark_times)


def objects_of(column: pa.Array) -> list[Any]:
    """Give the values of a column of a user's: instants have a zone, so that they differ from times without one.

    Raises one of ``MISTAKES`` if Python does not have a value, such as a time with nanoseconds.
    """
    return _values(column, _exact_times)


def cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Give an array as one of another type, if it is one that keeps each value. Raises one of ``MISTAKES`` if not.

    It takes no value that ``keygroups.state.rules`` refuses. Arrow's own cast reads texts as numbers, times without a
    zone as those of UTC, and numbers of floating point as whole ones. A sum of Arrow may have more digits than its own
    type.
    """
    if not _is_alike(array.type, kind):
        raise TypeError(f"{array.type} in place of {kind}")
    if pa.types.is_integer(array.type) and pa.types.is_decimal(kind) and kind.scale < MOST_DIGITS - LONG_DIGITS:
        array = array.cast(pa.decimal128(LONG_DIGITS + kind.scale, kind.scale))  # what Arrow wants in between
    fitted = array.cast(kind)
    fitted.validate(full=True)
    if (
        pa.types.is_float64(array.type)
        and pa.types.is_float32(kind)
        and pc.any(pc.and_not(pc.is_inf(fitted), pc.is_inf(array))).as_py()
    ):
        raise ValueError(f"a number that is too large for {kind}")
    return fitted


def inferred(values: Sequence[Any]) -> pa.Array:
    """Give an array of values whose type nobody has said. Raises one of ``MISTAKES`` if they do not go together.

    A ``Row`` becomes a struct; a time without a zone is local, as in Spark, and becomes an instant.
    """
    return pa.array(list(map(plain, values)))


def listed(values: Any) -> list[Any]:
    """Give the values of a column. Raises TypeError if it is a single value, such as a text."""
    if isinstance(values, str | bytes | bytearray | Mapping):
        raise TypeError(f"a single value in place of a column: {str(values)[:100]}")
    return list(values)


def plain(value: Any) -> Any:
    """Give a value as Arrow takes it: see ``inferred``."""
    if isinstance(value, dt.datetime):
        return local_time(value).astimezone(dt.timezone.utc)
    if isinstance(value, Row) and hasattr(value, "__fields__"):
        return {name: plain(part) for name, part in zip(value.__fields__, value, strict=True)}
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return value


_KINDS: Final[tuple[Callable[[pa.DataType], bool], ...]] = (
    lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind),
    lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind),
    lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,
    lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
    lambda kind: pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind),
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_duration,
    pa.types.is_struct,
    pa.types.is_map,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
)
"""Types of one kind mean the same: numbers of any width, times of any unit, and so on."""


def _is_alike(given: pa.DataType, kind: pa.DataType) -> bool:
    """Whether Arrow casts one type to another only where no value changes its meaning."""
    if pa.types.is_null(given) or given == kind:
        return True
    if pa.types.is_dictionary(given):
        return _is_alike(given.value_type, kind)
    if pa.types.is_integer(given) and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return True
    if not any(is_a(given) and is_a(kind) for is_a in _KINDS):
        return False
    if pa.types.is_struct(kind) and not {field.name for field in given} <= {field.name for field in kind}:
        return False  # Arrow would leave out what it does not know, and make null of what is not there
    return all(_is_alike(part, wanted) for part, wanted in _nested(given, kind))


def _nested(given: pa.DataType, kind: pa.DataType) -> list[tuple[pa.DataType, pa.DataType]]:
    """The types in two types that are both nested in the same way, or both not."""
    if pa.types.is_struct(kind):
        known = {field.name: field.type for field in given}
        return [(known[field.name], field.type) for field in kind if field.name in known]
    if pa.types.is_map(kind):
        return [(given.key_type, kind.key_type), (given.item_type, kind.item_type)]
    return [(given.value_type, kind.value_type)] if pa.types.is_list(kind) else []


def _values(column: pa.Array, times: Callable[[pa.Array], list[Any]]) -> list[Any]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _values(column.dictionary_decode(), times)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return times(column)
    if pa.types.is_nested(kind) and not pa.types.is_fixed_size_list(kind):
        return _with_nulls(column, _nested_values(column, times))
    if column.null_count == 0 and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return list(numpy(column).tolist())
    return list(column.to_pylist())


def _nested_values(column: pa.Array, times: Callable[[pa.Array], list[Any]]) -> list[Any]:
    """Rows, dicts and lists, with something for those that are null too."""
    kind = column.type
    if pa.types.is_map(kind):
        return _sliced(column, [column.keys, column.items], times, _entries)
    if not pa.types.is_struct(kind):
        return _sliced(column, [column.values], times, list)
    make = Row(*(field.name for field in kind))
    if not kind.num_fields:
        return [make() for _ in range(len(column))]
    parts = [_values(column.field(i), times) for i in range(kind.num_fields)]
    return [make(*values) for values in zip(*parts, strict=True)]


def _entries(keys: Sequence[Any], items: Sequence[Any]) -> dict[Any, Any]:
    return dict(zip(keys, items, strict=True))


def _spark_times(column: pa.Array) -> list[Any]:
    """Dates and times as a ``Row`` of Spark has them."""
    kind = column.type
    if pa.types.is_date(kind):
        try:
            return list(column.to_pylist())
        except OverflowError:
            return _of_numbers(_DATES, column.cast(pa.date32()).cast(pa.int32()))
    micros = column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
    return _of_numbers(_INSTANTS if kind.tz else _LOCAL_TIMES, micros)


def _exact_times(column: pa.Array) -> list[Any]:
    kind = column.type
    if pa.types.is_date(kind) or kind.tz is None:
        return _spark_times(column if pa.types.is_date(kind) else column.cast(pa.timestamp("us")))
    micros = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()).to_pylist()
    return [None if one is None else _EPOCH + dt.timedelta(microseconds=one) for one in micros]


def _of_numbers(kind: spark.DataType, numbers: pa.Array) -> list[Any]:
    if numbers.null_count == 0:
        return times_of(kind, numpy(numbers).tolist())
    return [None if number is None else time_of(kind, number) for number in numbers.to_pylist()]


def _sliced(
    column: pa.Array,
    children: Sequence[pa.Array],
    times: Callable[[pa.Array], list[Any]],
    make: Callable[..., Any],
) -> list[Any]:
    """What is made of the elements of each list; those of other rows than the column's are not looked at."""
    bounds = column.offsets.to_pylist() or [0]
    first = bounds[0]
    flat = [_values(child.slice(first, bounds[-1] - first), times) for child in children]
    return [make(*(values[start - first : end - first] for values in flat)) for start, end in pairwise(bounds)]


def _with_nulls(column: pa.Array, values: list[Any]) -> list[Any]:
    if column.null_count == 0:
        return values
    return [value if valid else None for value, valid in zip(values, column.is_valid().to_pylist(), strict=True)]
