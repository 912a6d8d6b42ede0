"""Descriptors: what they hold, and what they refuse when they are made."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from keygroups.state import (
    AggregateFunction,
    AggregatingStateDescriptor,
    Duration,
    FoldFunction,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReduceFunction,
    ReducingStateDescriptor,
    SortedMapStateDescriptor,
    StateDescriptor,
    StateError,
    StateTtlConfig,
    ValueStateDescriptor,
)


class Sum(ReduceFunction[int]):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class Append(FoldFunction[int, str]):
    def fold(self, accumulator: str, value: int) -> str:
        return accumulator + str(value)


class Mean(AggregateFunction[int, tuple[int, int], float]):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[1] / accumulator[0]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


MAKERS: dict[str, Callable[[Any, Any], StateDescriptor]] = {
    "value": lambda name, kind: ValueStateDescriptor(name, kind, default=0),
    "list": ListStateDescriptor,
    "map": lambda name, kind: MapStateDescriptor(name, "string", kind),
    "sorted map": lambda name, kind: SortedMapStateDescriptor(name, "string", kind),
    "reducing": lambda name, kind: ReducingStateDescriptor(name, Sum(), kind),
    "aggregating": lambda name, kind: AggregatingStateDescriptor(name, Mean(), kind),
    "folding": lambda name, kind: FoldingStateDescriptor(name, "", Append(), kind),
}


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Callable[[Any, Any], StateDescriptor]:
    return MAKERS[request.param]


def test_a_descriptor_is_a_name_and_a_type(make: Callable[[Any, Any], StateDescriptor]) -> None:
    """Row D1."""
    made = make("s", "bigint")
    assert (made.get_name(), made.type, made.ttl) == ("s", LongType(), None)
    assert made.kind in repr(made)
    assert "'s'" in repr(made)
    assert "bigint" in repr(made)
    assert make("", LongType()).type == LongType()


@pytest.mark.parametrize("kind", [None, "bigin", int])
def test_a_wrong_type_names_the_state(make: Callable[[Any, Any], StateDescriptor], kind: object) -> None:
    """Rows D1, D4."""
    with pytest.raises(StateError, match="the type of state 's' is wrong"):
        make("s", kind)


@pytest.mark.parametrize("name", [None, 5])
def test_a_name_is_a_text(make: Callable[[Any, Any], StateDescriptor], name: object) -> None:
    """Row D1."""
    with pytest.raises(StateError, match="a state has no name"):
        make(name, "bigint")


def test_time_to_live(make: Callable[[Any, Any], StateDescriptor]) -> None:
    """Row TT1: an update type of Disabled is none."""
    made = make("s", "bigint")
    builder = StateTtlConfig.new_builder(Duration.of_hours(1))
    lives = []
    for update_type in StateTtlConfig.UpdateType:
        made.enable_time_to_live(builder.set_update_type(update_type).build())
        lives.append(made.ttl and made.ttl.update_type)
    assert lives == [None, *list(StateTtlConfig.UpdateType)[1:]]
    with pytest.raises(StateError, match="state 's' has a wrong time to live"):
        made.enable_time_to_live(cast(Any, Duration.of_hours(1)))


@pytest.mark.parametrize("function", [Sum(), operator.add, lambda a, b: a + b])
def test_reducing(function: Callable[[int, int], int]) -> None:
    """Row R1."""
    made = ReducingStateDescriptor("s", function, "bigint")
    assert made.reduce(1, 2) == 3
    assert made.get_reduce_function() is function


@pytest.mark.parametrize("function", [Append(), lambda accumulator, value: accumulator + str(value)])
def test_folding(function: Callable[[str, int], str]) -> None:
    """Row F1."""
    assert FoldingStateDescriptor("s", "", function, "string").fold("1", 2) == "12"


def test_aggregating() -> None:
    """Row A1."""
    assert AggregatingStateDescriptor("s", Mean(), "n bigint, sum bigint").get_agg_function().add(3, (0, 0)) == (1, 3)


@pytest.mark.parametrize("wrong", [None, 5, Sum, Mean])
def test_a_wrong_function_names_the_state(wrong: object) -> None:
    """Rows R1, A1: a class is no function of a state either."""
    for make_wrong in (
        lambda: ReducingStateDescriptor("s", cast(Any, wrong), "bigint"),
        lambda: AggregatingStateDescriptor("s", cast(Any, wrong), "bigint"),
        lambda: FoldingStateDescriptor("s", 0, cast(Any, wrong), "bigint"),
    ):
        with pytest.raises(StateError, match="state 's' has a wrong function"):
            make_wrong()


def test_a_map_has_two_types() -> None:
    made: MapStateDescriptor = MapStateDescriptor("s", "string", "bigint")
    assert (made.key_type, made.value_type) == (StringType(), LongType())
    with pytest.raises(StateError, match="the type of state 's' is wrong"):
        MapStateDescriptor("s", "strin", "bigint")
    with pytest.raises(StateError, match="the keys of state 's' are maps"):
        MapStateDescriptor("s", "array<map<string, int>>", "bigint")
    collated = StructType([StructField("a", StringType("UTF8_LCASE"))])
    with pytest.raises(
        StateError, match=r"the keys of state 's' are texts with a collation .*found struct<a:string coll"
    ):
        MapStateDescriptor("s", collated, "bigint")


@pytest.mark.parametrize("key", ["array<int>", "map<int, int>", "struct<a: int, b: struct<c: array<int>>>", "void"])
def test_keys_of_a_sorted_map_have_an_order(key: str) -> None:
    """Row SM2."""
    SortedMapStateDescriptor("s", "a int, b struct<c: string, d: timestamp>", "bigint")
    with pytest.raises(StateError, match=r"the keys of (sorted map state 's' have no order|state 's' are maps)"):
        SortedMapStateDescriptor("s", key, "bigint")
