"""Arbitrary state per group: applyInPandasWithState, flatMapGroupsWithState and mapGroupsWithState."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from support.case import Case

# Format 1 has no place for a timeout: Spark declares the column as an integer, writes a long, and fails its own check.
FORMAT = "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion"
OUTPUT = "name string, flag boolean, what string, count long, sum long"
STATE = "count long, sum long, last string"
Key = tuple[str | None, bool | None]


def expiring_in_pandas(events: DataFrame, mode: str) -> DataFrame:
    """Sums per key until the watermark passes the last event by 90 s; a multiple of 7 drops the group."""
    keyed = events.withWatermark("ts", "30 seconds").groupBy("name", "flag")
    return keyed.applyInPandasWithState(_expire, OUTPUT, STATE, mode, GroupStateTimeout.EventTimeTimeout)


def running_in_pandas(events: DataFrame) -> DataFrame:
    """Sums per key without a timeout."""
    keyed = events.groupBy("name", "flag")
    return keyed.applyInPandasWithState(_count, OUTPUT, STATE, "update", GroupStateTimeout.NoTimeout)


def expiring_in_scala(events: DataFrame, mode: str) -> DataFrame:
    """The same as `expiring_in_pandas`, with another key, in Scala."""
    late = events.withWatermark("ts", "30 seconds")
    return _scala(events, lambda groups: groups.expiring(late._jdf, mode))


def running_in_scala(events: DataFrame) -> DataFrame:
    """mapGroupsWithState, which writes one row per group and batch."""
    return _scala(events, lambda groups: groups.running(events._jdf))


def _scala(events: DataFrame, call: Callable[[Any], Any]) -> DataFrame:
    spark = events.sparkSession
    jvm: Any = spark._jvm
    return DataFrame(call(jvm.keygroups.tests.MapGroups), spark)


def _expire(key: Key, frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    if state.hasTimedOut:
        yield _row(key, "expired", state.get)
        state.remove()
        return
    events = pd.concat(list(frames))
    if (events["v"] % 7 == 0).any():
        yield _row(key, "dropped", _add(state, events))
        state.remove()
        return
    yield _update(key, "open", events, state)
    last = int(events["ts"].max().timestamp() * 1000)
    state.setTimeoutTimestamp(max(last, state.getCurrentWatermarkMs()) + 90_000)


def _count(key: Key, frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    yield _update(key, "running", pd.concat(list(frames)), state)


def _update(key: Key, what: str, events: pd.DataFrame, state: GroupState) -> pd.DataFrame:
    state.update(_add(state, events))
    return _row(key, what, state.get)


def _add(state: GroupState, events: pd.DataFrame) -> tuple[int, int, str]:
    count, total, _ = state.get if state.exists else (0, 0, "")
    return count + len(events), total + int(events["v"].sum()), "." * (len(events) * 10)


def _row(key: Key, what: str, state: tuple[int, int, str]) -> pd.DataFrame:
    return pd.DataFrame([(*key, what, *state[:2])], columns=["name", "flag", "what", "count", "sum"])


CASES = [
    Case("pandas state append", partial(expiring_in_pandas, mode="append")),
    Case("pandas state, no timeout", running_in_pandas, "update"),
    Case("groups append", partial(expiring_in_scala, mode="append")),
    Case("groups map, format 1", running_in_scala, "update", {FORMAT: "1"}),
]

MORE_CASES = [
    Case("pandas state update", partial(expiring_in_pandas, mode="update"), "update"),
    Case("groups update", partial(expiring_in_scala, mode="update"), "update"),
    Case("groups map", running_in_scala, "update"),
]
