"""The queries that are disturbed: each inserts, updates, deletes, expires or joins, by event time only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from campaigns.faults.queries import builtin, groups, keyed, transforms
from keygroups.settings import PREFIX


@dataclass(frozen=True)
class Query:
    """A query over the events of ``faults.queries.events``.

    Attributes:
        build: makes it from the stream of events.
        mode: its output mode.
        claims: metrics of its operators, the custom ones too, each of which must be above 0 over the whole input.
        says: words that some of its rows must have: what no metric counts.
        python: its operator calls Python workers.
        timers: some timers wait at the end of the input.
        peer: provider of the undisturbed run; ours where the query runs on no other.
        conf: settings of ours that it needs.
    """

    build: Callable[[DataFrame], DataFrame]
    mode: str
    claims: tuple[str, ...]
    says: tuple[str, ...] = ()
    python: bool = False
    timers: bool = False
    peer: str = "rocksdb"
    conf: Mapping[str, str] = field(default_factory=dict)


EVICTS = ("numRowsUpdated", "numRowsRemoved", "numRowsDroppedByWatermark")
TIMERS = ("numRegisteredTimers", "numDeletedTimers")
LARGER_THAN_MEMORY = {
    PREFIX + "mappedValueBytes": "1",
    PREFIX + "blockBytes": "8k",
    PREFIX + "memoryBudget": "64k",
}
"""Values are in local files alone, and most keys in mapped copies of their own."""

QUERIES: Mapping[str, Query] = {
    "aggregation": Query(builtin.aggregation, "update", ("numRowsUpdated",)),
    "texts": Query(builtin.texts, "update", ("numRowsUpdated",), conf=LARGER_THAN_MEMORY),
    "windows": Query(builtin.windows, "append", EVICTS),
    "dedupe": Query(builtin.dedupe, "append", (*EVICTS, "numDroppedDuplicateRows")),
    "sessions": Query(builtin.sessions, "append", EVICTS),
    "join": Query(builtin.outer_join, "append", EVICTS),
    "groups": Query(groups.groups, "update", EVICTS, ("expired", "dropped"), python=True),
    "timers": Query(transforms.timers, "update", (*EVICTS, *TIMERS), ("expired",), python=True, timers=True),
    "ttl": Query(transforms.ttl, "update", ("numRowsUpdated", "numValuesRemovedDueToTTLExpiry"), python=True),
    "keyed": Query(
        keyed.keyed,
        "update",
        ("numRowsUpdated", "idle.expired"),
        ("expired",),
        python=True,
        timers=True,
        peer="keygroups",
    ),
}
