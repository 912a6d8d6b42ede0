"""Types from DDL mean what they mean in Spark."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from pyspark.sql import types as spark_types

from keygroups.state.types import parse_type
from support.typed_rows import TYPES


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
