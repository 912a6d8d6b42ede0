"""Keyed functions in streaming queries of a real Spark."""

from __future__ import annotations

import datetime as dt
import functools
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import keygroups as kg
from integration.streams.functions import (
    COUNTS,
    LATE,
    WORDS,
    Alarm,
    Count,
    Dying,
    Failing,
    Reminder,
    Sorter,
    Task,
    Wide,
    Words,
)
from integration.streams.stream import Stream
from keygroups.errors import SettingError
from state.test_harness import CountWindowAverage, CountWindowFirstEntry
from support.processes import wait_for
from support.spark import session_with

TIGHT = {"compactionFanout": "2", "maxSegments": "4", "blockBytes": "4096"}
EVENTS = pa.schema([("user", pa.string()), ("n", pa.int64())])
TIMED = pa.schema([("user", pa.string()), ("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])


def second(number: float) -> dt.datetime:
    return dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(seconds=number)


def count_with(function: Count, frame: DataFrame) -> DataFrame:
    return kg.key_by(frame, "user").process(function, COUNTS, uid="count")


def count(frame: DataFrame) -> DataFrame:
    return kg.key_by(frame, "user").process(Count(), COUNTS, uid="count")


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path, EVENTS)


@pytest.fixture
def timed(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path, TIMED)


def test_state_goes_on_from_batch_to_batch_and_after_a_restart(stream: Stream) -> None:
    users = [f"user {i % 70}" for i in range(1000)]
    expected = Counter(users)
    stream.add(*((user, i) for i, user in enumerate(users)))
    stream.add(*((user, i) for i, user in enumerate(users)))
    rows = stream.run(count)
    assert Counter(row.user for row in rows) == Counter(users * 2)
    assert {row.user: row.n for row in rows} == {user: 2 * n for user, n in expected.items()}
    stream.add(("user 1", 0), ("a new one", 0))
    assert {tuple(row) for row in stream.run(count)} == {("user 1", 2 * expected["user 1"] + 1), ("a new one", 1)}
    assert {
        (row.key.user, row.value.value) for row in stream.state("count") if row.key.user in ("user 1", "a new one")
    } == {
        ("user 1", 2 * expected["user 1"] + 1),
        ("a new one", 1),
    }
    (operator,) = stream.progress[-1].stateOperators
    assert operator.numRowsTotal == 71
    assert operator.numRowsUpdated == 2
    assert operator.customMetrics["count.seen"] == 2
    assert operator.customMetrics["count.size"] == 7 * 2  # of two partitions


def test_pickled_values_and_expired_ones(stream: Stream) -> None:
    """Spark's reader shows pickled values as binary; what has expired goes with the batches."""
    stream.add(*((f"user {i}", i % 3) for i in range(30)))
    stream.add(("user 1", 1), ("user 1", 1))

    def define(frame: DataFrame) -> DataFrame:
        return kg.key_by(frame, "user").process(Words(), COUNTS, uid="words")

    assert [row.n for row in stream.run(define) if row.user == "user 1"] == [1, 2, 3]
    assert {type(row.value.value) for row in stream.state("all")} <= {bytes, bytearray}
    some = [f"user {i}" for i in range(8)]
    for i in range(6):
        stream.add(*((user, i) for user in some))
    stream.run(define)
    assert len(stream.state("all")) == 30
    assert {row.key.user for row in stream.state("words")} == set(some)


def test_several_columns_of_any_type_are_a_key(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, TIMED)
    stream.add(("a", 1, second(0)), ("a", 1, second(0)), ("a", 2, second(0)), (None, 1, second(0)))

    def define(frame: DataFrame) -> DataFrame:
        struct = "key struct<user:string, k:bigint, at:timestamp>, n bigint"
        return kg.key_by(frame, "user", (F.col("n") % 2).alias("k"), F.col("at")).process(Count(), struct, uid="count")

    rows = {(row.key.user, row.key.k, row.n) for row in stream.run(define)}
    assert rows == {("a", 1, 1), ("a", 1, 2), ("a", 0, 1), (None, 1, 1)}
    with pytest.raises(SettingError, match=r"a computed key has the name of a column .*found n.: .*alias"):
        kg.key_by(stream.frame(), (F.col("n") % 2).alias("n"))


def test_timers_fire_when_the_watermark_has_passed(timed: Stream) -> None:
    def define(frame: DataFrame) -> DataFrame:
        given = frame.withWatermark("at", "2 seconds")
        return kg.key_by(given, "user").process(
            Reminder(), "user string, time bigint, domain string, rows array<bigint>", uid="reminder"
        )

    def millis(number: float) -> int:
        return int(second(number).timestamp() * 1000)

    timed.add(("a", 1, second(10)), ("b", 2, second(10.5)), ("a", 3, second(10)))
    assert timed.run(define) == []
    timed.add(("c", 4, second(13.2)))  # the watermark becomes 11.2
    rows = timed.run(define)
    assert [tuple(row) for row in rows] == [("a", millis(11), "EVENT_TIME", [1, 3])]
    timed.add(("c", 5, second(20)))
    rows = timed.run(define)
    assert sorted(tuple(row)[:2] for row in rows) == [("b", millis(11.5)), ("c", millis(14.2))]


def test_processing_timers_fire_without_input(stream: Stream) -> None:
    stream.add(("a", 1), ("b", 2))
    query = stream.start(
        lambda frame: kg.key_by(frame, "user").process(Alarm(1500), COUNTS, uid="alarm"),
        processingTime="100 milliseconds",
    )
    try:
        rows = wait_for(lambda: [row for rows in stream.output.values() for row in rows], 60)
        batches = len(stream.output)
    finally:
        query.stop()
    assert sorted(row.user for row in rows) == ["a", "b"]
    assert all(row.n >= 0 for row in rows)
    assert batches <= 4, "batches without input run only when a timer is due"


def test_side_outputs(stream: Stream) -> None:
    stream.add(("a", 1), ("a", 2))
    rows = stream.run(
        lambda frame: kg.key_by(frame, "user").process(Sorter(), COUNTS, uid="sorter", side_outputs=[LATE, WORDS])
    )
    assert [(row.user, row.n, row.late and tuple(row.late), row.words and row.words.value) for row in rows] == [
        ("a", 1, None, None),
        (None, None, ("a", -1), None),
        (None, None, None, "odd"),
        ("a", 2, None, None),
        (None, None, None, "even"),
    ]


def test_append_mode_with_an_aggregation_behind(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, TIMED, mode="append")

    def define(frame: DataFrame) -> DataFrame:
        given = kg.key_by(frame.withWatermark("at", "1 second"), "user").map_with_state(
            lambda row, state: ((row.user, state or 0, row.at), (state or 0) + 1),
            "user string, n bigint, at timestamp",
            "bigint",
            uid="numbered",
            event_time="at",
        )
        return given.groupBy(F.window("at", "10 seconds")).agg(F.sum("n").alias("n"))

    stream.add(("a", 0, second(1)), ("a", 0, second(2)), ("a", 0, second(3)), ("b", 0, second(4)))
    stream.add(("a", 0, second(35)))
    stream.add(("a", 0, second(36)))
    rows = stream.run(define)
    assert [row.n for row in rows] == [0 + 1 + 2 + 0]


def test_writes_move_to_disk_where_memory_is_bounded(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.stateStore.keyGroups.workerBytes", "1m")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
    stream = Stream(session, tmp_path, EVENTS)
    numbers = [(f"user {i % 40}", i) for i in range(6000)]
    stream.add(*numbers)
    stream.add(*numbers)
    stream.run(lambda frame: kg.key_by(frame, "user").process(Wide(), COUNTS, uid="wide"))
    expected: dict[tuple[str, int], int] = {(user, n % 50): n for user, n in numbers}
    texts = {(row.key.user, row.user_map_key.key): row.user_map_value.value for row in stream.state("texts")}
    assert texts == {key: f"{n}" * 400 for key, n in expected.items()}
    assert {row.key.user: row.value.value for row in stream.state("n")} == dict(Counter(user for user, _ in expected))


def test_a_killed_worker_leaves_nothing_behind(stream: Stream, tmp_path: Path) -> None:
    def define(frame: DataFrame) -> DataFrame:
        return kg.key_by(frame, "user").process(Dying(tmp_path, 150), COUNTS, uid="count")

    for batch in range(3):
        stream.add(*((f"user {i % 7}", batch * 100 + i) for i in range(100)))
    with pytest.raises(StreamingQueryException, match=r"crashed|exited|Connection|EOF"):
        stream.run(define)
    stream.run(define)
    assert {row.user: row.n for batch in stream.output.values() for row in batch} == dict(
        Counter(f"user {i % 7}" for _ in range(3) for i in range(100))
    )


def test_a_function_is_closed_after_an_error(stream: Stream, tmp_path: Path) -> None:
    mark = tmp_path / "closed"
    define = functools.partial(count_with, Failing(mark))
    stream.add(("a", 1))
    with pytest.raises(StreamingQueryException, match="no more"):
        stream.run(define)
    assert mark.exists()


def test_zeros_are_one_key(spark: SparkSession, tmp_path: Path) -> None:
    """As in Spark's own grouping; NaNs are another."""
    stream = Stream(spark, tmp_path, pa.schema([("user", pa.float64()), ("n", pa.int64())]))
    stream.add((0.0, 1), (-0.0, 2), (float("nan"), 3), (float("nan"), 4))
    rows = stream.run(lambda frame: kg.key_by(frame, "user").process(Count(), "user double, n bigint", uid="count"))
    assert sorted(row.n for row in rows) == [1, 1, 2, 2]


def test_compactions_go_on_beside_workers(spark: SparkSession, tmp_path: Path) -> None:
    """They delete files that a worker has been told of."""
    conf = {f"spark.sql.streaming.stateStore.keyGroups.{name}": value for name, value in TIGHT.items()}
    stream = Stream(session_with(spark, conf), tmp_path, EVENTS)
    for batch in range(12):
        stream.add(*((f"user {i % 300}", batch) for i in range(600)))
    stream.run(count)
    assert {row.value.value for row in stream.state("count")} == {24}
    assert len(stream.state("count")) == 300


def test_the_task(stream: Stream) -> None:
    stream.add(*((f"user {i}", i) for i in range(20)))
    rows = stream.run(
        lambda frame: kg.key_by(frame, "user").process(
            Task(), "name string, subtask int, most int, partitions string", uid="task"
        )
    )
    assert {(row.name, row.subtask, row.partitions) for row in rows} == {
        ("task (1/2)#0", 0, "2"),
        ("task (2/2)#0", 1, "2"),
    }
    assert {row.most for row in rows} == {28800}


def test_worked_examples(spark: SparkSession, tmp_path: Path) -> None:
    """W1, W2 and W3, in the order of the rows of a key."""
    schema = pa.schema([("key", pa.int64()), ("value", pa.int64())])

    def run(values: list[int], define: object) -> list[tuple[object, ...]]:
        stream = Stream(spark, tmp_path / f"{len(list(tmp_path.iterdir()))}", schema)
        stream.add(*((1, value) for value in values))
        return [tuple(row) for row in stream.run(define)]  # type: ignore[arg-type]

    average = run(
        [3, 5, 7, 4, 2],
        lambda frame: kg.key_by(frame, "key").process(CountWindowAverage(), "key bigint, n bigint", uid="w1"),
    )
    assert average == [(1, 4), (1, 5)]
    first = run(
        [3, 5, 3, 7, 4, 2, 2, 1],
        lambda frame: kg.key_by(frame, "key").process(
            CountWindowFirstEntry(), "key bigint, value bigint, n bigint", uid="w2"
        ),
    )
    assert first == [(1, 3, 1), (1, 3, 1), (1, 3, 2), (1, 3, 2), (1, 3, 2), (1, 2, 1), (1, 2, 2), (1, 1, 1)]
    before = run(
        [3, 5, 7],
        lambda frame: kg.key_by(frame, "key").map_with_state(
            lambda row, n: ((row.key, n or 0), (n or 0) + 1), "key bigint, n bigint", "bigint", uid="w3"
        ),
    )
    assert before == [(1, 0), (1, 1), (1, 2)]
