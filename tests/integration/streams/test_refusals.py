"""What a keyed function may not do: the error names the operator and what to do, at the earliest moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

import keygroups as kg
from integration.streams.functions import COUNTS, LATE, WORDS, Count, Sorter
from integration.streams.stream import Stream
from integration.streams.test_process import EVENTS
from keygroups.configure import PROVIDER_CLASS
from keygroups.errors import SettingError
from keygroups.functions import Context, KeyedProcessFunction, OutputTag, RuntimeContext
from keygroups.state import StateError, ValueStateDescriptor
from keygroups.streams.side_outputs import row_of
from support.spark import PROVIDERS, session_with

SETTINGS = "spark.sql.streaming.stateStore."


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    found = Stream(spark, tmp_path, EVENTS)
    found.add(("a", 1), ("b", 2), ("a", 3))
    return found


class AtOpen(KeyedProcessFunction):
    """Does something in open."""

    def __init__(self, action: Callable[[RuntimeContext], Any]) -> None:
        self.action = action

    def open(self, runtime_context: RuntimeContext) -> None:
        self.action(runtime_context)

    def process_element(self, value: Any, ctx: Context) -> None:
        del value, ctx


class AtRow(Count):
    """Does something with a row."""

    def __init__(self, action: Callable[[Any, Any, Context], Any]) -> None:
        super().__init__()
        self.action = action

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self.context = runtime_context

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        yield from super().process_element(value, ctx)
        if value.n == 3:
            given = self.action(self, value, ctx)
            if given is not None:
                yield given


class Locked(Count):
    """Cannot be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def a_state(name: str, kind: str = "bigint") -> Callable[[RuntimeContext], Any]:
    return lambda context: context.get_state(ValueStateDescriptor(name, kind))


