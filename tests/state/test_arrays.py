"""Arrow arrays of what a function gives: no value changes on the way."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Row

from keygroups.state.arrays import array_maker
from keygroups.state.arrow import MISTAKES, arrow_type, fitting, values_of
from keygroups.state.types import parse_type

NOON = dt.datetime(2026, 11, 26, 12)  # noqa: DTZ001 - a time without a zone
THERE = NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=5)))


@pytest.mark.parametrize(
    ("ddl", "value"),
    [
        ("bigint", 1.75),
        ("bigint", 2.0),
        ("int", True),
        ("smallint", 40_000),
        ("float", 1e300),
        ("double", "1.5"),
        ("timestamp_ntz", THERE),
        ("struct<at timestamp_ntz>", (THERE,)),
        ("timestamp", 5),
        ("timestamp_ntz", 5),
        ("date", 5),
        ("date", NOON),
        ("string", b"x"),
        ("binary", "x"),
        ("array<string>", "ab"),
        ("array<bigint>", {3, 2}),
        ("array<bigint>", [1, 2.5]),
        ("array<bigint>", np.array(["2026-11-26"], "datetime64[ns]")),
        ("map<string, bigint>", [("a", 1)]),
        ("map<string, bigint>", {"a": 1.5}),
        ("struct<a: bigint>", {"a": 1, "c": 2}),
        ("struct<a: bigint, b: bigint>", (1,)),
        ("decimal(10, 2)", 1.5),
    ],
)
def test_a_value_of_another_kind_is_refused(ddl: str, value: object) -> None:
    """Alone, and beside one that fits."""
    make = array_maker(parse_type(ddl))
    for values in ([value], [None, value]):
        with pytest.raises(MISTAKES):
            make(values)


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
    kind = arrow_type(parse_type("struct<a bigint, b bigint>"))
    with pytest.raises(MISTAKES):
        fitting(pa.array([dict.fromkeys(names, 1)]), kind)
    assert fitting(pa.array([{"b": 1}]), kind).to_pylist() == [{"a": None, "b": 1}]
