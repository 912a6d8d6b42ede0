"""A keyed function of ours: value, list and map state, and timers in event time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

import keygroups as kg
from keygroups.functions import Context, KeyedProcessFunction, OnTimerContext, RuntimeContext
from keygroups.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

OUTPUT = "key string, what string, number long"
IDLE_MS = 16_000


def keyed(events: DataFrame) -> DataFrame:
    """Counts, last values and a map of sums; a timer deletes all of a key that has been idle for two batches."""
    return kg.key_by(events.withWatermark("ts", "10 seconds"), "key").process(_Idle(), OUTPUT, uid="idle")


class _Idle(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", "long", default=0))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", "long"))
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums", "long", "long"))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", "long"))
        self.expired = runtime_context.get_metrics_group().counter("expired")

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        self.count.update(self.count.value() + 1)
        digit = value.value % 3
        self.sums.put(digit, (self.sums.get(digit) or 0) + value.value)
        if value.value % 7 == 0:
            self.last.clear()
        self.last.add(value.value)
        self._set_timer(ctx)
        yield value.key, "count", self.count.value()
        yield value.key, "last", sum(self.last.get())
        yield value.key, "sum", self.sums.get(digit)

    def _set_timer(self, ctx: Context) -> None:
        timers, known = ctx.timer_service(), self.timer.value()
        if known is not None:
            timers.delete_event_time_timer(known)
        next_one = max(timers.current_watermark(), 0) + IDLE_MS
        timers.register_event_time_timer(next_one)
        self.timer.update(next_one)

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterator[Any]:
        self.expired.inc()
        yield ctx.get_current_key(), f"expired at {timestamp}", self.count.value()
        for digit, total in sorted(self.sums.items()):
            yield ctx.get_current_key(), f"sum of {digit}", total
        for state in (self.count, self.last, self.sums, self.timer):
            state.clear()
