"""States over files against states in memory: random programs, merges, restarts, writes that go to disk early."""

from __future__ import annotations

import datetime as dt
import gc
import random
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal, localcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row

from keygroups.functions import Context, KeyedProcessFunction, OnTimerContext, TimeDomain
from keygroups.partition.timers import FileTimers
from keygroups.rows.times import BeyondDate, BeyondTime
from keygroups.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SortedMapStateDescriptor,
    StateError,
    ValueStateDescriptor,
)
from keygroups.testing import KeyedHarness
from state.on_files import FileHarness
from state.probe import HARNESS, Probe, Probed

STATES: dict[str, Callable[[], Any]] = {
    "value": lambda: ValueStateDescriptor("value", "n bigint, texts array<string>"),
    "list": lambda: ListStateDescriptor("list", "string"),
    "map": lambda: MapStateDescriptor("map", "string", "bigint"),
    "sorted": lambda: SortedMapStateDescriptor("sorted", "bigint", "string"),
}
Step = Callable[[Probe, Context], Any]


def value_step(rng: random.Random) -> Step:
    n = rng.randrange(100)
    return rng.choice(
        [
            lambda p, _: p.value.value(),
            lambda p, _: p.value.update((n, [str(n)] * (n % 3))),
            lambda p, _: p.value.clear(),
        ]
    )


def list_step(rng: random.Random) -> Step:
    texts = [str(rng.randrange(1000)) for _ in range(rng.randrange(3))]
    return rng.choice(
        [
            lambda p, _: list(p.list.get()),
            lambda p, _: p.list.add_all(texts),
            lambda p, _: p.list.add("one"),
            lambda p, _: p.list.update(texts),
            lambda p, _: p.list.clear(),
        ]
    )


def map_step(rng: random.Random) -> Step:
    name, n = rng.choice(["a", "b", "", None, "a text of more than a word"]), rng.choice([None, 1, 1 << 40])
    return rng.choice(
        [
            lambda p, _: p.map.get(name),
            lambda p, _: p.map.contains(name),
            lambda p, _: p.map.put(name, n),
            lambda p, _: p.map.put(name, n),
            lambda p, _: p.map.remove(name),
            lambda p, _: sorted(p.map.items(), key=repr),
            lambda p, _: p.map.is_empty(),
            lambda p, _: p.map.clear() if n else None,
        ]
    )


def sorted_step(rng: random.Random) -> Step:
    name, end = rng.randrange(-9, 9), rng.randrange(-9, 9)
    return rng.choice(
        [
            lambda p, _: p.sorted.put(name, str(name)),
            lambda p, _: p.sorted.put(end, "end"),
            lambda p, _: p.sorted.remove(name),
            lambda p, _: (p.sorted.first_entry(), p.sorted.last_entry()),
            lambda p, _: list(p.sorted.sub_iterator(min(name, end), max(name, end))),
            lambda p, _: list(p.sorted.head_iterator(end)) + list(p.sorted.tail_iterator(name)),
            lambda p, _: p.sorted.clear() if name > 6 else list(p.sorted.items()),
        ]
    )


def timer_step(rng: random.Random) -> Step:
    timestamp = rng.randrange(-50, 300)
    return rng.choice(
        [
            lambda _, ctx: ctx.timer_service().register_event_time_timer(timestamp),
            lambda _, ctx: ctx.timer_service().delete_event_time_timer(timestamp),
        ]
    )


STEPS = [value_step, list_step, map_step, sorted_step, timer_step]


