"""Types from DDL, against Spark's own parser."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as spark_types

from keygroups.state.errors import StateError
from keygroups.state.types import parse_type

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


@given(TYPES)
def test_each_type_comes_back(kind: spark_types.DataType) -> None:
    assert parse_type(kind.simpleString()) == kind
    assert parse_type(kind) is kind


@pytest.mark.parametrize(
    "text",
    [
        "bigint",
        "LONG",
        " decimal ",
        "decimal(5)",
        "numeric(5, 2)",
        "varchar(3)",
        "user string, n bigint",
        "user: string, n: bigint",
        "`odd ``name` int NOT NULL COMMENT 'it''s', b array<int>",
        "struct<a: int, b struct<>>",
        "a map<string, array<struct<b: double>>>",
        "interval day to second",
        "interval month",
        "date date",
        "timestamp",
        "1a int",
    ],
)
@pytest.mark.usefixtures("spark")
def test_text_means_what_it_means_in_spark(text: str) -> None:
    assert parse_type(text) == spark_types._parse_datatype_string(text)


@pytest.mark.usefixtures("spark")
@settings(deadline=None, max_examples=15)
@given(kind=TYPES)
def test_spark_reads_what_we_read(kind: spark_types.DataType) -> None:
    assert parse_type(kind.simpleString()) == spark_types._parse_datatype_string(kind.simpleString())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bigin",
        "array<int",
        "map<int>",
        "a int b",
        "decimal(x)",
        "decimal(1, 2, 3)",
        "char",
        "varchar()",
        "interval day to year",
        "a int,",
        "array<struct<0: int>>",
    ],
)
def test_a_wrong_text_is_shown_with_the_place(text: str) -> None:
    with pytest.raises(StateError, match=r"is no type .expected Spark DDL, .*found "):
        parse_type(text)


@pytest.mark.parametrize("given_type", [None, int, 5])
def test_a_type_is_needed(given_type: object) -> None:
    """Rows D1, D4."""
    with pytest.raises(StateError, match="a type is missing"):
        parse_type(cast(Any, given_type))
