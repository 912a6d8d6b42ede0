"""Functions of batches: over files against memory, against functions of rows, and what they refuse."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from keygroups.functions import BatchContext, BatchKeys, KeyedBatchFunction, OnTimerContext, OutputTag, RuntimeContext
from keygroups.state import (
    AggregateFunction,
    AggregatingStateDescriptor,
    Duration,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateError,
    StateTtlConfig,
    ValueStateDescriptor,
)
from keygroups.testing import KeyedHarness
from state.in_memory import MemoryHarness
from state.on_files import FileHarness
from support.everyday import first_every_day

STRUCT = "n bigint, text string, when timestamp"
SIDE = OutputTag("side", "n bigint")


class Mean(AggregateFunction[int, Any, float]):
    """An average."""

    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: int, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> float:
        return float(accumulator[0] / accumulator[1])

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Everything(KeyedBatchFunction):
    """A state of each kind; the step of a batch says what it does with them."""

    def __init__(self, ttl: StateTtlConfig | None = None) -> None:
        self.ttl = ttl

    def open(self, runtime_context: RuntimeContext) -> None:
        def timed(descriptor: Any) -> Any:
            if self.ttl:
                descriptor.enable_time_to_live(self.ttl)
            return descriptor

        context = runtime_context
        self.value = context.get_state(timed(ValueStateDescriptor("value", "string")))
        self.struct = context.get_state(timed(ValueStateDescriptor("struct", STRUCT)))
        self.array = context.get_state(timed(ValueStateDescriptor("array", "array<bigint>")))
        self.count = context.get_state(timed(ValueStateDescriptor("count", "bigint", default=7)))
        self.listed = context.get_list_state(timed(ListStateDescriptor("listed", "bigint")))
        self.names = context.get_list_state(timed(ListStateDescriptor("names", "string")))
        self.map = context.get_map_state(timed(MapStateDescriptor("map", "string", "bigint")))
        self.folded: list[Any] = [
            context.get_reducing_state(timed(ReducingStateDescriptor("total", "sum", "bigint"))),
            context.get_reducing_state(timed(ReducingStateDescriptor("least", "min", "bigint"))),
            context.get_reducing_state(timed(ReducingStateDescriptor("product", lambda a, b: a * b % 997, "bigint"))),
            context.get_aggregating_state(timed(AggregatingStateDescriptor("number", "count", "bigint"))),
            context.get_aggregating_state(timed(AggregatingStateDescriptor("all", "collect", "array<bigint>"))),
            context.get_aggregating_state(timed(AggregatingStateDescriptor("mean", Mean(), "total bigint, n bigint"))),
            context.get_folding_state(timed(FoldingStateDescriptor("fold", 1, lambda a, b: a + b, "bigint"))),
        ]

    def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
        rng = random.Random(batch["step"][0].as_py())
        self.read: list[Any] = []
        for _ in range(6):
            rng.choice(STEPS)(self, keys, batch, rng)
        lists = [self.listed.get_many(keys), self.names.get_many(keys)]
        states: list[Any] = [self.value, self.struct, self.array, self.count, *self.folded]
        values = [state.get_many(keys) for state in states]
        user = keys.reduce(batch["user"], "last")
        yield {
            "user": user,
            "read": [repr(self.read)] * len(keys),
            **{str(i): column for i, column in enumerate(lists + values)},
        }

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterator[Any]:
        self.count.update(timestamp)
        self.folded[0].add(1)
        self.listed.add(timestamp)
        yield ctx.get_current_key(), timestamp, self.count.value(), self.folded[0].get(), self.listed.get()


Step = Callable[[Everything, BatchKeys, pa.RecordBatch, random.Random], Any]


def some(keys: BatchKeys, rng: random.Random, make: Callable[[int], Any]) -> list[Any]:
    """A value for each key, None for some."""
    return [make(rng.randrange(99)) if rng.random() < 0.7 else None for _ in range(len(keys))]


def _walk(f: Everything, keys: BatchKeys, rng: random.Random) -> None:
    for key in keys:
        match rng.randrange(6):
            case 0:
                f.count.update((f.count.value() or 0) + 1)
            case 1:
                f.listed.add(rng.randrange(99))
            case 2:
                f.value.clear()
                f.names.update([f"{key}"])
            case 3:
                f.folded[0].add(rng.randrange(9))
                f.map.put("n", (f.map.get("n") or 0) + 1)
            case 4:
                f.struct.update((1, "one", None))
            case 5:
                f.folded[4].clear()
                f.listed.clear()


STEPS: list[Step] = [
    lambda f, keys, batch, _: [state.add_many(keys, batch["n"]) for state in f.folded],
    lambda f, keys, batch, _: f.listed.add_many(keys, batch["n"]),
    lambda f, keys, batch, _: f.names.add_many(keys, batch["user"]),
    lambda f, keys, _, rng: f.value.update_many(keys, some(keys, rng, "x".__mul__)),
    lambda f, keys, _, rng: f.struct.update_many(keys, some(keys, rng, lambda n: (n, str(n), None))),
    lambda f, keys, _, rng: f.array.update_many(keys, some(keys, rng, lambda n: [n, None] * (n % 3))),
    lambda f, keys, _, rng: f.count.update_many(keys, some(keys, rng, int)),
    lambda f, keys, _, rng: _walk(f, keys, rng),
    lambda f, keys, _, __: f.read.extend((f.count.value(), f.value.value(), f.listed.get()) for _ in keys),
    lambda f, keys, *_: f.count.get_many(keys),
]


def random_rows(rng: random.Random) -> list[dict[str, Any]]:
    step = rng.randrange(1 << 30)
    users = [f"user {rng.randrange(12)}" for _ in range(rng.randrange(1, 30))]
    return [{"user": u, "n": rng.choice([None, *range(20)]), "step": step} for u in users]


TTL = StateTtlConfig.new_builder(Duration.of_millis(30)).update_ttl_on_read_and_write()


@pytest.mark.parametrize(
    "ttl",
    [None, TTL.build(), TTL.disable_cleanup_in_background().build()],
    ids=["forever", "with cleanup", "without cleanup"],
)
@pytest.mark.parametrize("seed", [0, 1, *first_every_day(*range(2, 12))])
def test_files_hold_what_memory_holds(seed: int, ttl: StateTtlConfig | None) -> None:
    """Random steps of batches and of keys, several batches a task, restarts, merges, writes that go to disk early."""
    rng = random.Random(seed)
    memory = MemoryHarness(Everything(ttl), lambda row: row["user"])
    files = FileHarness(Everything(ttl), lambda row: row["user"])
    files.spill_every = seed % 2
    for now in range(8):
        for harness in (memory, files):
            harness.advance_processing_time(10 * now)
        batches = [random_rows(rng) for _ in range(rng.randrange(1, 4))]
        for rows in batches:
            memory.process_batch(rows)
        files.process_batch(*batches)
        assert files.output == memory.output
        if ttl is not None and ttl.get_cleanup_strategies().is_cleanup_in_background():
            continue  # files leave out what expired and nobody read
        for name in ("value", "struct", "array", "count", "listed", "names", "map", "total", "all"):
            assert files.number_of_keys(name) == memory.number_of_keys(name), name
        rng.choice([lambda: None, files.restart, files.compact])()


def test_what_is_added_at_once_is_what_rows_add() -> None:
    """The same states, row by row and as columns."""
    rng = random.Random(5)
    rows = random_rows(rng) + random_rows(rng)

    class ByRow(Everything):
        def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
            groups, numbers = keys.indices.to_pylist(), batch["n"].to_pylist()
            for group, _ in enumerate(keys):
                for number in [n for g, n in zip(groups, numbers, strict=True) if g == group and n is not None]:
                    for state in (*self.folded, self.listed):
                        state.add(number)
            yield self.seen(keys)

        def seen(self, keys: BatchKeys) -> Any:
            return {str(i): state.get_many(keys) for i, state in enumerate((*self.folded, self.listed))}

    class AtOnce(ByRow):
        def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
            returned = [state.add_many(keys, batch["n"]) for state in self.folded]
            self.listed.add_many(keys, batch["n"])
            seen = self.seen(keys)
            assert [column.to_pylist() for column in returned] == [
                seen[str(i)].to_pylist() for i in range(len(returned))
            ]
            yield seen

    by_row, at_once = KeyedHarness(ByRow(), "user"), KeyedHarness(AtOnce(), "user")
    for harness in (by_row, at_once):
        harness.process_batch(rows)
        harness.process_batch(rows)
    assert at_once.output == by_row.output
    assert len(at_once.output) > 8


def test_timers_and_walks_see_what_batches_wrote() -> None:
    """A timer of the same task, and the current key while keys are walked."""

    class Timed(Everything):
        def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
            self.folded[0].add_many(keys, batch["n"])
            self.listed.add_many(keys, batch["n"])
            self.count.update_many(keys, [5] * len(keys))
            for key in keys:
                assert ctx.get_current_key() == key
                assert self.count.value() == 5
                ctx.timer_service().register_processing_time_timer(0)
            with pytest.raises(StateError, match="state 'count' was used without a key"):
                self.count.value()
            yield {"n": self.count.get_many(keys)}

    for make in (KeyedHarness, FileHarness):
        harness = make(Timed(), lambda row: row["user"])
        harness.process_batch([{"user": "a", "n": 1}, {"user": "b", "n": 2}, {"user": "a", "n": 3}])
        harness.advance_processing_time(1)
        assert harness.output[:2] == [(5,), (5,)]
        assert sorted(harness.output[2:]) == [("a", 0, 0, 5, [1, 3, 0]), ("b", 0, 0, 3, [2, 0])]


def test_keys_of_a_batch() -> None:
    """Columns, numbers, aggregates; times and side outputs too."""

    class Keys(KeyedBatchFunction):
        def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
            assert len(keys) == 2
            assert keys.indices.to_pylist() == [0, 1, 0]
            assert list(keys) == [("a", 1), ("b", 1)]
            assert [keys[name].to_pylist() for name in ("user", "n")] == [["a", "b"], [1, 1]]
            assert keys.reduce(batch["x"], "max").to_pylist() == [30, 20]
            times = ctx.timestamps()
            assert times is not None
            yield pa.table({"at": keys.reduce(times, "last")})
            yield SIDE, {"n": np.array([1, 2])}
            with pytest.raises(StateError, match="expected user, n, found 'x'"):
                keys["x"]
            with pytest.raises(StateError, match="expected 3 values, one a row, found 1"):
                keys.reduce(pa.array([1]), "sum")

    harness = KeyedHarness(Keys(), ["user", "n"])
    rows = [{"user": u, "n": 1, "x": x} for u, x in (("a", 10), ("b", 20), ("a", 30))]
    harness.process_batch(rows, timestamps=[1, 2, 3])
    assert harness.output == [(3,), (2,)]
    assert harness.side_output(SIDE) == [(1,), (2,)]


WRONG: list[tuple[Callable[[Everything, BatchKeys], Any], str]] = [
    (lambda f, keys: f.count.update_many(keys, ["x", "y"]), "value state 'count' was given a wrong value"),
    (lambda f, keys: f.count.update_many(keys, pa.array([1.5, 2])), "value state 'count' was given a wrong value"),
    (
        lambda f, keys: f.count.update_many(keys, pa.array(["1", "2"])),
        r"'count' was given a wrong value for key 'a' .expected bigint, found '1'",
    ),
    (lambda f, keys: f.value.update_many(keys, pa.array([1, 2])), "value state 'value' was given a wrong value"),
    (lambda f, keys: f.count.update_many(keys, pa.array([True, False])), "expected bigint, found True.: give an int"),
    (lambda f, keys: f.count.update_many(keys, [1]), "wrong number of values .expected 2, one a key, found 1"),
    (lambda f, keys: f.listed.add_many(keys, ["x", "y"]), "list state 'listed' was given a wrong value"),
    (lambda f, keys: f.listed.add_many(keys, [1]), "expected 2 values, one a row, found 1"),
    (lambda f, keys: f.folded[0].add_many(keys, [1 << 63, 0]), "reducing state 'total' was given a wrong value"),
    (
        lambda f, keys: f.folded[0].add_many(keys, [(1 << 63) - 1] * 2) and f.folded[0].add_many(keys, [1, 1]),
        "a sum is",
    ),
]


@pytest.mark.parametrize(("action", "message"), WRONG)
def test_what_states_refuse(action: Callable[[Everything, BatchKeys], Any], message: str) -> None:
    """And nothing of it is stored."""

    class Wrong(Everything):
        def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
            yield action(self, keys)

    for make in (KeyedHarness, FileHarness):
        harness = make(Wrong(), lambda row: row["user"])
        with pytest.raises(StateError, match=message):
            harness.process_batch([{"user": "a"}, {"user": "b"}])
        assert harness.number_of_keys("count") == harness.number_of_keys("listed") == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ReducingStateDescriptor("s", "avg", "bigint"),
            "expected sum, min, max, last, or a function, found 'avg'",
        ),
        (
            lambda: AggregatingStateDescriptor("s", "sum", "bigint"),
            "expected count, collect, or a function, found 'sum'",
        ),
    ],
)
def test_functions_that_there_are_not(make: Callable[[], Any], message: str) -> None:
    """When the descriptor is made."""
    with pytest.raises(StateError, match=message):
        make()