def in_files() -> Probed:
    token = HARNESS.set(FileHarness)
    try:
        return Probed(**{name: make() for name, make in STATES.items()})
    finally:
        HARNESS.reset(token)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_give_the_same(seed: int) -> None:
    """Each batch is one version; a merge or a restart comes between some of them."""
    rng = random.Random(seed)
    memory, files = Probed(**{name: make() for name, make in STATES.items()}), in_files()
    files.harness.spill_every = rng.choice([0, 3, 10])
    files.harness.spill_while_firing = rng.choice([0, 1, 4])
    for batch in range(25):
        rows = [(rng.choice("abc"), rng.choice(STEPS)(rng)) for _ in range(rng.randrange(20))]
        before = len(memory.harness.output)
        for probed in (memory, files):
            probed.harness.advance_watermark(batch * 10)
            fired = probed.harness.output[before:]
            probed.harness.output[before:] = sorted(fired, key=lambda one: (one[1], one[0]))  # equal times: any order
            probed.harness.process_all(rows)
        assert files.harness.output == memory.harness.output
        for domain in TimeDomain:
            assert files.harness.number_of_timers(domain) == memory.harness.number_of_timers(domain)
        for name in ("value", "list"):
            assert files.harness.number_of_keys(name) == memory.harness.number_of_keys(name)
        rng.choice([files.harness.compact, files.harness.restart, lambda: None])()
    assert len(files.harness.output) > 150


def changed(stored: Any, wanted: Any, fill: Callable[[Any], Any], read: Callable[[Any], Any]) -> Any:
    """What a state reads that was stored with another descriptor, at once and in the batch after."""
    before = Probed(s=stored)
    before.do(fill)
    after = Probed(before.harness.snapshot(), s=wanted)
    first = after.do(read)
    assert after.do(read) == first
    return first


@pytest.fixture
def on_files() -> Any:
    token = HARNESS.set(FileHarness)
    yield
    HARNESS.reset(token)


@pytest.mark.usefixtures("on_files")
@pytest.mark.parametrize(
    ("old", "new", "value", "expected"),
    [
        ("int", "bigint", 7, 7),
        ("float", "double", 0.5, 0.5),
        ("a int, b string", "b string, c double, a bigint", (1, "x"), ("x", None, 1)),
        ("a int, b string", "a int", (1, "x"), (1,)),
        ("array<int>", "array<bigint>", [1, None], [1, None]),
        ("map<string,int>", "map<string,bigint>", {"a": 1}, {"a": 1}),
        ("value int", "value bigint", (7,), (7,)),
        ("value int, written_ms bigint", "value int, written_ms bigint, n int", (7, 8), (7, 8, None)),
        ("a array<struct<x int>>", "a array<struct<x bigint, y string>>", ([(1,)],), ([(1, None)],)),
    ],
)
def test_types_evolve(old: str, new: str, value: Any, expected: Any) -> None:
    """Rows D2, D3: fields are added, removed and widened; everything that is stored is rewritten."""
    found = changed(
        ValueStateDescriptor("s", old),
        ValueStateDescriptor("s", new),
        lambda p: p.s.update(value),
        lambda p: p.s.value(),
    )
    assert found == expected
    listed = changed(
        ListStateDescriptor("s", old),
        ListStateDescriptor("s", new),
        lambda p: p.s.add(value) or p.s.add(value),
        lambda p: list(p.s.get()),
    )
    assert listed == [expected, expected]
    mapped = changed(
        MapStateDescriptor("s", "string", old),
        MapStateDescriptor("s", "string", new),
        lambda p: p.s.put("k", value) or p.s.put("none", None),
        lambda p: sorted(p.s.items()),
    )
    assert mapped == [("k", expected), ("none", None)]


@pytest.mark.usefixtures("on_files")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ListStateDescriptor("s", "string"), ValueStateDescriptor("s", "string")),
        (ValueStateDescriptor("s", "bigint"), ListStateDescriptor("s", "bigint")),
        (MapStateDescriptor("s", "string", "bigint"), MapStateDescriptor("s", "bigint", "bigint")),
        (MapStateDescriptor("s", "string", "bigint"), ValueStateDescriptor("s", "bigint")),
    ],
    ids=repr,
)
def test_another_kind_is_refused(old: Any, new: Any) -> None:
    """Row D2: its rows mean something else."""
    snapshot = Probed(s=old).harness.snapshot()
    with pytest.raises(StateError, match="state 's' was stored as another one"):
        Probed(snapshot, s=new)


