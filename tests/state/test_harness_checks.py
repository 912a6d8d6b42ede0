"""The harness refuses what a query refuses, takes all kinds of functions, and shows what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import Row

from keygroups.functions import (
    BatchKeys,
    Context,
    FilterFunction,
    KeyedBatchFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    RuntimeContext,
    TimeDomain,
)
from keygroups.state import (
    AggregatingStateDescriptor,
    Duration,
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    StateError,
    StateTtlConfig,
    ValueStateDescriptor,
)
from keygroups.testing import KeyedHarness
from state.probe import Probed

LATE = OutputTag("late", "struct<user string, n bigint>")
COUNT = OutputTag("count", "bigint")
TYPE = "user string, n bigint"
ROWS = [{"user": user, "n": n} for user, n in (("ann", 1), ("bob", 2), ("ann", 3))]


class Gives(KeyedProcessFunction):
    """Yields what a test wants."""

    def __init__(self, *rows: Any) -> None:
        self.rows = rows

    def process_element(self, value: Row, ctx: Context) -> Any:
        del value, ctx
        return self.rows


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("ann",), r"gave a wrong row .expected struct<user:string,n:bigint>"),
        ("ann", "gave a wrong row"),
        (("ann", "one"), "gave a wrong value for column 'n'"),
        ((COUNT, 1), "a side output that it did not declare .expected late, found count"),
        ((LATE, None), "gave a wrong row for side output 'late'"),
    ],
)
def test_a_wrong_row_is_refused(row: Any, message: str) -> None:
    harness = KeyedHarness(Gives(row), "user", TYPE, side_outputs=[LATE])
    with pytest.raises(StateError, match=message):
        harness.process(ROWS[0])
    assert harness.output == []


def test_a_returned_row_is_not_taken_for_rows() -> None:
    with pytest.raises(StateError, match=r"gave a wrong row .expected .* found 'ann'"):
        KeyedHarness(Gives("ann", 1), "user", TYPE).process(ROWS[0])


def test_rows_have_the_types_of_the_output() -> None:
    harness = KeyedHarness(
        Gives({"user": "ann"}, (LATE, ("bob", 2)), (COUNT, 3)),
        "user",
        "user string, x double",
        side_outputs=[LATE, COUNT],
    )
    harness.process(ROWS[0])
    assert harness.output == [Row(user="ann", x=None)]
    assert harness.output[0].x is None
    assert harness.side_output(LATE) == [Row(user="bob", n=2)]
    assert harness.side_output(COUNT) == [3]


@pytest.mark.parametrize(("output", "found"), [("bigint", "bigint"), (None, "None")])
def test_an_output_type_has_columns(output: Any, found: str) -> None:
    with pytest.raises(StateError, match=f"has no columns .*found {found}"):
        KeyedHarness(Gives(), "user", output, side_outputs=[LATE])


class AtOnce(KeyedBatchFunction):
    """Gives columns to both outputs."""

    def process_batch(self, keys: BatchKeys, batch: Any, ctx: Any) -> Iterator[Any]:
        del ctx
        yield {"user": keys["user"], "n": keys.reduce(batch["n"], "sum")}
        yield COUNT, {"value": [len(keys)]}


def test_columns_have_the_types_of_the_output() -> None:
    harness = KeyedHarness(AtOnce(), "user", TYPE, side_outputs=[COUNT])
    harness.process_batch(ROWS)
    assert harness.output == [Row(user="ann", n=4), Row(user="bob", n=2)]
    assert harness.side_output(COUNT) == [2]
    harness.process_all([])
    assert len(harness.output) == 2
    with pytest.raises(StateError, match="gave wrong columns"):
        KeyedHarness(AtOnce(), "user", "user string, m bigint", side_outputs=[COUNT]).process_batch(ROWS)


class Doubles(MapFunction):
    def map(self, value: Row) -> Any:
        return value.user, 2 * value.n


class Odd(FilterFunction):
    def filter(self, value: Row) -> bool:
        return bool(value.n % 2)


def _counted(value: Row, state: int | None) -> tuple[Any, int]:
    return (value.user, (state or 0) + 1), (state or 0) + 1


KINDS: dict[str, tuple[Callable[[], KeyedHarness], list[Any]]] = {
    "map": (lambda: KeyedHarness.map(Doubles(), "user", TYPE), [("ann", 2), ("bob", 4), ("ann", 6)]),
    "flat_map": (
        lambda: KeyedHarness.flat_map(lambda row: [(row.user, n) for n in range(row.n - 1)], "user", TYPE),
        [("bob", 0), ("ann", 0), ("ann", 1)],
    ),
    "filter": (lambda: KeyedHarness.filter(Odd(), "user", TYPE), [("ann", 1), ("ann", 3)]),
    "reduce": (
        lambda: KeyedHarness.reduce(lambda old, new: (old.user, old.n + new.n), "user", TYPE),
        [("ann", 1), ("bob", 2), ("ann", 4)],
    ),
    "map_with_state": (
        lambda: KeyedHarness.map_with_state(_counted, "user", TYPE, "bigint"),
        [("ann", 1), ("bob", 1), ("ann", 2)],
    ),
    "flat_map_with_state": (
        lambda: KeyedHarness.flat_map_with_state(
            lambda row, state: ([(row.user, state)] if state else [], row.n), "user", TYPE, "bigint"
        ),
        [("ann", 1)],
    ),
    "filter_with_state": (
        lambda: KeyedHarness.filter_with_state(lambda _, state: (state is None, 1), "user", TYPE, "bigint"),
        [("ann", 1), ("bob", 2)],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_function(kind: str) -> None:
    make, expected = KINDS[kind]
    harness = make()
    harness.process_all(ROWS)
    assert harness.output == expected


def test_the_state_of_a_key_is_shown() -> None:
    states: dict[str, tuple[StateDescriptor, Callable[[Any], Any], Any, Any]] = {
        "value": (ValueStateDescriptor("s", "bigint"), lambda p: p.s.update(7), 7, None),
        "list": (ListStateDescriptor("s", "string"), lambda p: p.s.add_all(["a", "b"]), ["a", "b"], []),
        "map": (MapStateDescriptor("s", "string", "bigint"), lambda p: p.s.put("a", None), {"a": None}, {}),
        "count": (AggregatingStateDescriptor("s", "count", "bigint"), lambda p: p.s.add("x"), 1, None),
    }
    for descriptor, fill, expected, nothing in states.values():
        probed = Probed(s=descriptor)
        probed.do(fill)
        assert probed.harness.state("s", "a") == expected
        assert probed.harness.state("s", "b") == nothing
        restored = Probed(probed.harness.snapshot(), s=descriptor)
        assert restored.harness.state("s", "a") == expected


def timed(*, full: bool) -> Any:
    builder = StateTtlConfig.new_builder(Duration.of_millis(100)).return_expired_if_not_cleaned_up()
    descriptor = ValueStateDescriptor("s", "bigint")
    descriptor.enable_time_to_live((builder.cleanup_full_snapshot() if full else builder).build())
    return descriptor


@pytest.mark.parametrize("full", [False, True])
def test_a_snapshot_may_leave_out_what_has_expired(full: bool) -> None:
    probed = Probed(s=timed(full=full))
    probed.do(lambda p: p.s.update(1), "old", at=0)
    probed.do(lambda p: p.s.update(2), "new", at=50)
    probed.harness.advance_processing_time(100)
    assert [probed.harness.state("s", key) for key in ("old", "new")] == [None, 2]
    restored = Probed(probed.harness.snapshot(), now=100, s=timed(full=full))
    assert restored.do(lambda p: p.s.value(), "old") == (None if full else 1)
    assert restored.do(lambda p: p.s.value(), "new") == 2


def test_names_that_are_wrong() -> None:
    harness = Probed(s=ValueStateDescriptor("s", "bigint")).harness
    with pytest.raises(StateError, match=r"the function has no such state .expected s, found 't'"):
        harness.number_of_keys("t")
    with pytest.raises(StateError, match=r"the function has no such state .expected s, found 't'"):
        harness.state("t", "a")
    with pytest.raises(StateError, match="there is no such clock"):
        harness.number_of_timers("event")
    assert harness.number_of_timers(TimeDomain.EVENT_TIME) == 0


@pytest.mark.parametrize("name", ["default", " s", ""])
def test_names_of_states_that_spark_does_not_take(name: str) -> None:
    with pytest.raises(StateError, match="a name that Spark does not take"):
        Probed(s=ValueStateDescriptor(name, "bigint"))


def test_the_maximum_parallelism_is_that_of_the_snapshots() -> None:
    before = Probed(task={"max_parallelism": 16})
    restored = Probed(before.harness.snapshot()).probe.context
    assert restored.get_max_number_of_parallel_subtasks() == 16


def test_another_operator_does_not_take_a_snapshot() -> None:
    before = Probed(task={"name": "first"})
    with pytest.raises(StateError, match="operator 'second' meets the state of another one"):
        Probed(before.harness.snapshot(), task={"name": "second"})


@pytest.mark.parametrize("other", ["1", 1.5, (1, 2)])
def test_keys_have_one_type(other: object) -> None:
    probed = Probed(s=ValueStateDescriptor("s", "bigint"))
    probed.do(lambda p: p.s.update(1), 1)
    with pytest.raises(StateError, match="the key"):
        probed.do(lambda p: p.s.update(2), other)
    assert probed.harness.state("s", 1) == 1
    with pytest.raises(StateError, match=r"the key has no type of Spark .* found \[1, \[2\]\]"):
        Probed().do(lambda _: None, [1, [2]])


class Overdue(KeyedProcessFunction):
    """Sets timers whose time has come."""

    def open(self, runtime_context: RuntimeContext) -> None:
        del runtime_context

    def process_element(self, value: Row, ctx: Context) -> None:
        del value
        ctx.timer_service().register_processing_time_timer(0)
        ctx.timer_service().register_event_time_timer(0)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        del timestamp
        yield ctx.time_domain().name


def test_overdue_timers_fire_as_in_a_batch() -> None:
    """Those of the clock at the end of the batch that sets them, those of the watermark in the next one."""
    harness = KeyedHarness(Overdue(), "user")
    harness.advance_watermark(5)
    harness.process(ROWS[0])
    assert harness.output == ["PROCESSING_TIME"]
    harness.advance_watermark(5)
    assert harness.output == ["PROCESSING_TIME", "EVENT_TIME"]


def test_close_deletes_the_files() -> None:
    harness = KeyedHarness(Gives(), "user")
    harness.process(ROWS[0])
    folder = harness._folder
    harness.snapshot()
    assert folder.exists()
    harness.close()
    assert not folder.exists()
