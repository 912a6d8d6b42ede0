"""Rows made in Python, and rows shown as columns, against those that Spark makes, byte by byte."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from keygroups.columns.kinds import fields_of
from keygroups.rows.decode import bytes_of, row_decoder
from keygroups.rows.encode import row_encoder
from keygroups.state.types import parse_type
from support.typed_rows import SCHEMAS, present, seen, shown


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


UNCOMMON = {
    "intervals": ["make_dt_interval(0, id, 1, 2.5)", "make_ym_interval(id, 3)", "null"],
    "decimals": [
        "cast(id as decimal(38,0)) - 5",
        "if(id % 3 = 0, null, cast(-id as decimal(25,4)))",
        "cast(9223372036854775807 as decimal(20,0)) * id",
        "cast(-9223372036854775808 as decimal(38,0))",
        "cast(-99999999999999999999999999999999999999 as decimal(38,0))",
        "cast(id * 256 - 128 as decimal(19,0))",
    ],
    "texts": ["cast(cast(id as string) as char(3))", "cast(concat('a', id) as string) collate utf8_lcase"],
    "nested": ["if(id % 2 = 0, null, named_struct('x', id))", "parse_json(cast(id as string))", "array(id, null)"],
    "numbers": ["cast('NaN' as double)", "cast(-0.0 as float)", "id % 2 = 0"],
}


@pytest.mark.parametrize("name", UNCOMMON)
def test_other_types_of_spark(spark: SparkSession, name: str) -> None:
    frame: Any = spark.range(-20, 200).selectExpr(*UNCOMMON[name])
    helper: Any = spark._jvm
    rows = [bytes(row) for row in helper.keygroups.tests.UnsafeRows.of(frame._jdf)]
    fields = fields_of(frame._jdf.schema().json())
    assert fields is not None
    shown(pa.array(rows, pa.binary()), fields)