DEFINITIONS: dict[str, tuple[Callable[[DataFrame], Any], type[Exception], str]] = {
    "no column": (kg.key_by, SettingError, "key_by has no column"),
    "a key with a map": (
        lambda f: kg.key_by(f, F.struct(F.create_map("user", "n")).alias("m")),
        SettingError, "key column 'm' has a map, .*found struct<.*key by array_sort",
    ),
    "a key with a collation": (
        lambda f: kg.key_by(f, F.array(F.collate("user", "UTF8_LCASE")).alias("u")),
        SettingError, "key column 'u' has texts with a collation.*found array<string collate UTF8_LCASE>.*key by",
    ),
    "a key that ignores spaces": (
        lambda f: kg.key_by(f, F.collate("user", "UTF8_BINARY_RTRIM").alias("u")),
        SettingError, "key column 'u' has texts with a collation",
    ),
    "a key of months": (
        lambda f: kg.key_by(f, F.make_ym_interval(F.lit(1)).alias("m")),
        SettingError, "key column 'm' has a type that no key can have .found interval year to month.: cast it",
    ),
    "months inside of a column": (
        lambda f: kg.key_by(f.withColumn("m", F.array(F.make_ym_interval(F.lit(1)))), "user"),
        SettingError, "column 'm' has intervals of months in it",
    ),
    "an unknown column": (lambda f: kg.key_by(f, "usr"), AnalysisException, "UNRESOLVED_COLUMN"),
    "no timestamp": (
        lambda f: kg.key_by(f, "user", event_time="n"), SettingError, "expected the name of a timestamp column",
    ),
    "no function": (
        lambda f: kg.key_by(f, "user").process(Count, COUNTS, uid="op"),  # type: ignore[arg-type]
        StateError, r"operator 'op' has a wrong function .expected a KeyedProcessFunction",
    ),
    "no uid": (lambda f: kg.key_by(f, "user").process(Count(), COUNTS, uid=""), StateError, "expected uid="),
    "no columns": (
        lambda f: kg.key_by(f, "user").process(Count(), "bigint", uid="op"),
        StateError, "the output type of operator 'op'",
    ),
    "not pickled": (
        lambda f: kg.key_by(f, "user").process(Locked(), COUNTS, uid="op"),
        StateError, "'op' cannot be sent to a worker .*make connections, locks and files in open",
    ),
    "state without a key": (
        lambda f: kg.key_by(f, "user").process(AtOpen(lambda c: a_state("n")(c).value()), COUNTS, uid="op"),
        StateError, "state 'n' was used without a key",
    ),
    "a name that Spark does not take": (
        lambda f: kg.key_by(f, "user").process(AtOpen(a_state("default")), COUNTS, uid="op"),
        StateError, "operator 'op' has a state with a name that Spark does not take",
    ),
    "a wrong type of state": (
        lambda f: kg.key_by(f, "user").process(AtOpen(a_state("n", "bigit")), COUNTS, uid="op"), StateError, "bigit",
    ),
    "a type that cannot be stored": (
        lambda f: kg.key_by(f, "user").process(AtOpen(a_state("n", "interval year")), COUNTS, uid="op"),
        StateError, "state 'n' cannot have the type interval year",
    ),
    "two columns of one name": (
        lambda f: kg.key_by(f, "user").process(
            Count(), COUNTS, uid="op", side_outputs=[OutputTag("user", "bigint")]
        ),
        StateError, "two output columns of operator 'op' have one name",
    ),
    "a type that cannot be given": (
        lambda f: kg.key_by(f, "user").process(Count(), "a interval year", uid="op"),
        StateError, "operator 'op' cannot give column 'a' of interval year",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("define", "error", "message"), DEFINITIONS.values(), ids=DEFINITIONS.keys())
def test_where_the_operator_is_defined(
    stream: Stream, define: Callable[[DataFrame], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        define(stream.frame())


def test_another_provider_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    other = Stream(session_with(spark, {PROVIDER_CLASS: PROVIDERS["rocksdb"]}), tmp_path, EVENTS)
    other.add(("a", 1))
    with pytest.raises(SettingError, match=r"operator 'op' needs the state store provider of Keygroups .*RocksDB"):
        kg.key_by(other.frame(), "user").process(Count(), COUNTS, uid="op")


def test_a_connect_client_is_refused() -> None:
    with pytest.raises(SettingError, match="key_by does not work on a Spark Connect client"):
        kg.key_by(object(), "user")  # type: ignore[arg-type]


def count(
    function: KeyedProcessFunction, uid: str = "count", columns: str = COUNTS
) -> Callable[[DataFrame], DataFrame]:
    return lambda frame: kg.key_by(frame, "user").process(function, columns, uid=uid)


ROWS: dict[str, tuple[Callable[[Any, Any, Any], Any], str]] = {
    "a late state": (lambda s, _, __: a_state("other")(s.context), "asks for value state 'other' of bigint after open"),
    "a late metric": (lambda s, _, __: s.context.get_metrics_group().counter("x"), "the metric 'x' after open"),
    "None": (lambda s, _, __: s.count.update("text"), "state 'count'"),
    "a side output": (lambda _, __, ___: (LATE, ("a", 1)), "a side output that it did not declare"),
    "a wide row": (lambda _, __, ___: ("a", 1, 2), "operator 'count' gave a wrong row"),
    "a wrong value": (lambda _, __, ___: ("a", "text"), "gave a wrong value for column 'n'"),
    "an error of the user": (lambda _, value, __: value.missing, "missing"),
    "a wrong timer": (
        lambda _, __, ctx: ctx.timer_service().register_event_time_timer(1.5), "a timer has a wrong time"
    ),
}  # fmt: skip


EVERYDAY = ("a wide row", "an error of the user")


@pytest.mark.parametrize(
    ("action", "message"),
    [pytest.param(*row, id=name, marks=[pytest.mark.slow] * (name not in EVERYDAY)) for name, row in ROWS.items()],
)
def test_a_row_that_fails_leaves_nothing_behind(
    stream: Stream, action: Callable[[Any, Any, Any], Any], message: str
) -> None:
    with pytest.raises(StreamingQueryException, match=message):
        stream.run(count(AtRow(action)))
    assert {tuple(row) for row in stream.run(count(AtRow(lambda _, __, ___: None)))} == {("a", 1), ("b", 1), ("a", 2)}


@pytest.mark.parametrize("row", [None, {"user": "a", "m": 1}], ids=["None", "another field"])
def test_a_wrong_row_of_a_side_output(row: Any) -> None:
    """It would become a row of the main output, or one with a null."""
    make = row_of(spark_types.StructType(), [WORDS, LATE], "count")
    assert make((LATE, {"user": "a"})) == (None, ("a", None))
    assert make((WORDS, None)) == ((None,), None)
    with pytest.raises(
        StateError, match=r"'count' gave a wrong row for side output 'late' .expected struct<user:string,n:bigint>, fo"
    ):
        make((LATE, row))


def test_an_operator_keeps_its_name(stream: Stream) -> None:
    stream.run(count(Count()))
    stream.add(("a", 4))
    with pytest.raises(StreamingQueryException, match=r"operator 'other' meets the state of another one .*uid 'count'"):
        stream.run(count(Count(), uid="other"))
    assert [tuple(row) for row in stream.run(count(Count()))] == [("a", 3)]


def test_two_operators_have_two_names(stream: Stream) -> None:
    with pytest.raises(StreamingQueryException, match=r"two operators of the query have one uid .found 'count' twice"):
        stream.run(lambda frame: count(Count())(frame).unionAll(count(Sorter())(frame)))


@pytest.mark.parametrize(
    ("setting", "value", "found"),
    [
        ("keyGroups.ttl", "7d", "keyGroups.ttl is set"),
        ("keyGroups.changeFeed", "writes", "keyGroups.changeFeed is writes"),
    ],
)
def test_settings_that_a_worker_cannot_follow(
    spark: SparkSession, tmp_path: Path, setting: str, value: str, found: str
) -> None:
    stream = Stream(session_with(spark, {SETTINGS + setting: value}), tmp_path, EVENTS)
    stream.add(("a", 1))
    with pytest.raises(StreamingQueryException, match=rf"cannot run with this setting \(found {found}\)"):
        stream.run(count(Count()))


def test_another_type_of_a_state_is_refused(stream: Stream) -> None:
    """By Spark, with both schemas; the state stays as it was."""
    stream.run(count(Count()))
    stream.add(("a", 4))
    with pytest.raises(StreamingQueryException, match=r"VALUE_SCHEMA_NOT_COMPATIBLE"):
        stream.run(count(Count("int")))
    assert [tuple(row) for row in stream.run(count(Count()))] == [("a", 3)]


def test_a_wrong_memory_setting(spark: SparkSession) -> None:
    session = session_with(spark, {SETTINGS + "keyGroups.workerBytes": "much"})
    with pytest.raises(SettingError, match=r"workerBytes is not valid .expected a size in bytes"):
        kg.key_by(session.range(1), F.col("id")).filter(lambda _: True, uid="op")
