"""Timers of keyed functions in Spark's state reader."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import keygroups as kg
from integration.streams.functions import COUNTS, Alarm, Reminder
from integration.streams.stream import Stream

TIMED = pa.schema([("user", pa.string()), ("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
REMINDED = "user string, time bigint, domain string, rows array<bigint>"
START = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
DAY = 86_400_000


def timers(stream: Stream, name: str) -> set[tuple[str, int]]:
    return {(row.key.user, row.expiration_timestamp_ms) for row in stream.state(name)}


def test_event_timers_that_wait(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, TIMED)

    def define(frame: DataFrame) -> DataFrame:
        given = frame.withWatermark("at", "1 second")
        return kg.key_by(given, "user").process(Reminder(), REMINDED, uid="reminder")

    for i in range(2):
        stream.add(*((f"user {n}", n, START + dt.timedelta(seconds=10 * i + n)) for n in range(9)))
    stream.run(define)
    fired = {(row.user, row.time) for rows in stream.output.values() for row in rows}
    first = int(START.timestamp() * 1000) + 1000  # a timer is set a second after its row
    waiting = {(f"user {n}", first + 1000 * (10 * i + n)) for i in range(2) for n in range(9)} - fired
    assert len(fired) == 9 + 7, "the watermark is 17 s after the start"
    assert timers(stream, "$eventTimers_keyToTimestamp") == waiting
    reader = spark.read.format("statestore").option("readRegisteredTimers", True)
    found = reader.load(str(stream.checkpoint)).collect()
    assert {(row.key.user, row.expiration_timestamp_ms) for row in found} == waiting


def test_processing_timers_that_wait(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, TIMED)
    stream.add(*((f"user {n}", n, START) for n in range(9)))
    stream.run(lambda frame: kg.key_by(frame, "user").process(Alarm(DAY), COUNTS, uid="alarm"))
    assert {user for user, _ in timers(stream, "$procTimers_keyToTimestamp")} == {f"user {n}" for n in range(9)}
