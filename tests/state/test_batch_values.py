"""Values of batches: what they mean is what they mean row by row, and what has another meaning is refused."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import Row

from keygroups.functions import BatchContext, BatchKeys, KeyedBatchFunction, RuntimeContext
from keygroups.state import (
    AggregateFunction,
    AggregatingStateDescriptor,
    Duration,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateError,
    StateTtlConfig,
    ValueStateDescriptor,
)
from keygroups.state.arrow import values_of
from keygroups.state.built_in import Collect
from keygroups.state.grouped import grouped
from keygroups.streams.incoming import joined
from keygroups.testing import KeyedHarness
from state.on_files import FileHarness

NOON = dt.datetime(2024, 1, 1, 12)  # noqa: DTZ001 - local, as Spark's rows have it
Action = Callable[[Any, BatchKeys, pa.RecordBatch], Any]


class Latest(AggregateFunction[Any, Any, Any]):
    """The last value, shown by a function."""

    def __init__(self, show: Callable[[Any], Any]) -> None:
        self.show = show

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        del accumulator
        return value

    def get_result(self, accumulator: Any) -> Any:
        return self.show(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        del acc_a
        return acc_b


class Acting(KeyedBatchFunction):
    """Does something with a state, and yields what comes of it."""

    def __init__(self, action: Action, **descriptors: Any) -> None:
        self.action, self.descriptors = action, descriptors

    def open(self, runtime_context: RuntimeContext) -> None:
        self.context: BatchContext
        for name, descriptor in self.descriptors.items():
            get = "get_state" if descriptor.kind == "value" else f"get_{descriptor.kind}_state"
            setattr(self, name, getattr(runtime_context, get)(descriptor))

    def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
        self.context = ctx
        given = self.action(self, keys, batch)
        yield from given if isinstance(given, Iterator) else [{"found": given}]


def run(action: Action, rows: Sequence[dict[str, Any]] = ({"key": "a", "n": 1},), **descriptors: Any) -> list[Any]:
    harness = KeyedHarness(Acting(action, **descriptors), "key")
    harness.process_batch(rows)
    return [row[0] for row in harness.output]


def renamed(descriptor: Any, name: str) -> Any:
    other = copy(descriptor)
    other.name = name
    return other


@pytest.fixture(params=["Europe/Berlin", "America/New_York"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_times_without_a_zone_are_local() -> None:
    """In rows of a harness, in lists, and in the results of a function."""
    at = ValueStateDescriptor("at", "timestamp")
    rows = [{"key": "a", "at": NOON}]

    def by_column(f: Any, keys: BatchKeys, batch: pa.RecordBatch) -> Any:
        f.at.update_many(keys, batch["at"])
        return [f.at.value() for _ in keys]

    assert run(by_column, rows, at=at) == [NOON]
    assert run(lambda f, keys, _: f.at.update_many(keys, [NOON]) or f.at.get_many(keys), rows, at=at) == [NOON]
    latest = AggregatingStateDescriptor("latest", Latest(lambda value: value), "timestamp")
    assert run(lambda f, keys, batch: f.latest.add_many(keys, batch["at"]), rows, latest=latest) == [NOON]
    of_pandas = pd.Timestamp(NOON)
    assert run(lambda f, keys, _: f.at.update_many(keys, [of_pandas]) or f.at.get_many(keys), rows, at=at) == [NOON]
    assert run(lambda f, keys, _: [f.at.update(of_pandas) or f.at.value() for _ in keys], rows, at=at) == [NOON]
    as_results = AggregatingStateDescriptor("latest", Latest(lambda _: of_pandas), "timestamp")
    assert run(lambda f, keys, batch: f.latest.add_many(keys, batch["at"]), rows, latest=as_results) == [NOON]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("timestamp_ntz", NOON),
        ("struct<a bigint, b string>", (1, "x")),
        ("map<int, int>", {1: 2}),
        ("bigint", 5),
    ],
)
def test_lists_are_added_as_rows_are(kind: str, value: Any) -> None:
    """Their values may be of any type: none is made something else on the way."""
    states: list[Any] = [
        AggregatingStateDescriptor("s", "collect", f"array<{kind}>"),
        AggregatingStateDescriptor("s", "count", "bigint"),
        AggregatingStateDescriptor("s", Latest(repr), kind),
    ]

    def add(f: Any, keys: BatchKeys, _: pa.RecordBatch) -> Any:
        f.by_column.add_many(keys, [value])
        for _ in keys:
            f.by_row.add(value)
            assert f.by_row.get() == f.by_column.get()
            assert f.by_row.get() is not None
        return iter(())

    for state in states:
        run(add, by_row=renamed(state, "by_row"), by_column=renamed(state, "by_column"))


@pytest.mark.parametrize("wrong", ["x", b"x", {"a": 1}, 5])
def test_a_single_value_is_no_column(wrong: Any) -> None:
    states: list[Any] = [
        AggregatingStateDescriptor("s", "count", "bigint"),
        AggregatingStateDescriptor("s", "collect", "array<string>"),
        ReducingStateDescriptor("s", "last", "string"),
    ]
    for state in states:
        with pytest.raises(StateError, match="'s' was given "):
            run(lambda f, keys, _: f.s.add_many(keys, wrong), s=state)


@pytest.mark.parametrize("how", ["sum", "min", "max", "last"])
@pytest.mark.parametrize("wrong", [99.5, False, Decimal(7)])
def test_a_wrong_value_is_refused_even_if_it_does_not_win(how: str, wrong: Any) -> None:
    def add(f: Any, keys: BatchKeys, _: pa.RecordBatch) -> Any:
        for _ in keys:
            f.s.add(5)
            f.s.add(wrong)

    with pytest.raises(StateError, match="reducing state 's' was given a wrong value"):
        run(add, s=ReducingStateDescriptor("s", how, "bigint"))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("tz", [None, "UTC", "Asia/Kolkata"])
def test_times_of_any_unit(unit: str, tz: str | None) -> None:
    column = pa.array([1704110400, None], pa.int64()).cast(pa.timestamp("s", tz)).cast(pa.timestamp(unit, tz))
    expected = NOON if tz is None else dt.datetime.fromtimestamp(1704110400)  # noqa: DTZ006
    assert values_of(column) == [expected, None]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("timestamp_ntz", pa.array([NOON], pa.timestamp("us", "UTC"))),
        ("bigint", pa.array([NOON], pa.timestamp("us", "UTC"))),
        ("bigint", pa.array(["5"])),
        ("bigint", pa.array([True])),
        ("string", pa.array([5])),
        ("array<bigint>", pa.array([["5"]])),
        ("map<string,bigint>", pa.array([[("a", "5")]], pa.map_(pa.string(), pa.string()))),
        ("struct<a bigint>", pa.array([{"a": "5"}])),
        ("struct<a bigint>", pa.array([5])),
        ("array<bigint>", pa.array([b"5"])),
        ("binary", pa.array([[5]])),
        ("decimal(10,2)", pa.array([1.5])),
        ("bigint", pa.array([Decimal("5.00")])),
        ("double", pa.array([Decimal("1.5")])),
        ("float", pa.array([Decimal(16777217)])),
        ("array<double>", pa.array([[Decimal("1.5")]])),
    ],
    ids=str,
)
def test_other_kinds_are_refused(kind: str, values: pa.Array) -> None:
    """As they are row by row, also inside of nested types."""
    with pytest.raises(StateError, match="value state 's' was given a wrong value"):
        run(lambda f, keys, _: f.s.update_many(keys, values), s=ValueStateDescriptor("s", kind))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("bigint", pa.array([5], pa.int8())),
        ("array<bigint>", pa.array([[5]], pa.large_list(pa.int32()))),
        ("string", pa.array(["a"]).dictionary_encode()),
        ("decimal(10,2)", pa.array([Decimal("1.5")])),
        ("decimal(10,2)", pa.array([5], pa.int8())),
        ("struct<a double>", pa.array([{"a": 1}])),
        ("bigint", pa.nulls(1)),
    ],
    ids=str,
)
def test_other_widths_are_taken(kind: str, values: pa.Array) -> None:
    def stored(f: Any, keys: BatchKeys, _: pa.RecordBatch) -> Any:
        f.s.update_many(keys, values)
        return f.s.get_many(keys)

    (found,) = run(stored, s=ValueStateDescriptor("s", kind))
    assert (found.asDict() if isinstance(found, Row) else found) == values.to_pylist()[0]


def test_sums_of_decimals_are_exact_or_refused() -> None:
    """Ten digits more, as in Spark; 38 digits are the most."""
    groups = np.zeros(2, np.int64)
    found = grouped("sum", pa.array([Decimal("99999.99")] * 2, pa.decimal128(7, 2)), groups, 1)
    assert (found.type, found.to_pylist()) == (pa.decimal128(17, 2), [Decimal("199999.98")])
    with pytest.raises(StateError, match="sum of these values is not possible"):
        grouped("sum", pa.array([Decimal(9 * 10**37)] * 2, pa.decimal128(38, 0)), groups, 1)
    total: Any = ReducingStateDescriptor("total", "sum", "decimal(7,2)")
    rows = [{"key": "a", "n": Decimal("99999.99")}] * 2
    with pytest.raises(StateError, match="reducing state 'total' was given a wrong value"):
        run(lambda f, keys, batch: f.total.add_many(keys, batch["n"]), rows, total=total)


def test_decimals_with_more_digits_than_their_type_are_refused() -> None:
    """A sum of Arrow's is one."""
    total = pc.sum(pa.array([Decimal(6 * 10**37)] * 2, pa.decimal128(38, 0)))
    values = pa.array([None], total.type).fill_null(total)
    with pytest.raises(StateError, match="value state 's' was given a wrong value"):
        run(lambda f, keys, _: f.s.update_many(keys, values), s=ValueStateDescriptor("s", "decimal(38,0)"))


