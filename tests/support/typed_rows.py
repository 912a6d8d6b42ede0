"""Types that Spark has, and rows of them."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql import types as spark_types

from keygroups.columns.kinds import Fields
from keygroups.columns.rows import to_columns, to_rows
from keygroups.keyed.forms import frozen
from keygroups.rows.decimals import scaled

SCHEMAS = [
    "a boolean, b tinyint, c smallint, d int, e bigint",
    "a float, b double, c date, d timestamp, e timestamp_ntz",
    "a decimal(18,3), b decimal(38,10), c decimal(20,0), d bigint",
    "a string, b binary, c string",
    "a struct<x bigint, y string, z struct<u int>>, b string",
    "a array<int>, b array<string>, c array<boolean>, d array<double>, e array<array<bigint>>, f array<decimal(38,2)>",
    "a map<string,bigint>, b map<int,struct<x string, y double>>, c array<map<bigint,array<string>>>",
    ", ".join(f"c{i} bigint" for i in range(70)),
    "a struct<>, b array<struct<>>, c interval day to second, d array<interval day to second>, e bigint",
]


def whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def value_of(kind: spark_types.DataType) -> st.SearchStrategy[Any]:
    """Values of a type, None among them."""
    return st.none() | present(kind)


def present(kind: spark_types.DataType) -> st.SearchStrategy[Any]:
    match kind:
        case spark_types.StructType():
            make = Row(*kind.names)
            return st.tuples(*(value_of(f.dataType) for f in kind.fields)).map(lambda values: make(*values))
        case spark_types.ArrayType():
            return st.lists(value_of(kind.elementType), max_size=5)
        case spark_types.MapType():
            return st.dictionaries(
                present(kind.keyType), value_of(kind.valueType), max_size=1
            )  # Spark's order of more differs
        case spark_types.DecimalType():
            limit = 10**kind.precision - 1
            return st.integers(-limit, limit).map(lambda number: scaled(number, kind.scale))
    return SIMPLE[type(kind)]


FIRST, LAST = (dt.datetime.fromisoformat(text) for text in ("1970-01-02", "2200-01-01"))
TIMES = st.datetimes(FIRST, LAST)
LONGEST = dt.timedelta(microseconds=(1 << 63) - 1)
SIMPLE: dict[type[spark_types.DataType], st.SearchStrategy[Any]] = {
    spark_types.BooleanType: st.booleans(),
    spark_types.ByteType: whole(8),
    spark_types.ShortType: whole(16),
    spark_types.IntegerType: whole(32),
    spark_types.LongType: whole(64),
    spark_types.FloatType: st.floats(width=32).map(lambda x: math.nan if math.isnan(x) else x),  # we write one NaN only
    spark_types.DoubleType: st.floats().map(lambda x: math.nan if math.isnan(x) else x),
    spark_types.DateType: st.dates(dt.date(1800, 1, 1), dt.date(2200, 1, 1)),
    spark_types.TimestampType: TIMES,
    spark_types.TimestampNTZType: TIMES,
    spark_types.DayTimeIntervalType: st.timedeltas(-LONGEST, LONGEST),
    spark_types.StringType: st.text(st.characters(codec="utf-8"), max_size=20),
    spark_types.BinaryType: st.binary(max_size=20),
}


def seen(value: Any) -> Any:
    if isinstance(value, dict):
        return {frozen(seen(key)): seen(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [seen(part) for part in value]
    if isinstance(value, bytes | bytearray):
        return type(value), value
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def shown(rows: pa.Array, fields: Fields) -> pa.StructArray:
    """The rows as columns, after a check that they come back."""
    columns = to_columns(rows, fields)
    assert columns is not None
    columns.validate(full=True)
    assert to_rows(columns, fields).cast(pa.binary()).equals(rows.cast(pa.binary()))
    return columns


ATOMS = st.sampled_from(
    [
        spark_types.BooleanType(),
        spark_types.ByteType(),
        spark_types.ShortType(),
        spark_types.IntegerType(),
        spark_types.LongType(),
        spark_types.FloatType(),
        spark_types.DoubleType(),
        spark_types.DateType(),
        spark_types.TimestampType(),
        spark_types.TimestampNTZType(),
        spark_types.StringType(),
        spark_types.BinaryType(),
        spark_types.DecimalType(38, 18),
        spark_types.DayTimeIntervalType(0, 3),
        spark_types.YearMonthIntervalType(0, 1),
    ]
)
NAMES = st.from_regex("[abcXYZ_][abcXYZ_09]{0,4}", fullmatch=True)


def structs(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[spark_types.StructType]:
    fields = st.lists(st.tuples(NAMES, inner), min_size=1, max_size=4, unique_by=lambda field: field[0].lower())
    return fields.map(lambda fs: spark_types.StructType([spark_types.StructField(*f) for f in fs]))


TYPES: st.SearchStrategy[spark_types.DataType] = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        inner.map(spark_types.ArrayType), st.builds(spark_types.MapType, inner, inner), structs(inner)
    ),
    max_leaves=8,
)
