"""The queries that are disturbed: each inserts, updates, deletes, expires or joins, by event time only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from faults.queries import builtin, groups, keyed, transforms


@dataclass(frozen=True)
class Query:
    """A query over the events of ``faults.queries.events``.

    Attributes:
        build: makes it from the stream of events.
        mode: its output mode.
        claims: metrics of its operators, the custom ones too, each of which must be above 0 over the whole input.
        says: words that some of its rows must have: what no metric counts.
        python: its operator calls Python workers.
        peer: provider of the undisturbed run; ours where the query runs on no other.
    """

    build: Callable[[DataFrame], DataFrame]
    mode: str
    claims: tuple[str, ...]
    says: tuple[str, ...] = ()
    python: bool = False
    peer: str = "rocksdb"


EVICTS = ("numRowsUpdated", "numRowsRemoved", "numRowsDroppedByWatermark")
TIMERS = ("numRegisteredTimers", "numDeletedTimers")

QUERIES: Mapping[str, Query] = {
    "aggregation": Query(builtin.aggregation, "update", ("numRowsUpdated",)),
    "windows": Query(builtin.windows, "append", EVICTS),
    "dedupe": Query(builtin.dedupe, "append", (*EVICTS, "numDroppedDuplicateRows")),
    "sessions": Query(builtin.sessions, "append", EVICTS),
    "join": Query(builtin.outer_join, "append", EVICTS),
    "groups": Query(groups.groups, "update", EVICTS, ("expired", "dropped"), python=True),
    "timers": Query(transforms.timers, "update", (*EVICTS, *TIMERS), ("expired",), python=True),
    "ttl": Query(transforms.ttl, "update", ("numRowsUpdated", "numValuesRemovedDueToTTLExpiry"), python=True),
    "keyed": Query(
        keyed.keyed, "update", ("numRowsUpdated", "idle.expired"), ("expired",), python=True, peer="keygroups"
    ),
}