@pytest.mark.parametrize("harness", [KeyedHarness, FileHarness])
def test_a_function_that_gives_none_clears(harness: Any) -> None:
    """Between two values of a batch, and at its end."""
    total = ReducingStateDescriptor[int]("total", lambda a, b: a + b or None, "bigint")
    acting = harness(Acting(lambda f, keys, batch: f.total.add_many(keys, batch["n"]), total=total), lambda r: r["key"])
    rows = [("a", 1), ("b", 1), ("a", -1), ("b", 2), ("a", 5), ("c", 3), ("c", -3)]
    acting.process_batch([{"key": key, "n": n} for key, n in rows])
    assert [row[0] for row in acting.output] == [5, 3, None]
    assert acting.number_of_keys("total") == 2
    acting.process_batch([{"key": "b", "n": -3}, {"key": "c", "n": 4}])
    assert [row[0] for row in acting.output[3:]] == [None, 4]
    assert acting.number_of_keys("total") == 2


def test_booleans_are_not_added_up() -> None:
    with pytest.raises(StateError, match=r"sum of these values is not possible .*found bool"):
        grouped("sum", pa.array([True, True]), np.zeros(2, np.int64), 1)


def test_walks_in_walks_keep_their_keys() -> None:
    """``get_many`` of a list walks the keys too."""

    def walk(f: Any, keys: BatchKeys, _: pa.RecordBatch) -> Any:
        for key in keys:
            f.listed.get_many(keys)
            assert [other for other in keys] == ["a", "b"]  # noqa: C416
            f.s.update(f"of {key}")
            yield {"found": [f.context.get_current_key()]}
            f.s.update(f"{f.s.value()}, after a yield")
        yield {"found": f.s.get_many(keys)}

    rows = [{"key": "a"}, {"key": "b"}]
    states = {"s": ValueStateDescriptor("s", "string"), "listed": ListStateDescriptor("listed", "bigint")}
    assert run(walk, rows, **states) == ["a", "b", "of a, after a yield", "of b, after a yield"]


