"""The harness: timers, contexts, snapshots, restart and another number of subtasks; the worked examples."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import Row

from keygroups.errors import SettingError
from keygroups.functions import Context, KeyedProcessFunction, OutputTag, RuntimeContext, TimeDomain
from keygroups.keyed.metrics import Metrics
from keygroups.keyed.scope import NO_TIME
from keygroups.state import (
    Duration,
    ListStateDescriptor,
    MapStateDescriptor,
    PickleType,
    ReducingStateDescriptor,
    SortedMapStateDescriptor,
    StateError,
    StateTtlConfig,
    ValueStateDescriptor,
)
from keygroups.testing import KeyedHarness
from state.probe import Probe, Probed


def test_timers_fire_once_in_their_order() -> None:
    probed = Probed()

    def set_timers(_: Probe, ctx: Context) -> None:
        timers = ctx.timer_service()
        for timestamp in (30, 10, 10, 20):
            timers.register_event_time_timer(timestamp)
        timers.register_processing_time_timer(5)
        timers.delete_event_time_timer(20)
        timers.delete_event_time_timer(99)

    for key in "ab":
        probed.do_in(set_timers, key)
    assert probed.harness.number_of_timers(TimeDomain.EVENT_TIME) == 4
    probed.harness.advance_watermark(9)
    assert probed.harness.output == []
    probed.harness.advance_watermark(30)
    assert probed.harness.output == [(key, at, "EVENT_TIME", at) for at in (10, 30) for key in "ab"]
    probed.harness.advance_watermark(100)
    probed.harness.advance_processing_time(5)
    assert probed.harness.output[4:] == [(key, 5, "PROCESSING_TIME", 5) for key in "ab"]


class Chain(KeyedProcessFunction):
    """Each timer sets the next one."""

    def process_element(self, value: Row, ctx: Context) -> None:
        ctx.timer_service().register_event_time_timer(value.at)

    def on_timer(self, timestamp: int, ctx: Context) -> Iterator[int]:
        if timestamp < 3:
            ctx.timer_service().register_event_time_timer(timestamp + 1)
        yield timestamp


def test_a_timer_may_set_one_that_is_due() -> None:
    harness = KeyedHarness(Chain(), "key")
    harness.process({"key": "a", "at": 1})
    harness.advance_watermark(100)
    assert harness.output == [1, 2, 3]


def test_context() -> None:
    probed = Probed(now=5)
    seen = probed.do_in(
        lambda _, ctx: (
            ctx.get_current_key(),
            ctx.timestamp(),
            ctx.timer_service().current_watermark(),
            ctx.timer_service().current_processing_time(),
        )
    )
    assert seen == ("a", NO_TIME, NO_TIME, 5)
    probed.harness.advance_watermark(7)
    probed.harness.advance_watermark(6)
    probed.harness.process(("a", lambda _, ctx: (ctx.timestamp(), ctx.timer_service().current_watermark())), 42)
    assert probed.harness.output == [(42, 7)]


def test_runtime_context() -> None:
    """Row G1, and the task."""
    task = {"name": "count", "parallelism": 4, "subtask": 2, "parameters": {"limit": "9"}}
    context = Probed(task=task).probe.context
    assert context.get_task_name_with_subtasks() == "count (3/4)#0"
    assert context.get_number_of_parallel_subtasks() == 4
    assert context.get_max_number_of_parallel_subtasks() == 128
    assert context.get_index_of_this_subtask() == 2
    assert [context.get_job_parameter(name, "1") for name in ("limit", "other")] == ["9", "1"]


class Measured(KeyedProcessFunction):
    """Counts rows."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.group = runtime_context.get_metrics_group()
        self.rows = self.group.counter("rows")
        self.group.gauge("size", lambda: 9)

    def process_element(self, value: Any, ctx: Context) -> None:
        del value, ctx
        self.group.counter("rows").inc(4)
        self.rows.dec()


def test_metrics() -> None:
    harness = KeyedHarness(Measured(), "key")
    harness.process_all([{"key": 1}, {"key": 1}])
    assert harness.metrics.values() == {"rows": 6, "size": 9}


def test_a_metric_is_registered_once_and_in_open() -> None:
    group = KeyedHarness(Measured(), "key").metrics
    with pytest.raises(StateError, match=r"'late' after open .expected rows, size"):
        group.counter("late")
    fresh = Metrics("operator")
    fresh.counter("rows")
    names: list[Any] = ["rows", "", 7]
    for name in names:
        with pytest.raises(StateError, match="a metric with a wrong name"):
            fresh.gauge(name, lambda: 1)


def test_the_same_name_is_the_same_state() -> None:
    """Row G1."""
    descriptor = ValueStateDescriptor("s", "bigint")
    probed = Probed(s=descriptor, again=ValueStateDescriptor("s", "bigint"))
    assert probed.probe.context.get_state(descriptor) is probed.do(lambda p: p.s)
    assert probed.do(lambda p: p.s is p.again)