BERLIN = dt.timezone(dt.timedelta(hours=2))


@pytest.mark.usefixtures("harness")
@pytest.mark.parametrize("harness", [KeyedHarness, FileHarness], ids=["memory", "files"], indirect=True)
@pytest.mark.parametrize(
    ("kind", "one", "same"),
    [
        ("float", 0.1, 0.10000000149011612),
        ("double", 0.0, -0.0),
        ("double", float("nan"), -float("nan")),
        ("decimal(10,2)", Decimal("1.0"), 1),
        (
            "decimal(38,0)",
            Decimal(12345678901234567890123456789012345678),
            Decimal("12345678901234567890123456789012345678.0"),
        ),
        ("timestamp", dt.datetime(2024, 7, 27, 2, 30, tzinfo=BERLIN), dt.datetime(2024, 7, 27, 0, 30)),  # noqa: DTZ001
        ("x double, y binary", (0.0, b"b"), (-0.0, b"b")),
    ],
)
def test_a_second_key_has_one_form(kind: str, one: Any, same: Any) -> None:
    """What is stored under a key is found, replaced and removed under an equal one, and nothing else goes."""
    probed = Probed(s=MapStateDescriptor("s", kind, "bigint"))
    probed.do(lambda p: p.s.put(one, 7), key="b")
    probed.do(lambda p: p.s.put(one, 1) or p.s.put(same, 2))
    assert probed.do(lambda p: (p.s.get(one), [value for _, value in p.s.items()])) == (2, [2])
    probed.do(lambda p: [p.s.remove(name) for name in list(p.s.keys())] + [p.s.remove(same)])
    assert probed.do(lambda p: p.s.is_empty())
    assert probed.do(lambda p: p.s.get(same), key="b") == 7
    probed.do(lambda p: p.s.put(one, 1) or p.s.clear() or p.s.put(same, 3) or p.s.clear())
    assert probed.do(lambda p: list(p.s.items())) == []


@pytest.mark.usefixtures("harness")
@pytest.mark.parametrize("harness", [KeyedHarness, FileHarness], ids=["memory", "files"], indirect=True)
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("struct<>", Row()()),
        ("struct<a struct<>>", Row(a=Row()())),
        ("array<struct<>>", [Row()(), None]),
        ("map<int, struct<>>", {1: Row()()}),
        ("interval day to second", dt.timedelta(microseconds=(1 << 63) - 1)),
        ("timestamp", BeyondTime(1 << 60)),
        ("date", BeyondDate(-(1 << 30))),
    ],
)
def test_rare_types_are_stored_in_each_state(kind: str, value: Any) -> None:
    """Structs without fields, long intervals, and times that Python does not have."""
    probed = Probed(
        s=ValueStateDescriptor("s", kind),
        listed=ListStateDescriptor("listed", kind),
        m=MapStateDescriptor("m", "string", kind),
        last=ReducingStateDescriptor("last", "last", kind),
    )
    probed.do(lambda p: (p.s.update(value), p.listed.add_all([value] * 2), p.m.put("k", value), p.last.add(value)))
    found = probed.do(lambda p: (p.s.value(), p.listed.get(), list(p.m.items()), p.last.get()))
    assert repr(found) == repr((value, [value, value], [("k", value)], value))


@pytest.mark.usefixtures("harness")
@pytest.mark.parametrize("harness", [KeyedHarness, FileHarness], ids=["memory", "files"], indirect=True)
def test_times_beyond_python_have_an_order() -> None:
    """As keys of a sorted map, and as the least and greatest."""
    far, near = BeyondDate(1 << 30), dt.date(2026, 1, 1)
    probed = Probed(
        s=SortedMapStateDescriptor("s", "date", "bigint"), least=ReducingStateDescriptor("least", "min", "date")
    )
    probed.do(lambda p: p.s.put_all({far: 2, near: 1, BeyondDate(-far.number): 0}))
    assert probed.do(lambda p: [number for _, number in p.s.items()]) == [0, 1, 2]
    assert probed.do(lambda p: p.least.add(far) or p.least.add(near) or p.least.get()) == near


