"""Python rows as Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.rows.scalars import micros_of
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


Convert = Callable[[Any], Any]


def batch_maker(schema: spark.StructType, operator: str) -> Callable[[Sequence[Any]], pa.RecordBatch]:
    """Give what makes a batch of rows: tuples, rows, dicts or, if there is one column, its values.

    Args:
        schema: Of the rows.
        operator: Named in errors.

    Returns:
        A function that raises ``StateError`` if a row does not fit the schema.
    """
    arrow = pa.schema([pa.field(field.name, arrow_type(field.dataType)) for field in schema.fields])
    converts = [_instants_as_numbers(field.dataType) for field in schema.fields]

    def batch(rows: Sequence[Any]) -> pa.RecordBatch:
        # Looking at each row takes longer than all the rest where they are what most functions give.
        is_plain = set(map(type, rows)) == {tuple} and set(map(len, rows)) == {len(schema.fields)}
        columns = zip(*(rows if is_plain else [_as_tuple(row, schema, operator) for row in rows]), strict=True)
        arrays = []
        for values, field, convert in zip(columns, arrow, converts, strict=True):
            try:
                given = values if convert is None else [None if value is None else convert(value) for value in values]
                arrays.append(pa.array(given, field.type))
            except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError) as error:
                raise StateError(
                    f"operator {operator!r} gave a wrong value for column {field.name!r}",
                    expected=schema[field.name].dataType.simpleString(),
                    found=str(error)[:300],
                ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=arrow)

    return batch


def arrow_type(kind: spark.DataType) -> pa.DataType:
    """Give the Arrow type of a Spark type. Raises StateError if there is none."""
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


def _as_tuple(row: Any, schema: spark.StructType, operator: str) -> Sequence[Any]:
    width = len(schema.fields)
    if isinstance(row, tuple | list) and len(row) == width:
        return row
    if isinstance(row, Mapping) and row.keys() <= set(schema.names):
        return [row.get(name) for name in schema.names]
    if width == 1 and not isinstance(row, tuple | list | Mapping):
        return (row,)
    raise StateError(
        f"operator {operator!r} gave a wrong row",
        expected=schema.simpleString(),
        found=repr(row)[:200],
        fix="yield a tuple with a value for each column of the output type",
    )


def _instants_as_numbers(kind: spark.DataType) -> Convert | None:
    """What turns instants, which Python has in local time, into numbers; None where there are none."""
    if isinstance(kind, spark.TimestampType):
        return micros_of
    if isinstance(kind, spark.ArrayType):
        element = _instants_as_numbers(kind.elementType)
        return element and (lambda values: [None if value is None else element(value) for value in values])
    if isinstance(kind, spark.MapType):
        return _entries(_instants_as_numbers(kind.keyType), _instants_as_numbers(kind.valueType))
    if isinstance(kind, spark.StructType):
        fields = [_instants_as_numbers(field.dataType) for field in kind.fields]
        if any(fields):
            return lambda row: tuple(
                v if f is None or v is None else f(v) for f, v in zip(fields, _parts(row, kind), strict=True)
            )
    return None


def _entries(key: Convert | None, value: Convert | None) -> Convert | None:
    if key is None and value is None:
        return None

    def converted(entries: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
        return [(key(k) if key else k, value(v) if value and v is not None else v) for k, v in entries.items()]

    return converted


def _parts(row: Any, kind: spark.StructType) -> Sequence[Any]:
    return [row.get(name) for name in kind.names] if isinstance(row, Mapping) else row