def test_a_state_that_is_asked_for_with_every_row_keeps_nothing() -> None:
    """Of what was asked for, only that of ``open`` is looked at again."""
    probed = Probed(s=ValueStateDescriptor("s", "bigint"))
    registry: Any = probed.probe.context
    before = len(registry._asked)
    for _ in range(10):
        registry.get_state(ValueStateDescriptor("s", "bigint"))
    assert len(registry._asked) == before


def test_a_life_that_is_set_after_the_state_was_asked_for_is_refused() -> None:
    """Its rows have no time: a search for expired ones would take other bytes for it."""

    class Late(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            descriptor = ValueStateDescriptor("s", "bigint")
            runtime_context.get_state(descriptor)
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_hours(1)).build())

        def process_element(self, _value: Row, _ctx: Context) -> Iterator[Any]:
            """Nothing."""
            yield from ()

    with pytest.raises(StateError, match=r"sets a time to live after.*enable_time_to_live before"):
        KeyedHarness(Late(), "key")


@pytest.mark.parametrize(
    "other",
    [ListStateDescriptor("s", "bigint"), ValueStateDescriptor("s", "int"), MapStateDescriptor("s", "int", "bigint")],
)
def test_a_name_has_one_meaning(other: Any) -> None:
    """Rows D2, D3, at once and after a restart."""
    first = ValueStateDescriptor("s", "bigint")
    with pytest.raises(StateError, match=r"two states of one name .expected value state 's' of bigint"):
        Probed(s=first, other=other)
    before = Probed(s=first)
    before.do(lambda p: p.s.update(1))
    with pytest.raises(StateError, match=r"state 's' was stored as another one|cannot read what is stored"):
        Probed(before.harness.snapshot(), s=other)


@pytest.mark.parametrize(
    ("first", "other", "difference"),
    [
        (ReducingStateDescriptor("s", "sum", "bigint"), ReducingStateDescriptor("s", "max", "bigint"), "'max'"),
        (ValueStateDescriptor("s", "int", default=1), ValueStateDescriptor("s", "int", default=2), "default 2"),
    ],
)
def test_a_name_has_one_function_and_one_default(first: Any, other: Any, difference: str) -> None:
    with pytest.raises(StateError, match=f"two states of one name .*{difference}"):
        Probed(s=first, other=other)


class Counter:
    """A default whose text has its address."""

    def __init__(self, number: int) -> None:
        self.number = number


def test_a_pickled_default_may_be_made_anew() -> None:
    """With each row, in this case; another one is refused."""
    first = ValueStateDescriptor("s", PickleType(), default=Counter(1))
    probed = Probed(s=first)
    again = ValueStateDescriptor("s", PickleType(), default=Counter(1))
    assert probed.do(lambda p: p.context.get_state(again).value().number) == 1
    with pytest.raises(StateError, match="two states of one name"):
        Probed(s=first, other=ValueStateDescriptor("s", PickleType(), default=Counter(2)))


def test_states_are_asked_for_in_open() -> None:
    probed = Probed(s=ValueStateDescriptor("s", "bigint"))
    with pytest.raises(StateError, match="asks for value state 'late' of bigint after open"):
        probed.do(lambda p: p.context.get_state(ValueStateDescriptor("late", "bigint")))


@pytest.mark.parametrize("wrong", [None, "s", SortedMapStateDescriptor("s", "int", "int")])
def test_a_wrong_descriptor(wrong: Any) -> None:
    """Row G1."""
    context = Probed().probe.context
    with pytest.raises(StateError, match=r"with a wrong descriptor .expected a MapStateDescriptor"):
        context.get_map_state(wrong)


def test_a_snapshot_stays_as_it_is() -> None:
    """Row C5."""
    probed = Probed(s=ListStateDescriptor("s", "string"))
    probed.do(lambda p: p.s.add("a"))
    snapshot = probed.harness.snapshot()
    probed.do(lambda p: p.s.add("b"))
    restored = Probed(snapshot, s=ListStateDescriptor("s", "string"))
    assert [p.do(lambda p: p.s.get()) for p in (restored, probed)] == [["a"], ["a", "b"]]


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (2, 2), (4, 1)])
def test_state_and_timers_move_with_their_keys(before: int, after: int) -> None:
    """Row K11; a state that nobody asks for moves too."""
    descriptors = {"s": ValueStateDescriptor("s", "bigint"), "m": MapStateDescriptor("m", "string", "bigint")}
    keys = [f"key {i}" for i in range(50)]

    def subtasks(number: int, *restore: Any, **states: Any) -> list[Probed]:
        tasks = [{"parallelism": number, "subtask": i} for i in range(number)]
        return [Probed(*restore, task=task, **states) for task in tasks]

    def write(probe: Probe, ctx: Context) -> None:
        states: Any = probe
        states.s.update(int(ctx.get_current_key()[4:]))
        states.m.put(ctx.get_current_key(), 1)
        ctx.timer_service().register_event_time_timer(states.s.value())

    def owner(running: list[Probed], key: str) -> Probed:
        return next(p for p in running if p.harness._owns(key))

    old = subtasks(before, **descriptors)
    for key in keys:
        owner(old, key).do_in(write, key)
    between = subtasks(1, *(p.harness.snapshot() for p in old), s=descriptors["s"])
    new = subtasks(after, *(p.harness.snapshot() for p in between), **descriptors)
    for key in keys:
        found = owner(new, key).do(lambda p: (p.s.value(), list(p.m.items())), key)
        assert found == (int(key[4:]), [(key, 1)])
    for probed in new:
        probed.harness.advance_watermark(100)
    fired = sorted(row for probed in new for row in probed.harness.output)
    assert fired == sorted((key, int(key[4:]), "EVENT_TIME", int(key[4:])) for key in keys)


