"""applyInPandasWithState with timeouts in event time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

OUTPUT = "key string, what string, n long, total long"
STATE = "n long, total long"
IDLE_MS = 16_000


def groups(events: DataFrame) -> DataFrame:
    """Count and sum of each key, until it has been idle for two batches or a value ends in 33: updates and deletes."""
    keyed = events.withWatermark("ts", "10 seconds").groupBy("key")
    return keyed.applyInPandasWithState(_totals, OUTPUT, STATE, "update", GroupStateTimeout.EventTimeTimeout)


def _totals(key: tuple[Any, ...], frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    if state.hasTimedOut:
        yield _row(key, "expired", *state.get)
        state.remove()
        return
    rows = pd.concat(list(frames))
    n, total = state.get if state.exists else (0, 0)
    n, total = n + len(rows), total + int(rows["value"].sum())
    if (rows["value"] % 100 == 33).any():
        yield _row(key, "dropped", n, total)
        state.remove()
        return
    state.update((n, total))
    last = int(rows["ts"].max().timestamp() * 1000)
    state.setTimeoutTimestamp(max(last, state.getCurrentWatermarkMs()) + IDLE_MS)
    yield _row(key, "open", n, total)


def _row(key: tuple[Any, ...], what: str, n: int, total: int) -> pd.DataFrame:
    return pd.DataFrame([(key[0], what, n, total)], columns=["key", "what", "n", "total"])