@pytest.mark.usefixtures("harness")
@pytest.mark.parametrize("harness", [KeyedHarness, FileHarness], ids=["memory", "files"], indirect=True)
def test_decimals_are_exact() -> None:
    """Whatever the context of the thread; and refused where they do not fit."""
    probed = Probed(s=ValueStateDescriptor("s", "decimal(38,10)"), t=ValueStateDescriptor("t", "decimal(5,2)"))
    long = Decimal("1234567890123456789012345678.0123456789")
    with localcontext(prec=6):
        probed.do(lambda p: p.s.update(long) or p.t.update(Decimal("1.9900")))
        assert probed.do(lambda p: (p.s.value(), p.t.value())) == (long, Decimal("1.99"))
        probed.do(partial(_update, Decimal("1E+12") - Decimal("1E+12")))
        assert probed.do(lambda p: p.t.value()) == 0
    for wrong in map(Decimal, ("1000", "1.995", "NaN", "1E+40")):
        with pytest.raises(StateError, match="was given a wrong value"):
            probed.do(partial(_update, wrong))


def _update(value: Any, p: Any) -> None:
    p.t.update(value)


@pytest.mark.usefixtures("harness")
@pytest.mark.parametrize("harness", [KeyedHarness, FileHarness], ids=["memory", "files"], indirect=True)
def test_bytes_are_the_users_own() -> None:
    """And are bytes, whatever was given and wherever they come from."""
    probed = Probed(s=ValueStateDescriptor("s", "binary"), m=MapStateDescriptor("m", "binary", "map<binary,string>"))
    given = bytearray(b"abc")
    probed.do(lambda p: p.s.update(given) or p.m.put(bytes(given), {b"a": "x"}))
    given.extend(b"XYZ")

    assert probed.do(lambda p: [type(one) for one in (p.s.value(), *p.m)]) == [bytes, bytes]
    assert probed.do(lambda p: p.s.value()) == b"abc"
    assert probed.do(lambda p: p.m.get(b"abc")) == {b"a": "x"}


def files_task(spill_every: int = 0, **states: Any) -> Probed:
    token = HARNESS.set(FileHarness)
    try:
        probed = Probed(**states)
    finally:
        HARNESS.reset(token)
    probed.harness.spill_every = spill_every
    return probed


def set_timer(timestamp: int, _: Probe, ctx: Context) -> None:
    ctx.timer_service().register_event_time_timer(timestamp)


def set_again(ctx: OnTimerContext) -> None:
    """Set another timer for a hundred milliseconds later, and delete that of the key that is due last."""
    if ctx.timestamp() <= 1_000:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 100)
    ctx.timer_service().delete_event_time_timer(5_000)


@pytest.mark.parametrize("window", [1, 3, 1000])
def test_timers_fire_on_while_writes_go_to_disk(window: int) -> None:
    """Any number of timers may be due: they are read a window at a time, in their order, and none fires twice."""
    memory = Probed(s=ValueStateDescriptor("s", "bigint"))
    files = files_task(s=ValueStateDescriptor("s", "bigint"))
    for probed in (memory, files):
        for number, key in enumerate("abcdabc"):
            for timestamp in (number, 5, 950, 5_000):
                probed.do_in(partial(set_timer, timestamp), key)
    files.harness.spill_while_firing = window
    for probed in (memory, files):
        probed.harness.output.clear()
        probed.probe.fired = set_again
        probed.harness.advance_watermark(6_000)
    assert [at for _, at, *_ in files.harness.output] == sorted(at for _, at, *_ in memory.harness.output)
    assert sorted(files.harness.output) == sorted(memory.harness.output)
    assert len(memory.harness.output) > 50
    assert files.harness.number_of_timers(TimeDomain.EVENT_TIME) == 0


