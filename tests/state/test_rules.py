"""The table of types: a value is taken, or refused, in the same way wherever it is given."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql import types as spark_types

from keygroups.functions import Context, KeyedProcessFunction, RuntimeContext
from keygroups.rows.pickled import PickleType, pickle, unpickle
from keygroups.rows.times import BeyondDate, BeyondTime
from keygroups.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateError,
    ValueStateDescriptor,
)
from keygroups.state.arrays import array_maker, column_maker
from keygroups.state.arrow import MISTAKES, values_of
from keygroups.state.rules import RULES, taker
from keygroups.state.types import parse_type
from keygroups.streams.outgoing import batch_maker
from state.probe import Probed

NOON = dt.datetime(2026, 11, 26, 12)  # noqa: DTZ001 - a time without a zone
THERE = NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=5)))
DAY = dt.date(2026, 11, 26)
ONE_X: Any = (1, "x")
FAR = BeyondTime(1 << 60)
FAR_DAY = BeyondDate(1 << 30)


class Color(str, Enum):
    RED = "red"


class Size(IntEnum):
    BIG = 7


class AB(NamedTuple):
    a: Any
    b: Any


class BA(NamedTuple):
    b: Any
    a: Any


TAKEN: list[tuple[str, Any, Any]] = [
    ("boolean", True, True),
    ("boolean", np.bool_(False), False),
    ("tinyint", -128, -128),
    ("smallint", np.int64(-32768), -32768),
    ("int", np.uint8(255), 255),
    ("bigint", (1 << 63) - 1, (1 << 63) - 1),
    ("bigint", Size.BIG, 7),
    ("float", 0.1, np.float32(0.1).item()),
    ("float", np.float64(0.5), 0.5),
    ("float", 1 << 24, float(1 << 24)),
    ("float", math.inf, math.inf),
    ("double", 5, 5.0),
    ("double", np.int32(5), 5.0),
    ("double", (1 << 53) + 2, float((1 << 53) + 2)),
    ("double", np.float32(0.1), np.float32(0.1).item()),
    ("double", -math.inf, -math.inf),
    ("decimal(10,2)", Decimal("1.50"), Decimal("1.50")),
    ("decimal(10,2)", Decimal("1.5000"), Decimal("1.50")),
    ("decimal(10,2)", Decimal("1E+2"), Decimal("100.00")),
    ("decimal(10,2)", 5, Decimal("5.00")),
    ("decimal(10,2)", np.int64(-5), Decimal("-5.00")),
    ("decimal(38,0)", 10**38 - 1, Decimal(10**38 - 1)),
    ("string", "é", "é"),
    ("string", Color.RED, "red"),
    ("string", np.str_("x"), "x"),
    ("binary", bytearray(b"x"), b"x"),
    ("binary", memoryview(b"x"), b"x"),
    ("binary", np.bytes_(b"x"), b"x"),
    ("date", DAY, DAY),
    ("date", np.datetime64("2026-11-26"), DAY),
    ("date", FAR_DAY, FAR_DAY),
    ("timestamp", NOON, NOON),
    ("timestamp", THERE, dt.datetime.fromtimestamp(THERE.timestamp())),  # noqa: DTZ006 - local time
    ("timestamp", pd.Timestamp(NOON), NOON),
    ("timestamp", np.datetime64(NOON, "ms"), NOON),
    ("timestamp", FAR, FAR),
    ("timestamp_ntz", NOON, NOON),
    ("timestamp_ntz", NOON.replace(fold=1), NOON),
    ("timestamp_ntz", pd.Timestamp(NOON), NOON),
    ("timestamp_ntz", np.datetime64(NOON, "ns"), NOON),
    ("timestamp_ntz", FAR, FAR),
    ("interval day to second", dt.timedelta(5, 6, 7), dt.timedelta(5, 6, 7)),
    ("interval day to second", pd.Timedelta(days=5), dt.timedelta(5)),
    ("interval day to second", np.timedelta64(5, "D"), dt.timedelta(5)),
    ("array<bigint>", (1, None, np.int64(2)), [1, None, 2]),
    ("array<bigint>", np.array([1, 2]), [1, 2]),
    ("array<array<string>>", [["a"], [Color.RED, None], None, ()], [["a"], ["red", None], None, []]),
    ("array<timestamp_ntz>", np.array([NOON], "datetime64[us]"), [NOON]),
    ("map<string, double>", {"a": 1, np.str_("b"): None}, {"a": 1.0, "b": None}),
    ("map<string, bigint>", MappingProxyType({"a": 1}), {"a": 1}),
    ("struct<a: bigint, b: string>", (1, "x"), Row(a=1, b="x")),
    ("struct<a: bigint, b: string>", [1, None], Row(a=1, b=None)),
    ("struct<a: bigint, b: string>", Row(b="x", a=1), Row(a=1, b="x")),
    ("struct<a: bigint, b: string>", Row(b="x"), Row(a=None, b="x")),
    ("struct<a: bigint, b: string>", Row(*ONE_X), Row(a=1, b="x")),
    ("struct<a: bigint, b: string>", AB(1, "x"), Row(a=1, b="x")),
    ("struct<a: bigint, b: string>", BA("x", 1), Row(a=1, b="x")),
    ("struct<a: bigint, b: string>", {"b": Color.RED}, Row(a=None, b="red")),
    ("struct<a: struct<b: decimal(4,1)>>", ((5,),), Row(a=Row(b=Decimal("5.0")))),
    ("struct<>", (), Row()()),
]  # fmt: skip
REFUSED: list[tuple[str, Any, str]] = [
    ("boolean", 1, "give True or False"),
    ("tinyint", 128, "give a number from -128 to 127"),
    ("smallint", 40_000, "from -32768 to 32767"),
    ("int", True, "give an int"),
    ("int", np.bool_(True), "give an int"),
    ("bigint", 2.0, "give an int"),
    ("bigint", np.float64(2), "give an int"),
    ("bigint", Decimal(2), "give an int"),
    ("bigint", "2", "give an int"),
    ("bigint", 1 << 63, "or use a wider type"),
    ("bigint", np.uint64(1 << 63), "or use a wider type"),
    ("bigint", np.timedelta64(5, "s"), "give an int"),
    ("float", (1 << 24) + 1, "more digits than the type holds"),
    ("float", 1e300, "too large"),
    ("double", (1 << 53) + 1, "more digits than the type holds: use a decimal, or give float"),
    ("double", 10**400, "too large"),
    ("double", "1.5", "give a float"),
    ("double", Decimal("1.5"), "give a float"),
    ("double", True, "give a float"),
    ("decimal(10,2)", Decimal("1.005"), "more than 2 digits after the point: round it"),
    ("decimal(10,2)", Decimal(10**8), "more than 8 digits before the point"),
    ("decimal(10,2)", 10**8, "more than 8 digits before the point"),
    ("decimal(10,2)", Decimal("NaN"), "not finite"),
    ("decimal(10,2)", Decimal("1E-400000"), "more than 2 digits after the point"),
    ("decimal(10,2)", Decimal("1E+400000"), "more than 8 digits before the point"),
    ("decimal(10,2)", 1.5, "give a Decimal"),
    ("decimal(10,2)", True, "give a Decimal"),
    ("string", b"x", "give a str"),
    ("string", 5, "give a str"),
    ("string", "\ud800", "no valid text"),
    ("binary", "x", "give bytes"),
    ("date", NOON, "it has a time of day"),
    ("date", THERE, "it has a time of day"),
    ("date", 5, "give a date"),
    ("date", FAR, "give a date"),
    ("timestamp", DAY, "give a datetime"),
    ("timestamp", 5, "give a datetime"),
    ("timestamp", pd.NaT, "give a datetime"),
    ("timestamp", pd.Timestamp(1, unit="ns"), "parts of a microsecond"),
    ("timestamp", np.datetime64("NaT", "s"), "give a datetime"),
    ("timestamp", np.datetime64(1, "ns"), "parts of a microsecond"),
    ("timestamp", np.datetime64("2026-11-26"), "give a datetime"),
    ("timestamp_ntz", THERE, "it has a zone"),
    ("timestamp_ntz", DAY, "give a datetime without a zone"),
    ("timestamp_ntz", FAR_DAY, "give a datetime without a zone"),
    ("interval day to second", dt.timedelta.max, "at most 106,751,991 days"),
    ("interval day to second", pd.Timedelta(1, "ns"), "parts of a microsecond"),
    ("interval day to second", 5, "give a timedelta"),
    ("void", 5, "give None"),
    ("array<string>", "ab", "give a list"),
    ("array<bigint>", {3, 2}, "give a list"),
    ("array<bigint>", [1, 2.5], "give an int"),
    ("array<bigint>", np.array([NOON], "datetime64[ns]"), "give an int"),
    ("map<string, bigint>", [("a", 1)], "give a dict"),
    ("map<string, bigint>", {"a": 1.5}, "give an int"),
    ("map<string, bigint>", {None: 1}, "NOT NULL"),
    ("struct<a: bigint>", {"a": 1, "c": 2}, "give a Row"),
    ("struct<a: bigint, b: bigint>", (1,), "give a Row"),
    ("struct<a: bigint, b: bigint>", Row(a=1, c=2), "give a Row"),
    ("struct<a: bigint, b: bigint>", 5, "give a Row"),
    ("struct<a: bigint, b: timestamp_ntz>", (1, THERE), "it has a zone"),
    ("struct<a: bigint not null>", (None,), "NOT NULL"),
    ("struct<a: struct<b: bigint not null>>", {"a": {}}, "NOT NULL"),
]  # fmt: skip


def same(found: Any, kept: Any) -> bool:
    return repr(found) == repr(kept)


def update(kind: str, value: Any) -> Any:
    return Probed(s=ValueStateDescriptor("s", kind)).do(lambda p: p.s.update(value) or p.s.value())


def append(kind: str, value: Any) -> Any:
    return Probed(s=ListStateDescriptor("s", kind)).do(lambda p: p.s.add(value) or p.s.get()[0])


def put(kind: str, value: Any) -> Any:
    return Probed(s=MapStateDescriptor("s", "string", kind)).do(lambda p: p.s.put("k", value) or p.s.get("k"))


def default(kind: str, value: Any) -> Any:
    return Probed(s=ValueStateDescriptor("s", kind, default=value)).do(lambda p: p.s.value())


def array(kind: str, value: Any) -> Any:
    return values_of(array_maker(parse_type(kind))([None, value]))[1]


def output(kind: str, value: Any) -> Any:
    schema = spark_types.StructType([spark_types.StructField(name, parse_type(kind)) for name in "xy"])
    return values_of(batch_maker(schema, "op")([(None, None), (value, None)]).column(0))[1]


def in_array(kind: str, value: Any) -> Any:
    return update(f"array<{kind}>", [value])[0]


def in_arrays(kind: str, value: Any) -> Any:
    return array(f"array<{kind}>", [value])[0]


def in_struct(kind: str, value: Any) -> Any:
    return update(f"struct<x: {kind}>", {"x": value}).x


def in_structs(kind: str, value: Any) -> Any:
    return array(f"struct<x: {kind}>", (value,)).x


def in_map(kind: str, value: Any) -> Any:
    return update(f"map<string, {kind}>", {"k": value})["k"]


def in_maps(kind: str, value: Any) -> Any:
    return array(f"map<string, {kind}>", {"k": value})["k"]


WAYS: list[Callable[[str, Any], Any]] = [
    update, append, put, default, array, output, in_array, in_arrays, in_struct, in_structs, in_map, in_maps,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_value_becomes_the_same_wherever_it_is_given(way: Callable[[str, Any], Any]) -> None:
    for kind, value, kept in TAKEN:
        assert same(way(kind, value), kept), (kind, value)


@pytest.mark.parametrize("way", WAYS)
def test_a_value_is_refused_wherever_it_is_given(way: Callable[[str, Any], Any]) -> None:
    """With the same words."""
    for kind, value, message in REFUSED:
        with pytest.raises((StateError, *MISTAKES)) as caught:
            way(kind, value)
        assert message in str(caught.value), (kind, value)


@pytest.mark.parametrize(
    ("kind", "values", "kept"),
    [
        ("bigint", pa.array([5], pa.int8()), [5]),
        ("bigint", np.array([5], np.uint16), [5]),
        ("bigint", np.array([5, Size.BIG], object), [5, 7]),
        ("double", pa.array([5, (1 << 53) + 2]), [5.0, float((1 << 53) + 2)]),
        ("float", pa.array([0.1, math.inf]), [np.float32(0.1).item(), math.inf]),
        ("decimal(10,2)", pa.array([5, None]), [Decimal("5.00"), None]),
        ("decimal(10,2)", pa.array([Decimal("1.5")]), [Decimal("1.50")]),
        ("string", pa.array(["a"]).dictionary_encode(), ["a"]),
        ("string", pa.array(["a"], pa.large_string()), ["a"]),
        ("binary", pa.array([b"a"], pa.large_binary()), [b"a"]),
        ("date", np.array([DAY], "datetime64[D]"), [DAY]),
        ("timestamp", pa.array([NOON]), [NOON]),
        ("timestamp", pa.array([THERE], pa.timestamp("ns", "UTC")), [dt.datetime.fromtimestamp(THERE.timestamp())]),  # noqa: DTZ006
        ("timestamp_ntz", np.array([NOON], "datetime64[ns]"), [NOON]),
        ("interval day to second", pa.array([dt.timedelta(5)], pa.duration("s")), [dt.timedelta(5)]),
        ("array<bigint>", pa.array([[5], None], pa.large_list(pa.int32())), [[5], None]),
        ("array<decimal(4,1)>", pa.array([[5]]), [[Decimal("5.0")]]),
        ("struct<a: double, b: string>", pa.array([{"a": 1}]), [Row(a=1.0, b=None)]),
        ("map<string, double>", pa.array([[("a", 5)]], pa.map_(pa.string(), pa.int64())), [{"a": 5.0}]),
        ("bigint", pa.nulls(1), [None]),
        ("bigint", pa.chunked_array([[1], [2]]), [1, 2]),
    ],
    ids=str,
)  # fmt: skip
def test_columns_become_the_same_as_their_values(kind: str, values: Any, kept: list[Any]) -> None:
    made = column_maker(parse_type(kind))(values)
    made.validate(full=True)
    assert same(values_of(made), kept)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("bigint", pa.array(["5"])),
        ("bigint", pa.array([True])),
        ("bigint", pa.array([2.0])),
        ("bigint", pa.array([Decimal("5.00")])),
        ("bigint", pa.array([THERE], pa.timestamp("us", "UTC"))),
        ("int", pa.array([1 << 31])),
        ("double", pa.array([(1 << 53) + 1])),
        ("double", pa.array([Decimal("1.5")])),
        ("float", pa.array([Decimal(16777217)])),
        ("float", pa.array([1e300])),
        ("decimal(10,2)", pa.array([1.5])),
        ("decimal(10,2)", pa.array([Decimal("1.005")])),
        ("decimal(10,2)", pa.array([10**8])),
        ("string", pa.array([5])),
        ("string", pa.array([b"x"])),
        ("binary", pa.array(["x"])),
        ("binary", pa.array([[5]])),
        ("date", pa.array([NOON])),
        ("timestamp", pa.array([DAY])),
        ("timestamp", pa.array([1], pa.timestamp("ns", "UTC"))),
        ("timestamp_ntz", pa.array([THERE], pa.timestamp("us", "UTC"))),
        ("timestamp_ntz", np.array([1], "datetime64[ns]")),
        ("interval day to second", pa.array([5])),
        ("array<bigint>", pa.array([["5"]])),
        ("array<bigint>", pa.array([b"5"])),
        ("array<double>", pa.array([[Decimal("1.5")]])),
        ("map<string,bigint>", pa.array([[("a", "5")]], pa.map_(pa.string(), pa.string()))),
        ("struct<a bigint>", pa.array([{"a": "5"}])),
        ("struct<a bigint>", pa.array([5])),
        ("struct<a bigint>", pa.array([{"A": 5}])),
        ("struct<a bigint, b bigint>", pa.array([{"a": 1, "c": 2}])),
        ("struct<a bigint not null>", pa.array([{"a": None}, {"a": 1}])),
        ("array<struct<a bigint not null>>", pa.array([[{"a": None}], [{"a": 1}]])),
        ("bigint", "text"),
        ("bigint", {"a": 1}),
    ],
    ids=str,
)
def test_columns_of_other_kinds_are_refused(kind: str, values: Any) -> None:
    with pytest.raises(MISTAKES):
        column_maker(parse_type(kind))(values)


ATOMS = [
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(6,2)", "decimal(38,10)", "string",
    "binary", "date", "timestamp", "timestamp_ntz", "interval day to second",
]  # fmt: skip
ANY = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-300, 300), st.floats(), st.decimals(), st.text(), st.binary(),
    st.dates(), st.datetimes(), st.datetimes(timezones=st.just(dt.timezone.utc)), st.timedeltas(),
    st.integers(-(1 << 31), (1 << 31) - 1).map(np.int32), st.integers(0, (1 << 64) - 1).map(np.uint64),
    st.just(np.True_), st.floats().map(np.float64), st.floats(width=32).map(np.float32), st.just(Color.RED),
)  # fmt: skip


@pytest.mark.parametrize("kind", ATOMS)
@given(values=st.lists(ANY, max_size=4))
def test_any_column_is_made_of_what_is_kept_of_its_values(kind: str, values: list[Any]) -> None:
    """Or it is refused if one of them is."""
    parsed = parse_type(kind)
    take, make = taker(parsed), array_maker(parsed)
    try:
        kept = [None if value is None else take(value) for value in values]
    except MISTAKES:
        with pytest.raises(MISTAKES):
            make(values)
        return
    made = make(values)
    made.validate(full=True)
    assert same(values_of(made), kept)
    assert same(values_of(column_maker(parsed)(made)), kept)
    assert same([None if value is None else take(value) for value in kept], kept)


def test_each_type_has_a_rule_or_is_refused_with_the_state() -> None:
    for rule in RULES.values():
        assert rule.takes
        assert rule.gives
        assert rule.refuses
    for kind in ("interval year", "char(3)", "varchar(3)", "array<interval month>"):
        with pytest.raises(StateError, match="state 's' cannot have the type"):
            ValueStateDescriptor("s", kind)


class Doing(KeyedProcessFunction):
    def __init__(self, descriptor: Any, action: Callable[[Any], Any]) -> None:
        self.descriptor, self.action = descriptor, action

    def open(self, runtime_context: RuntimeContext) -> None:
        self.s = runtime_context.get_state(self.descriptor)

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        del value, ctx
        yield self.action(self.s)


@pytest.mark.parametrize(
    ("state", "action", "message"),
    [
        (
            ValueStateDescriptor("s", "decimal(10,2)"), lambda s: s.update(Decimal("1.005")),
            r"value state 's' was given a wrong value for key 'a' .expected decimal.10,2., found Decimal.'1.005'.*roun",
        ),
        (
            ValueStateDescriptor("s", "a struct<b array<bigint>>"), lambda s: s.update({"a": {"b": [1, "x"]}}),
            r"value state 's' was given a wrong value in a.b\[1\] for key 'a' .expected bigint, found 'x'.*: give",
        ),
        (
            MapStateDescriptor("s", "bigint", "map<string, double>"), lambda s: s.put(1, {"k": True}),
            r"map state 's' was given a wrong value in \['k'\] for key 'a' .expected double, found True",
        ),
        (
            MapStateDescriptor("s", "bigint", "string"), lambda s: s.get("x"),
            r"a key of map state 's' was given a wrong value for key 'a' .expected bigint, found 'x'",
        ),
        (ListStateDescriptor("s", "string"), lambda s: s.add_all(["a", 5]), "list state 's' .* for key 'a' .*found 5"),
        (
            ReducingStateDescriptor("s", "sum", "tinyint"), lambda s: s.add(100) or s.add(100),
            r"reducing state 's' was given a wrong value for key 'a' .expected tinyint, found 200.: give a number from",
        ),
    ],
)  # fmt: skip
def test_an_error_names_state_key_type_value_and_what_to_do(
    state: Any, action: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(StateError, match=message):
        Probed(s=state).do(lambda p: action(p.s))


def test_an_error_of_an_output_names_column_and_row() -> None:
    make = batch_maker(parse_type("k string, n struct<x bigint>, d date not null"), "op")  # type: ignore[arg-type]
    with pytest.raises(
        StateError,
        match=r"operator 'op' gave a wrong value in x for column 'n', in row \('b', .*expected bigint, found 'y'.*give",
    ):
        make([("a", (1,), DAY), ("b", {"x": "y"}, DAY)])
    with pytest.raises(
        StateError, match=r"a wrong value for column 'd', in row .*expected date, found None.: it is NOT"
    ):
        make([("a", None, DAY), Row(k="b", n=None, d=None)])


@pytest.mark.parametrize(
    ("columns", "row", "kept"),
    [
        ("xs array<bigint>", [None], [[None]]),
        ("xs array<bigint>", [1, 2], [[1, 2]]),
        ("xs array<bigint>", ([1, 2],), [[1, 2]]),
        ("xs array<bigint>", (None,), [None]),
        ("xs array<bigint>", {"xs": [1]}, [[1]]),
        ("n bigint", [1], [1]),
        ("n bigint", 1, [1]),
        ("a bigint, b string", Row(b="x", a=1), [1, "x"]),
        ("a bigint, b string", BA("x", 1), [1, "x"]),
        ("a bigint, b string", {"b": Color.RED}, [None, "red"]),
    ],
)
def test_a_row_is_taken_by_its_names_and_a_list_is_the_value_of_a_column_of_lists(
    columns: str, row: Any, kept: list[Any]
) -> None:
    batch = batch_maker(parse_type(columns), "op")([row])  # type: ignore[arg-type]
    assert [values_of(column)[0] for column in batch.columns] == kept


def test_times_that_python_does_not_have_say_so() -> None:
    with pytest.raises(AttributeError, match="Python cannot give 'year' of a time outside of the years 1 to 9999"):
        _ = FAR.year
    assert BeyondDate(5) == BeyondDate(5) != BeyondTime(5)
    assert unpickle(pickle(FAR)) == FAR


DDL = {
    PickleType: "PickleType()",
    spark_types.DecimalType: "decimal(p,s)",
    spark_types.DayTimeIntervalType: "interval day to second",
    spark_types.ArrayType: "array<…>",
    spark_types.MapType: "map<…>",
    spark_types.StructType: "struct<…>",
}


def test_the_documentation_shows_the_table() -> None:
    rows: dict[tuple[str, ...], list[str]] = {}
    for kind, rule in RULES.items():
        name = DDL.get(kind) or kind().simpleString()
        rows.setdefault((rule.takes, rule.gives, rule.refuses), []).append(f"`{name}`")
    page = (Path(__file__).parents[2] / "docs" / "keyed" / "types.md").read_text()
    shown = page.split("| --- | --- | --- | --- |\n")[1].split("\n\n")[0]
    assert shown.splitlines() == [f"| {', '.join(names)} | {' | '.join(row)} |" for row, names in rows.items()]
