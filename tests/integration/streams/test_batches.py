"""Functions of batches in streaming queries of a real Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession

import keygroups as kg
from integration.streams.functions import COUNTS, LATE, WORDS
from integration.streams.stream import Stream
from integration.streams.test_process import EVENTS, TIGHT, TIMED, second
from keygroups.functions import BatchContext, BatchKeys, KeyedBatchFunction, OnTimerContext, RuntimeContext
from keygroups.state import ListStateDescriptor, ReducingStateDescriptor, StateTtlConfig, ValueStateDescriptor
from keygroups.state.durations import Duration
from support.everyday import first_every_day
from support.spark import session_with

TOTALS = "user string, total bigint, numbers array<bigint>, text string"


class Totals(KeyedBatchFunction):
    """Sums, lists and texts of each user."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_reducing_state(ReducingStateDescriptor("total", "sum", "bigint"))
        self.numbers = runtime_context.get_list_state(ListStateDescriptor("numbers", "bigint"))
        text = ValueStateDescriptor("text", "string", default="")
        text.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_days(1)).build())
        self.text = runtime_context.get_state(text)
        self.rows = runtime_context.get_metrics_group().counter("rows")

    def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
        self.rows.inc(batch.num_rows)
        self.numbers.add_many(keys, batch["n"])
        text = pc.binary_join_element_wise(self.text.get_many(keys).fill_null(""), keys["user"], "")
        self.text.update_many(keys, text)
        total = self.total.add_many(keys, batch["n"])
        yield {"user": keys["user"], "total": total, "numbers": self.numbers.get_many(keys), "text": text}


def totals(frame: DataFrame) -> DataFrame:
    return kg.key_by(frame, "user").process(Totals(), TOTALS, uid="totals")


def test_state_goes_on_from_batch_to_batch_and_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, EVENTS)
    users = [f"user {i % 70}" for i in range(1000)]
    expected = Counter[str]()
    for i, user in enumerate(users):
        expected[user] += i
    stream.add(*((user, i) for i, user in enumerate(users)))
    stream.add(*((user, i) for i, user in enumerate(users)))
    rows = stream.run(totals)
    assert len(rows) == 2 * 70
    latest = {row.user: row for row in rows}
    assert {user: row.total for user, row in latest.items()} == {user: 2 * n for user, n in expected.items()}
    assert latest["user 5"].numbers == 2 * [i for i in range(1000) if i % 70 == 5]
    stream.add(("user 1", 7), ("a new one", 3), ("user 1", None))
    found = {row.user: row for row in stream.run(totals)}
    assert found["user 1"].total == 2 * expected["user 1"] + 7
    assert found["user 1"].text == "user 1" * 3
    assert tuple(found["a new one"]) == ("a new one", 3, [3], "a new one")
    stored = {row.key.user: row.value.value for row in stream.state("total")}
    assert stored == {user: row.total for user, row in (latest | found).items()}
    (operator,) = stream.progress[-1].stateOperators
    assert operator.numRowsTotal == 3 * 71
    assert operator.customMetrics["totals.rows"] == 3


@pytest.mark.slow
def test_a_worker_in_little_memory_gives_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """Small batches of Arrow's large types, writes that move to disk, segments that are merged."""
    rows = [(f"user {i % 300}", i) for i in range(15_000)]
    results = []
    arrow = {"maxRecordsPerBatch": "50", "useLargeVarTypes": "true"}
    ours = {f"spark.sql.streaming.stateStore.keyGroups.{name}": value for name, value in TIGHT.items()}
    ours["spark.sql.streaming.stateStore.keyGroups.workerBytes"] = "1m"
    tight = ours | {f"spark.sql.execution.arrow.{name}": value for name, value in arrow.items()}
    for name, settings in (("plain", {}), ("tight", tight)):
        session = session_with(spark, settings)
        stream = Stream(session, tmp_path / name, EVENTS)
        for start in range(0, 15_000, 3000):
            stream.add(*rows[start : start + 3000])
        latest = {row.user: (row.total, row.numbers) for row in stream.run(totals)}
        results.append((latest, sorted(map(repr, stream.state("total")))))
    assert results[0] == results[1]
    assert len(results[0][0]) == 300


