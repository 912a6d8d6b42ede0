"""Arrow's types and values for those of Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row
from pyspark.sql import types as spark

from keygroups.rows.pickled import PickleType
from keygroups.rows.scalars import local_time
from keygroups.segment.arrays import numpy
from keygroups.state.errors import StateError

_ARROW: Final[dict[type[spark.DataType], pa.DataType]] = {
    spark.BooleanType: pa.bool_(),
    spark.ByteType: pa.int8(),
    spark.ShortType: pa.int16(),
    spark.IntegerType: pa.int32(),
    spark.LongType: pa.int64(),
    spark.FloatType: pa.float32(),
    spark.DoubleType: pa.float64(),
    spark.StringType: pa.string(),
    spark.BinaryType: pa.binary(),
    spark.DateType: pa.date32(),
    spark.TimestampType: pa.timestamp("us", "UTC"),
    spark.TimestampNTZType: pa.timestamp("us"),
    spark.DayTimeIntervalType: pa.duration("us"),
    spark.NullType: pa.null(),
}
_INSTANTS: Final = spark.TimestampType()
_LOCAL_TIMES: Final = spark.TimestampNTZType()
MISTAKES: Final = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)
"""What comes of values that do not fit a type."""


def arrow_type(kind: spark.DataType) -> pa.DataType:
    """Give the Arrow type of a Spark type. Raises StateError if there is none."""
    if isinstance(kind, PickleType):
        raise StateError("pickled values are no Arrow values", fix="use the methods of one key, in `for key in keys`")
    if isinstance(kind, spark.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, spark.ArrayType):
        return pa.list_(arrow_type(kind.elementType))
    if isinstance(kind, spark.MapType):
        return pa.map_(arrow_type(kind.keyType), arrow_type(kind.valueType))
    if isinstance(kind, spark.StructType):
        return pa.struct([pa.field(field.name, arrow_type(field.dataType)) for field in kind.fields])
    for known, arrow in _ARROW.items():
        if isinstance(kind, known):
            return arrow
    raise StateError(f"a function cannot give the type {kind.simpleString()}", fix="give a string or binary column")


def values_of(column: pa.Array) -> list[Any]:
    """Give the values of a column as those of a ``Row``: structs as rows, maps as dicts, instants in local time."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        convert = _INSTANTS.fromInternal if kind.tz else _LOCAL_TIMES.fromInternal
        numbers = column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
        return [None if micros is None else convert(micros) for micros in numbers.to_pylist()]
    if pa.types.is_struct(kind):
        make = Row(*(field.name for field in kind))
        parts = [values_of(column.field(i)) for i in range(kind.num_fields)]
        return _with_nulls(column, [make(*values) for values in zip(*parts, strict=True)])
    if pa.types.is_map(kind):
        return _sliced(column, [column.keys, column.items], lambda keys, items: dict(zip(keys, items, strict=True)))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _sliced(column, [column.values], list)
    if column.null_count == 0 and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return list(numpy(column).tolist())
    return list(column.to_pylist())


def fitting(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Give an array as one of another type, if no value changes. Raises one of ``MISTAKES`` if one would.

    Arrow's own cast reads texts as numbers, and times without a zone as those of UTC, which the methods of one key
    refuse. A sum of Arrow may have more digits than its own type. A decimal and a number of floating point are never
    exchanged: Arrow would round either.
    """
    if not _is_alike(array.type, kind):
        raise TypeError(f"{array.type} in place of {kind}")
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
    lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind),
    lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,
    lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_duration,
    pa.types.is_struct,
    pa.types.is_map,
    lambda kind: pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind),
)


def _is_alike(given: pa.DataType, kind: pa.DataType) -> bool:
    """Whether values of one type mean the same in another: numbers of any width, times of any unit, and so on."""
    if pa.types.is_null(given) or given == kind:
        return True
    if pa.types.is_dictionary(given):
        return _is_alike(given.value_type, kind)
    if any(is_a(given) != is_a(kind) for is_a in _KINDS):
        return False
    if (pa.types.is_decimal(given) and pa.types.is_floating(kind)) or (
        pa.types.is_floating(given) and pa.types.is_decimal(kind)
    ):
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


def _sliced(column: pa.Array, children: Sequence[pa.Array], make: Callable[..., Any]) -> list[Any]:
    """What is made of the elements of each list; those of other rows than the column's are not looked at."""
    bounds = column.offsets.to_pylist() or [0]
    first = bounds[0]
    flat = [values_of(child.slice(first, bounds[-1] - first)) for child in children]
    made = [make(*(values[start - first : end - first] for values in flat)) for start, end in pairwise(bounds)]
    return _with_nulls(column, made)


def _with_nulls(column: pa.Array, values: list[Any]) -> list[Any]:
    if column.null_count == 0:
        return values
    return [value if valid else None for value, valid in zip(values, column.is_valid().to_pylist(), strict=True)]
