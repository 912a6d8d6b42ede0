"""The keyed functions that are measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pyarrow as pa

from keygroups.functions import (
    BatchContext,
    BatchKeys,
    Context,
    KeyedBatchFunction,
    KeyedProcessFunction,
    OnTimerContext,
    RuntimeContext,
)
from keygroups.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SortedMapStateDescriptor,
    ValueStateDescriptor,
)

ENTRIES = 1000
"""Of each map."""
SORTED_ENTRIES = 10_000
RANGE = 10
DELAY = 1
TEXT = 1000
"""Bytes of a text."""


class Count(KeyedProcessFunction):
    """A count a key, in value state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", "bigint", default=0))

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        del ctx
        count = self.count.value() + 1
        self.count.update(count)
        yield value.key, count


class Newest(KeyedProcessFunction):
    """The newest text of a key, of 1,000 bytes that hardly compress; the length of the one before."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.newest = runtime_context.get_state(ValueStateDescriptor("newest", "string", default=""))
        self.random = Random(7)

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        del ctx
        length = len(self.newest.value())
        self.newest.update(self.random.randbytes(TEXT // 2).hex())
        yield value.key, length


class Sum(KeyedBatchFunction):
    """A sum a key, batch by batch."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_reducing_state(ReducingStateDescriptor("total", "sum", "bigint"))

    def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
        del ctx
        yield {"key": keys["key"], "n": self.total.add_many(keys, batch["amount"])}


class Entries(KeyedProcessFunction):
    """A map of 1,000 entries a key, three of which each row reads and writes; the first row of a key fills it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.entries = runtime_context.get_map_state(MapStateDescriptor("entries", "bigint", "bigint"))

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        del ctx
        if not self.entries.contains(0):
            self.entries.put_all((i, 0) for i in range(ENTRIES))
        total = 0
        for i in range(3):
            slot = (value.amount * 31 + i * 333) % ENTRIES
            total += self.entries.get(slot)
            self.entries.put(slot, value.amount)
        yield value.key, total


class Appends(KeyedProcessFunction):
    """All amounts of a key, appended to a list that nobody reads."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.amounts = runtime_context.get_list_state(ListStateDescriptor("amounts", "bigint"))

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        del ctx
        self.amounts.add(value.amount)
        yield value.key, 1


class Range(KeyedProcessFunction):
    """A sorted map of 10,000 entries a key, of which a row reads ten in order; the first row of a key fills it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.entries = runtime_context.get_sorted_map_state(SortedMapStateDescriptor("sorted", "bigint", "bigint"))

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        del ctx
        if not self.entries.contains(0):
            self.entries.put_all((i, i) for i in range(SORTED_ENTRIES))
        start = value.amount * 7 % (SORTED_ENTRIES - RANGE)
        yield value.key, sum(v for _, v in self.entries.sub_iterator(start, start + RANGE))


class Timers(KeyedProcessFunction):
    """Each key sets a timer that is due in the next batch."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.fired = runtime_context.get_metrics_group().counter("fired")

    def process_element(self, value: Any, ctx: Context) -> None:
        del value
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + DELAY)

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterator[Any]:
        self.fired.inc()
        yield ctx.get_current_key(), timestamp


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "process": Count,
    "text": Newest,
    "process_batch": Sum,
    "map": Entries,
    "list": Appends,
    "sorted map": Range,
    "timers": Timers,
}