def test_few_of_the_timers_of_one_time_are_in_memory() -> None:
    probed = files_task(s=ValueStateDescriptor("s", "bigint"))
    probed.harness.process_all([(str(number), partial(set_timer, 5)) for number in range(500)])
    probed.harness.output.clear()
    probed.harness.spill_while_firing = 20
    probed.harness.advance_watermark(5)
    assert sorted(probed.harness.output) == sorted((str(n), 5, "EVENT_TIME", 5) for n in range(500))
    assert 0 < probed.harness.most_waiting <= 3 * 20  # of the version's segment and of those of the task
    assert probed.harness.number_of_timers(TimeDomain.EVENT_TIME) == 0


def test_many_spills_keep_few_files_open() -> None:
    probed = files_task(1, s=ValueStateDescriptor("s", "bigint"))
    before = len(list(Path("/proc/self/fd").iterdir()))
    most = 0

    def count(p: Any, _: Context) -> None:
        nonlocal most
        p.s.update((p.s.value() or 0) + 1)
        most = max(most, len(list(Path("/proc/self/fd").iterdir())))

    probed.harness.process_all([("a", count)] * 60)
    assert probed.do(lambda p: p.s.value()) == 60
    assert most - before < 20


@pytest.mark.parametrize("fails", [False, True])
def test_a_task_gives_its_files_back(fails: bool) -> None:
    """At its end, also after an error: not when Python next looks for unused cycles."""
    probed = files_task(**{name: make() for name, make in STATES.items()})
    probed.do_in(partial(set_timer, 5))
    probed.do(lambda p: p.value.update((1, [])) or p.list.add("x") or p.map.put("x", 1) or p.sorted.put(1, "x"))
    tasks: list[int] = []

    def read(p: Any) -> None:
        assert (p.value.value().n, p.list.get(), p.map.get("x"), list(p.sorted.items())) == (1, ["x"], 1, [(1, "x")])
        tasks.append(len(list(Path("/proc/self/fd").iterdir())))
        if fails:
            raise ValueError(len(tasks))

    gc.disable()
    try:
        for _ in range(20):
            if fails:
                with suppress(ValueError):
                    probed.do(read)
            else:
                probed.do(read)
    finally:
        gc.enable()
    assert len(tasks) == 20
    assert tasks[-1] <= tasks[1]


@pytest.mark.parametrize("name", ["$eventTimers_timestampToKey", "_x"])
def test_reserved_names_are_refused(name: str) -> None:
    with pytest.raises(StateError, match="has a reserved name"):
        ValueStateDescriptor(name, "bigint")


class Timer(KeyedProcessFunction):
    """Sets and deletes processing timers."""

    def process_element(self, value: Any, ctx: Context) -> None:
        timers = ctx.timer_service()
        change = timers.delete_processing_time_timer if value.deletes else timers.register_processing_time_timer
        change(value.time)

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> None:
        """Nothing."""


@pytest.mark.parametrize("window", [1, 3, 10_000])
def test_the_next_timer_lies_behind_those_that_were_deleted(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Timeouts leave many: each row of a key deletes one and sets another."""
    made = FileTimers.__init__

    def narrow(self: FileTimers, *arguments: Any) -> None:
        made(self, *arguments)
        self.window = window

    monkeypatch.setattr(FileTimers, "__init__", narrow)
    rng, known, now, times = random.Random(window), set[tuple[str, int]](), 0, 0
    harness = FileHarness(Timer(), lambda row: row["key"])
    for number in range(60):
        key, time, deletes = rng.choice("abcd"), rng.randrange(1, 200), rng.random() < 0.6
        if deletes and known:
            key, time = rng.choice(sorted(known))
        harness.process({"key": key, "time": time, "deletes": deletes})
        (known.discard if deletes else known.add)((key, time))
        known = {(key, time) for key, time in known if time > now}
        assert harness.next_timer == min((time for _, time in known), default=None)
        times += harness.next_timer is not None
        if number % 20 == 10:
            harness.compact()
        if number % 20 == 15:
            now = number
            harness.advance_processing_time(now)
    assert times > 20
    harness.close()
