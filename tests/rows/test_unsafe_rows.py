"""UnsafeRows made in Python against those that Spark makes, byte by byte."""

from __future__ import annotations

import datetime as dt
import math
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession
from pyspark.sql import types as spark_types

from keygroups.errors import SettingError
from keygroups.keyed.forms import frozen
from keygroups.partition.columns import column_decoder
from keygroups.rows.decimals import scaled
from keygroups.rows.decode import bytes_of, row_decoder
from keygroups.rows.encode import row_encoder
from keygroups.rows.times import BeyondDate, BeyondTime, micros_of
from keygroups.state.arrays import array_maker
from keygroups.state.arrow import values_of
from keygroups.state.types import parse_type

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


@pytest.mark.parametrize("ddl", SCHEMAS, ids=range(len(SCHEMAS)))
def test_rows_are_those_of_spark(spark: SparkSession, ddl: str) -> None:
    """The same bytes as Spark's, from which the same values come back."""
    schema = parse_type(ddl)
    assert isinstance(schema, spark_types.StructType)
    encode, decode = row_encoder(schema), row_decoder(schema)
    helper: Any = spark._jvm

    @settings(max_examples=3, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(present(schema), min_size=1, max_size=60))
    def check(rows: list[Any]) -> None:
        frame: Any = spark.createDataFrame(rows, schema)
        expected = [bytes(row) for row in helper.keygroups.tests.UnsafeRows.of(frame._jdf)]
        found = encode(rows)
        assert [row.hex() for row in found] == [row.hex() for row in expected]
        columns = decode(bytes_of(expected))
        for values, row in zip(zip(*columns, strict=True), rows, strict=True):
            assert seen(values) == seen(row)

    check()


def seen(value: Any) -> Any:
    if isinstance(value, dict):
        return {frozen(seen(key)): seen(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [seen(part) for part in value]
    if isinstance(value, bytes | bytearray):
        return type(value), value
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def test_entries_of_a_map_keep_their_order() -> None:
    """As Python's own dicts do."""
    schema = parse_type("a map<string,bigint>")
    assert isinstance(schema, spark_types.StructType)
    given = {text: len(text) for text in ("", "one", "three", "a text of more than a word")}
    ((found,),) = row_decoder(schema)(bytes_of(row_encoder(schema)([(given,)])))
    assert list(found.items()) == list(given.items())


def test_no_rows_are_no_bytes() -> None:
    """A batch in which nothing was written."""
    schema = parse_type("a bigint, b string")
    assert isinstance(schema, spark_types.StructType)
    assert row_encoder(schema)([]) == []
    assert row_decoder(schema)(bytes_of([])) == [[], []]


def test_a_type_that_state_cannot_have_is_refused() -> None:
    """When the codec is made, not with the first row."""
    schema = spark_types.StructType([spark_types.StructField("a", spark_types.YearMonthIntervalType())])
    for make in (row_encoder, row_decoder):
        with pytest.raises(SettingError, match="state cannot have the type interval year to month"):
            make(schema)


def test_times_that_python_does_not_have_come_back() -> None:
    """Of the year 12000 and of year -5, beside others."""
    schema = parse_type("a date, b timestamp, c timestamp_ntz")
    assert isinstance(schema, spark_types.StructType)
    day, micros = 366 * 10_000, 366 * 10_000 * 86_400_000_000
    far = [(BeyondDate(sign * day), BeyondTime(sign * micros), BeyondTime(sign * micros)) for sign in (1, -1)]
    rows: list[Any] = [*far, (dt.date(2026, 1, 1), LAST, LAST), (None, None, None)]
    encoded = row_encoder(schema)(rows)
    assert list(zip(*row_decoder(schema)(bytes_of(encoded)), strict=True)) == rows
    arrays = column_decoder(schema)(bytes_of(encoded))
    assert list(zip(*map(values_of, arrays), strict=True)) == rows
    makers = [array_maker(field.dataType) for field in schema.fields]
    assert [make(list(column)) for make, column in zip(makers, zip(*rows, strict=True), strict=True)] == arrays


def test_an_hour_that_comes_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """``fold`` tells the two apart."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        first = dt.datetime(2026, 10, 25, 2, 30, 0, 123456)  # noqa: DTZ001 - local time
        second = first.replace(fold=1)
        assert micros_of(second) - micros_of(first) == 3600 * 1_000_000
        assert spark_types.TimestampType().fromInternal(micros_of(second)) == second
        assert spark_types.TimestampType().fromInternal(micros_of(second)).fold == 1
        assert micros_of(dt.datetime(1969, 12, 31, 23, 59, 59, 5, tzinfo=dt.timezone.utc)) == -999_995
    finally:
        monkeypatch.undo()
        time.tzset()