def test_rows_of_other_subtasks_and_other_key_groups_are_refused() -> None:
    """Rows K7, K10."""
    first = Probed(task={"parallelism": 2, "subtask": 0})
    foreign = next(number for number in range(20) if not first.harness._owns(number))
    with pytest.raises(StateError, match="belongs to another subtask"):
        first.do(lambda _: None, foreign)
    with pytest.raises(SettingError, match="expected 128, found 256"):
        Probed(first.harness.snapshot(), task={"max_parallelism": 256})


class Both(KeyedProcessFunction):
    """Writes to a side output; pairs and None are rows as well."""

    tag = OutputTag("late", "bigint")

    def process_element(self, value: Row, _: Context) -> Iterator[Any]:
        yield value.n
        yield self.tag, value.n
        yield "pair", value.n


@pytest.mark.parametrize(
    "key", [1, 1.5, float("nan"), "a", b"a", True, (1, "a"), Row(a=1, b=[1, 2]), [[1.0], [2.5]], None]
)
def test_a_key_may_have_any_type(key: object) -> None:
    """Also types that are no key in Flink: Spark groups by them. An equal key has the same state."""
    descriptor = ValueStateDescriptor("s", "bigint")
    probed = Probed(s=descriptor)
    for count in (1, 2):
        probed.do(lambda p: p.s.update((p.s.value() or 0) + 1), copy.deepcopy(key))
        assert probed.do(lambda p: p.s.value(), copy.deepcopy(key)) == count
    restored = [Probed(probed.harness.snapshot(), task={"parallelism": 2, "subtask": i}, s=descriptor) for i in (0, 1)]
    assert sorted(p.harness.number_of_keys("s") for p in restored) == [0, 1]


def test_side_outputs() -> None:
    harness = KeyedHarness(Both(), ["key", "n"])
    harness.process({"key": "a", "n": 1})
    assert harness.output == [1, ("pair", 1)]
    assert harness.side_output(Both.tag) == [1]
    assert harness.side_output(OutputTag("other", "int")) == []
    with pytest.raises(StateError, match="a side output has no name"):
        OutputTag("", "int")


def test_close() -> None:
    probed = Probed()
    probed.harness.close()
    assert probed.probe.closed == 1


class CountWindowAverage(KeyedProcessFunction):
    """W1."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("average", "n bigint, sum bigint", default=(0, 0)))

    def process_element(self, value: Row, _: Context) -> Iterator[tuple[int, int]]:
        n, total = self.sum.value()
        self.sum.update((n + 1, total + value.value))
        if n == 1:
            self.sum.clear()
            yield value.key, (total + value.value) // 2


class CountWindowFirstEntry(KeyedProcessFunction):
    """W2: after each value, how often it came and the smallest value so far."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_sorted_map_state(SortedMapStateDescriptor("counts", "bigint", "bigint"))

    def process_element(self, value: Row, _: Context) -> Iterator[tuple[int, int, int]]:
        self.counts.put(value.value, (self.counts.get(value.value) or 0) + 1)
        first = self.counts.first_entry()
        assert first
        yield (value.key, *first)


def rows(*values: int) -> list[Row]:
    return [Row(key=1, value=value) for value in values]


def test_worked_example_1() -> None:
    """Row W1: exact outputs, and what is left."""
    harness = KeyedHarness(CountWindowAverage(), "key")
    harness.process_all(rows(3, 5, 7, 4, 2))
    assert harness.output == [(1, 4), (1, 5)]
    assert harness.state("average", 1) == Row(n=1, sum=2)


def test_worked_example_2() -> None:
    """Row W2: exact outputs."""
    harness = KeyedHarness(CountWindowFirstEntry(), "key")
    harness.process_all(rows(3, 5, 3, 7, 4, 2, 2, 1))
    expected = [(1, 3, 1), (1, 3, 1), (1, 3, 2), (1, 3, 2), (1, 3, 2), (1, 2, 1), (1, 2, 2), (1, 1, 1)]
    assert harness.output == expected


@pytest.mark.parametrize("given", [0, False, 7])
def test_what_is_no_iterable_is_refused(given: Any) -> None:
    """A function of rows yields rows; a forgotten ``yield`` is not taken for no rows."""

    class Returns(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Context) -> Any:
            del value, ctx
            return given

    with pytest.raises(TypeError, match="is not iterable"):
        KeyedHarness(Returns(), "key").process({"key": "a"})
