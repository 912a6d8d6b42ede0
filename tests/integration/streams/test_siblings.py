"""``map`` and its siblings: the same rows from a stream, a bounded DataFrame and the harness, of any function."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import keygroups as kg
from integration.streams.functions import COUNTS, LATE, WORDS, Count, Reminder, Sorter
from integration.streams.stream import Stream
from integration.streams.test_process import EVENTS, second
from keygroups.functions import FilterFunction, FlatMapFunction, MapFunction, RuntimeContext
from keygroups.state import StateError, ValueStateDescriptor
from keygroups.testing import KeyedHarness

ROWS = [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5), ("c", 6)]


class Number(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.n = runtime_context.get_state(ValueStateDescriptor("n", "bigint", default=0))

    def map(self, value: Any) -> Any:
        self.n.update(self.n.value() + 1)
        return value.user, self.n.value()


class Twice(FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        yield value.user, value.n
        yield value.user, value.n


class First(FilterFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", "boolean"))

    def filter(self, value: Any) -> bool:
        del value
        is_first = self.seen.value() is None
        self.seen.update(True)
        return is_first


def siblings() -> dict[str, tuple[str, Any, tuple[str, ...]]]:
    """A method of a keyed stream, its function and its types, by the name of the operator."""
    return {
        "map": ("map", lambda row: (row.user, row.n + 1), (COUNTS,)),
        "rich map": ("map", Number(), (COUNTS,)),
        "flat map": ("flat_map", lambda row: [(row.user, row.n)] * 2, (COUNTS,)),
        "rich flat map": ("flat_map", Twice(), (COUNTS,)),
        "filter": ("filter", lambda row: row.n > 3, ()),
        "rich filter": ("filter", First(), ()),
        "reduce": ("reduce", lambda a, b: Row(user=a.user, n=a.n + b.n), ()),
        "map with state": ("map_with_state", lambda row, state: ((row.user, state), row.n), (COUNTS, "bigint")),
        "flat map with state": (
            "flat_map_with_state",
            lambda row, state: ([] if state is None else [(row.user, state)], row.n if state is None else None),
            (COUNTS, "bigint"),
        ),
        "filter with state": ("filter_with_state", lambda _, state: (state is None, 1), ("bigint",)),
        "process": ("process", Count(), (COUNTS,)),
    }


def all_siblings(frame: DataFrame) -> DataFrame:
    keyed = kg.key_by(frame, "user")
    frames: dict[str, DataFrame] = {
        name: getattr(keyed, method)(function, *types, uid=name)
        for name, (method, function, types) in siblings().items()
    }
    named = [frame.select(F.lit(name).alias("name"), "*") for name, frame in frames.items()]
    return reduce(DataFrame.unionAll, named)


def harnesses() -> Iterator[tuple[str, KeyedHarness]]:
    for name, (method, function, types) in siblings().items():
        make: Any = KeyedHarness if method == "process" else getattr(KeyedHarness, method)
        columns = () if types[:1] == (COUNTS,) else (COUNTS,)
        yield name, make(function, "user", *columns, *types, name=name)


EXPECTED: dict[str, list[Any]] = {
    "map": [("a", 2), ("b", 3), ("a", 4), ("a", 5), ("b", 6), ("c", 7)],
    "rich map": [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2), ("c", 1)],
    "flat map": ROWS * 2,
    "rich flat map": ROWS * 2,
    "filter": [("a", 4), ("b", 5), ("c", 6)],
    "rich filter": [("a", 1), ("b", 2), ("c", 6)],
    "reduce": [("a", 1), ("b", 2), ("a", 4), ("a", 8), ("b", 7), ("c", 6)],
    "map with state": [("a", None), ("b", None), ("a", 1), ("a", 3), ("b", 2), ("c", None)],
    "flat map with state": [("a", 1), ("b", 2)],
    "filter with state": [("a", 1), ("b", 2), ("c", 6)],
    "process": [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2), ("c", 1)],
}


def by_name(rows: list[Any]) -> dict[str, list[Any]]:
    names = {row.name for row in rows}
    return {name: sorted(((r.user, r.n) for r in rows if r.name == name), key=str) for name in names}


SORTED = {name: sorted(rows, key=str) for name, rows in EXPECTED.items()}


def test_siblings_in_the_harness() -> None:
    """The same functions, types and rows, without Spark."""
    for name, harness in harnesses():
        harness.process_all([{"user": user, "n": n} for user, n in ROWS])
        assert sorted(harness.output, key=lambda row: str(tuple(row))) == SORTED[name], name


def test_siblings_in_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """In one query: its operators are told apart, and none sees another's state."""
    stream = Stream(spark, tmp_path, EVENTS)
    stream.add(*ROWS[:3])
    stream.add(*ROWS[3:])
    assert by_name(stream.run(all_siblings)) == SORTED