class Timed(KeyedBatchFunction):
    """The latest time of each user, and a timer a second later; early rows go to a side output."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.latest = runtime_context.get_reducing_state(ReducingStateDescriptor("latest", "max", "bigint"))

    def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
        times = ctx.timestamps()
        assert times is not None
        latest = self.latest.add_many(keys, times)
        for _ in keys:
            ctx.timer_service().register_event_time_timer(self.latest.get() + 1000)
        yield pa.table({"user": keys["user"], "n": latest})
        yield LATE, batch.select(["user", "n"])
        yield WORDS, {"value": batch["user"]}

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), -timestamp
        yield WORDS, "rang"


def test_times_timers_and_side_outputs(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, TIMED)

    def define(frame: DataFrame) -> DataFrame:
        given = frame.withWatermark("at", "2 seconds")
        return kg.key_by(given, "user").process(Timed(), COUNTS, uid="timed", side_outputs=[LATE, WORDS])

    def millis(number: float) -> int:
        return int(second(number).timestamp() * 1000)

    stream.add(("a", 1, second(10)), ("b", 2, second(10.5)), ("a", 3, second(9)))
    rows = stream.run(define)
    main = [(row.user, row.n) for row in rows if row.late is None and row.words is None]
    assert sorted(main) == [("a", millis(10)), ("b", millis(10.5))]
    assert sorted(tuple(row.late) for row in rows if row.late) == [("a", 1), ("a", 3), ("b", 2)]
    assert sorted(row.words.value for row in rows if row.words) == ["a", "a", "b"]
    stream.add(("c", 4, second(13.2)))  # the watermark becomes 11.2
    rows = [row for row in stream.run(define) if row.user == "a" or (row.words and row.words.value == "rang")]
    assert [(row.user, row.n, row.words) for row in rows] == [("a", -millis(11), None), (None, None, Row(value="rang"))]


def test_a_bounded_frame_gives_the_same(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(f"user {i % 7}", i) for i in range(100)], "user string, n bigint")
    found = {row.user: (row.total, sorted(row.numbers)) for row in totals(frame).collect()}
    numbers = {f"user {user}": list(range(user, 100, 7)) for user in range(7)}
    assert found == {user: (sum(given), given) for user, given in numbers.items()}


Give = Callable[[BatchKeys, pa.RecordBatch, pa.Array], Any]


class Giving(KeyedBatchFunction):
    """Adds numbers up, and gives something."""

    def __init__(self, given: Give) -> None:
        self.given = given

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_reducing_state(ReducingStateDescriptor("total", "sum", "bigint"))

    def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
        yield self.given(keys, batch, self.total.add_many(keys, batch["n"]))


WRONG: dict[str, tuple[Give, str]] = {
    "a row": (lambda *_: ("a", 1), r"operator 'giving' gave wrong columns .*found \('a', 1\)"),
    "a column less": (lambda keys, *_: {"user": keys["user"]}, "gave wrong columns .*found 'user'"),
    "lengths": (lambda keys, *_: {"user": keys["user"], "n": []}, r"gave wrong columns .*n: 0 values"),
    "a type": (
        lambda keys, *_: {"user": keys["user"], "n": keys["user"]},
        "wrong value for column 'n', in row 0 .*bigint",
    ),
    "a side output": (lambda _, batch, __: (LATE, batch), "a side output that it did not declare .*found late"),
}


@pytest.mark.parametrize("name", first_every_day("a type", *(name for name in WRONG if name != "a type")))
def test_columns_that_do_not_fit_leave_nothing_behind(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """The error names the operator."""
    given, message = WRONG[name]
    stream = Stream(spark, tmp_path, EVENTS)
    stream.add(("a", 1), ("a", 2))

    def define(given: Give) -> Callable[[DataFrame], DataFrame]:
        return lambda frame: kg.key_by(frame, "user").process(Giving(given), COUNTS, uid="giving")

    with pytest.raises(StreamingQueryException, match=message):
        stream.run(define(given))
    rows = stream.run(define(lambda keys, _, total: {"user": keys["user"], "n": total}))
    assert {tuple(row) for row in rows} == {("a", 3)}
