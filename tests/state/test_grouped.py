"""Aggregates of columns against the same ones value by value."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keygroups.state import StateError
from keygroups.state.built_in import AGGREGATIONS, REDUCES
from keygroups.state.grouped import grouped

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "bigint": (pa.int64(), st.integers(-(1 << 50), 1 << 50)),
    "smallint": (pa.int16(), st.integers(-100, 100)),
    "double": (pa.float64(), st.sampled_from([0.5, -1.25, 3.0, math.nan, math.inf])),
    "decimal": (pa.decimal128(20, 2), st.integers(-1000, 1000).map(lambda n: Decimal(n).scaleb(-2))),
    "string": (pa.string(), st.text(st.characters(codec="utf-8"), max_size=3)),
    "boolean": (pa.bool_(), st.booleans()),
    "timestamp": (pa.timestamp("us"), st.integers(0, 1000)),
    "struct": (pa.struct([("x", pa.int64())]), st.fixed_dictionaries({"x": st.integers(0, 9)})),
}
NUMBERS = ("bigint", "smallint", "double", "decimal")
CASES = [("sum", kind) for kind in NUMBERS]
CASES += [(how, kind) for how in ("min", "max") for kind in KINDS if kind != "struct"]
CASES += [(how, kind) for how in ("last", "count", "collect") for kind in KINDS]


def one_by_one(how: str, values: list[Any]) -> Any:
    if how in REDUCES:
        return reduce(REDUCES[how], values) if values else None
    function = AGGREGATIONS[how]
    accumulator = function.create_accumulator()
    for value in values:
        accumulator = function.add(value, accumulator)
    return function.get_result(accumulator)


@pytest.mark.parametrize(("how", "kind"), CASES)
def test_aggregates_are_those_of_the_values(how: str, kind: str) -> None:
    """Nulls are left out; a NaN is the greatest number."""
    arrow, values = KINDS[kind]

    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.tuples(st.integers(0, 3), st.none() | values), max_size=30))
    def check(rows: list[tuple[int, Any]]) -> None:
        column = pa.array([value for _, value in rows], arrow)
        groups = np.array([group for group, _ in rows], np.int64)
        found = grouped(how, column, groups, 4).to_pylist()
        given = column.to_pylist()
        for group in range(4):
            own = [v for v, (g, _) in zip(given, rows, strict=True) if g == group and v is not None]
            assert repr(found[group]) == repr(one_by_one(how, own))

    check()


def test_a_sum_that_no_bigint_can_hold() -> None:
    """Is an error; two numbers of such a size that come to less are none."""
    most = (1 << 63) - 1
    groups = np.zeros(2, np.int64)
    assert grouped("sum", pa.array([most, -most]), groups, 1).to_pylist() == [0]
    with pytest.raises(StateError, match=r"a sum is out of range \(expected a bigint, found 9223372036854775808"):
        grouped("sum", pa.array([most, 1]), groups, 1)


def test_unsigned_numbers_are_added_up_or_refused() -> None:
    """Those that no bigint can hold do not wrap around."""
    small = pa.array([5, 6], pa.uint64())
    assert grouped("sum", small, np.zeros(2, np.int64), 1).to_pylist() == [11]
    with pytest.raises(StateError, match=r"sum of these values is not possible .*found uint64"):
        grouped("sum", pa.array([(1 << 63) + 5], pa.uint64()), np.zeros(1, np.int64), 1)


def test_a_sum_of_floats_is_that_of_rows() -> None:
    """Each sum is a float; one that no float can hold is refused, as in a row."""
    column, groups = pa.array([1 << 24, 1, 1], pa.float32()), np.zeros(3, np.int64)
    assert grouped("sum", column, groups, 1).to_pylist() == [1 << 24]
    with pytest.raises(StateError, match="sum of these values is not possible"):
        grouped("sum", pa.array([1e38, 3e38], pa.float32()), np.zeros(2, np.int64), 1)
    infinite = pa.array([math.inf, 1], pa.float32())
    assert grouped("sum", infinite, np.zeros(2, np.int64), 1).to_pylist() == [math.inf]


def test_what_cannot_be_aggregated() -> None:
    """An unknown name, and a type that the aggregate does not go with."""
    with pytest.raises(StateError, match="expected sum, min, max, count, last, collect, found 'avg'"):
        grouped("avg", pa.array([1]), np.zeros(1, np.int64), 1)
    with pytest.raises(StateError, match=r"sum of these values is not possible .*found string"):
        grouped("sum", pa.array(["a"]), np.zeros(1, np.int64), 1)
    for values in (pa.array([[1]]), pa.array([{"a": 1}]), pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))):
        for how in ("sum", "min", "max"):
            with pytest.raises(StateError, match=rf"{how} of these values is not possible \(expected .*found "):
                grouped(how, values, np.zeros(1, np.int64), 1)
    assert grouped("sum", pa.nulls(2), np.zeros(2, np.int64), 1).to_pylist() == [None]