def test_siblings_of_a_bounded_frame(spark: SparkSession) -> None:
    """Its rows have an order where they have an event time: here they come in one file of one partition."""
    frame = spark.createDataFrame(ROWS, COUNTS).coalesce(1)
    assert by_name(all_siblings(frame).collect()) == SORTED


def test_timers_of_a_bounded_frame_fire_at_its_end(spark: SparkSession) -> None:
    """In the order of the event time, whatever the order of the rows."""
    rows = [("a", 3, second(3)), ("b", 2, second(2)), ("a", 1, second(1))]
    frame = spark.createDataFrame(rows, "user string, n bigint, at timestamp")
    columns = "user string, time bigint, domain string, rows array<bigint>"
    found = kg.key_by(frame, "user", event_time="at").process(Reminder(), columns, uid="reminder").collect()
    start = int(second(1).timestamp() * 1000)
    assert sorted((row.user, row.time - start, row.rows) for row in found) == [
        ("a", 1000, [1, 3]),
        ("a", 3000, [1, 3]),
        ("b", 2000, [2]),
    ]


def test_keys_of_a_bounded_frame(spark: SparkSession) -> None:
    """Zeros and NaNs are one key each, and None is one."""
    values = [0.0, -0.0, float("nan"), float("nan"), None, None, 1.5]
    frame = spark.createDataFrame([(value, "x") for value in values], "d double, s string")
    found = kg.key_by(frame, "d", "s").map(Number(), "user string, n bigint", uid="number")
    renamed = kg.key_by(frame.withColumnRenamed("s", "user"), "d", "user").map(Number(), COUNTS, uid="number")
    assert sorted(row.n for row in renamed.collect()) == [1, 1, 1, 1, 2, 2, 2]
    assert found.isStreaming is False


def test_side_outputs_of_a_frame(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, COUNTS)
    found = kg.key_by(frame, "user").process(Sorter(), COUNTS, uid="sorter", side_outputs=[LATE, WORDS])
    assert {tuple(row) for row in kg.main_output(found, LATE, WORDS).collect()} == set(ROWS)
    assert kg.main_output(found, LATE, WORDS).columns == ["user", "n"]
    assert {tuple(row) for row in kg.side_output(found, LATE).collect()} == {(u, -n) for u, n in ROWS if n % 2}
    assert sorted(row.value for row in kg.side_output(found, WORDS).collect()) == ["even"] * 3 + ["odd"] * 3
    assert kg.main_output(frame) is frame


@pytest.mark.parametrize("wrong", [None, Number, 7, Twice()])
def test_a_wrong_function_is_refused(spark: SparkSession, wrong: Any) -> None:
    with pytest.raises(StateError, match=r"map has a wrong function .expected a callable or a MapFunction"):
        kg.key_by(spark.range(1), "id").map(wrong, "id bigint", uid="map")


def test_a_function_with_state_gives_a_pair(spark: SparkSession) -> None:
    found = kg.key_by(spark.range(1), "id").map_with_state(lambda row, _: row, "id bigint", "bigint", uid="pair")
    with pytest.raises(
        Exception, match=r"the function of operator 'pair' gave no pair .expected \(output, new state\)"
    ):
        found.collect()
    with pytest.raises(StateError, match="a wrong function"):
        kg.key_by(spark.range(1), "id").filter_with_state(None, "bigint", uid="pair")  # type: ignore[arg-type]