def test_there_is_no_key_outside_of_a_walk() -> None:
    with pytest.raises(StateError, match="there is no current key"):
        run(lambda f, *_: f.context.get_current_key())


def test_values_are_collected_without_a_call_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, with those of former batches; nothing is there where nothing was added."""
    monkeypatch.setattr(Collect, "add", None)
    function = Acting(
        lambda f, keys, batch: f.seen.add_many(keys, batch["n"]),
        seen=AggregatingStateDescriptor("seen", "collect", "array<bigint>"),
    )
    harness = KeyedHarness(function, "key")
    for rows in ([("a", 1), ("b", 2), ("a", 3), ("c", None)], [("b", None), ("a", 4), ("c", 5)]):
        harness.process_batch([{"key": key, "n": n} for key, n in rows])
    assert [row[0] for row in harness.output] == [[1, 3], [2], None, [2], [1, 3, 4], [5]]
    with pytest.raises(StateError, match=r"aggregating state 'seen' .* for key 'a' .expected bigint, found 'text'"):
        harness.process_batch([{"key": "a", "n": "text"}])


@pytest.mark.parametrize(
    ("show", "expected"),
    [
        (lambda n: Row(n=n, text="x"), Row(n=1, text="x")),
        (lambda n: {"n": n, "text": "x"}, Row(n=1, text="x")),
        (lambda n: [n, n], [1, 1]),
        (lambda _: None, None),
    ],
)
def test_results_of_a_function_are_a_column(show: Callable[[Any], Any], expected: Any) -> None:
    latest = AggregatingStateDescriptor("latest", Latest(show), "bigint")
    assert run(lambda f, keys, batch: f.latest.add_many(keys, batch["n"]), latest=latest) == [expected]


def test_results_that_are_no_column_are_refused() -> None:
    latest = AggregatingStateDescriptor("latest", Latest(lambda n: (n, "x")), "bigint")
    with pytest.raises(StateError, match="the results of aggregating state 'latest' are no column"):
        run(lambda f, keys, batch: f.latest.add_many(keys, batch["n"]), latest=latest)


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.map_(pa.string(), pa.int64())])
def test_slices_of_nested_columns(kind: pa.DataType) -> None:
    element: Callable[[int], Any] = (lambda n: (str(n), n)) if pa.types.is_map(kind) else (lambda n: n)
    given = [None if n == 5 else [element(i) for i in range(n)] for n in range(9)]
    column = pa.array(given, kind)
    expected = [None if one is None else dict(one) if pa.types.is_map(kind) else one for one in given]
    for start in range(10):
        for end in range(start, 10):
            assert values_of(column.slice(start, end - start)) == expected[start:end]


@pytest.mark.parametrize("row_bytes", [0, 100])
@pytest.mark.parametrize("most", [1, 200, 1000, 100_000])
def test_batches_are_joined_and_cut(row_bytes: int, most: int) -> None:
    """All rows in their order; no batch is larger than may be, and as few as can be."""
    sizes = [5, 0, 1, 40, 3, 200]
    numbers = iter(range(1000))
    batches = [
        pa.RecordBatch.from_arrays([pa.array([next(numbers) for _ in range(size)], pa.int64())], ["n"])
        for size in sizes
    ]
    found = list(joined(batches, most, lambda: row_bytes))
    assert [n for batch in found for n in batch["n"].to_pylist()] == list(range(sum(sizes)))
    assert all(batch.num_rows for batch in found)
    each = 8 + row_bytes + 1
    assert max(batch.num_rows for batch in found) <= max(most // each, 1)
    assert len(found) <= sum(sizes) // max(most // each, 1) + 1


@pytest.mark.parametrize("harness", [KeyedHarness, FileHarness])
def test_a_function_that_cannot_be_opened_is_closed(harness: Any) -> None:
    closed = []

    class Broken(Acting):
        def open(self, runtime_context: RuntimeContext) -> None:
            raise ValueError(f"no connection for {runtime_context.get_task_name()}")

        def close(self) -> None:
            closed.append(True)

    with pytest.raises(ValueError, match="no connection"):
        harness(Broken(lambda *_: None), lambda row: row["key"])
    assert closed == [True]


@pytest.mark.parametrize(("later", "found"), [(99, 1), (100, None)])
def test_values_of_a_batch_expire_when_their_time_is_over(later: int, found: int | None) -> None:
    """At that millisecond, as row by row."""
    descriptor = ValueStateDescriptor("n", "bigint")
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_millis(100)).build())

    def read_and_write(f: Any, keys: BatchKeys, batch: pa.RecordBatch) -> Any:
        given = f.n.get_many(keys)
        f.n.update_many(keys, batch["n"])
        return given

    running = KeyedHarness(Acting(read_and_write, n=descriptor), "key")
    running.process_batch([{"key": "a", "n": 1}])
    running.output.clear()
    running.advance_processing_time(later)
    running.process_batch([{"key": "a", "n": 2}])
    assert [row[0] for row in running.output] == [found]
