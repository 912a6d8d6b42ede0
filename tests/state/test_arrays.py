"""Arrow arrays of what a function gives: no value changes on the way."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Row

from keygroups.state.arrays import array_maker, column_maker
from keygroups.state.arrow import MISTAKES, values_of
from keygroups.state.types import parse_type

NOON = dt.datetime(2026, 11, 26, 12)  # noqa: DTZ001 - a time without a zone


@pytest.mark.parametrize(
    ("ddl", "values", "wanted"),
    [
        ("bigint", [1, None, np.int64(2)], [1, None, 2]),
        ("double", [1, 2.5, np.float32(0.5), None], [1.0, 2.5, 0.5, None]),
        ("float", [float("inf"), 0.5], [float("inf"), 0.5]),
        ("decimal(10, 2)", [5, Decimal("1.50")], [Decimal("5.00"), Decimal("1.50")]),
        ("timestamp_ntz", [NOON, None], [NOON, None]),
        ("array<array<bigint>>", [[[1], None, []], None, [], ((2, 3),)], [[[1], None, []], None, [], [[2, 3]]]),
        ("array<bigint>", [np.array([1, 2])], [[1, 2]]),
        ("map<string, array<bigint>>", [{"a": [1], "b": None}, None, {}], [{"a": [1], "b": None}, None, {}]),
        ("struct<a: bigint, b: string>", [(1, "x"), None, {"b": "y"}, Row(a=2, b=None)],
         [Row(a=1, b="x"), None, Row(a=None, b="y"), Row(a=2, b=None)]),
        ("struct<a: bigint>", [], []),
        ("array<struct<a: bigint>>", [[(1,), None]], [[Row(a=1), None]]),
        ("binary", [b"x", bytearray(b"y")], [b"x", b"y"]),
    ],
)  # fmt: skip
def test_values_that_fit_come_back(ddl: str, values: list[Any], wanted: list[Any]) -> None:
    """Nulls at every depth too."""
    array = array_maker(parse_type(ddl))(values)
    array.validate(full=True)
    assert values_of(array) == wanted


@pytest.mark.parametrize("names", [("x", "y"), ("a", "b", "c"), ("A",)])
def test_a_struct_with_another_field_is_refused(names: tuple[str, ...]) -> None:
    """Arrow would make null of the fields that are not there."""
    make = column_maker(parse_type("struct<a bigint, b bigint>"))
    with pytest.raises(MISTAKES):
        make(pa.array([dict.fromkeys(names, 1)]))
    assert make(pa.array([{"b": 1}])).to_pylist() == [{"a": None, "b": 1}]
