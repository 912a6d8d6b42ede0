"""Values of another schema: rewritten by the first batch, where Spark lets schemas evolve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from integration.streams.stream import Define, Stream
from integration.streams.test_process import EVENTS
from integration.streams.test_refusals import SETTINGS, count
from keygroups.functions import Context, KeyedProcessFunction, RuntimeContext
from keygroups.state import StateTtlConfig, ValueStateDescriptor
from support.spark import session_with

COLUMNS = "user string, kept string"


class Kept(KeyedProcessFunction):
    """Keeps what it makes of the last number of a user."""

    def __init__(self, kind: str, make: Callable[[int], Any], days: int = 0) -> None:
        self.kind, self.make, self.days = kind, make, days

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("kept", self.kind)
        if self.days:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(timedelta(self.days)).build())
        self.kept = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        yield ctx.get_current_key(), str(self.kept.value())
        self.kept.update(self.make(value.n))


def kept(kind: str, make: Callable[[int], Any], days: int = 0) -> Define:
    return count(Kept(kind, make, days), columns=COLUMNS)


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    found = Stream(session_with(spark, {SETTINGS + "encodingFormat": "avro"}), tmp_path, EVENTS)
    found.add(("a", 1), ("b", 2), ("a", 3))
    return found


def test_fields_are_added_removed_and_widened(stream: Stream) -> None:
    stream.run(kept("n int, old string", lambda n: (n, "old")))
    stream.add(("a", 4))
    wider = kept("n bigint, new string", lambda n: (n, "new"))
    assert [tuple(row) for row in stream.run(wider)] == [("a", "Row(n=3, new=None)")]
    stream.add(("a", 5), ("b", 5))
    assert {tuple(row) for row in stream.run(wider)} == {("a", "Row(n=4, new='new')"), ("b", "Row(n=2, new=None)")}
    assert {(row.key.user, row.value.n) for row in stream.state("kept")} == {("a", 5), ("b", 5)}
    assert stream.progress[-1].stateOperators[0].numRowsTotal == 2


def test_a_time_to_live_is_switched_on_and_off(stream: Stream) -> None:
    """Row TT13: values that had none begin to live in the first batch."""
    stream.run(kept("bigint", lambda n: n))
    for days, found in ((7, {("a", "3"), ("b", "2")}), (0, {("a", "4"), ("b", "4")})):
        stream.add(("a", 4), ("b", 4))
        assert {tuple(row) for row in stream.run(kept("bigint", lambda n: n, days))} == found


def test_another_kind_of_value_is_refused(stream: Stream) -> None:
    """The state stays as it was."""
    stream.run(kept("bigint", lambda n: n))
    stream.add(("a", 4))
    with pytest.raises(StreamingQueryException, match=r"kept|INCOMPATIBLE|COMPATIBLE"):
        stream.run(kept("string", str))
    assert [tuple(row) for row in stream.run(kept("bigint", lambda n: n))] == [("a", "3")]
