"""Functions of the tests."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keygroups.functions import Context, KeyedProcessFunction, OnTimerContext, OutputTag, RuntimeContext
from keygroups.state import (
    Duration,
    ListStateDescriptor,
    MapStateDescriptor,
    PickleType,
    StateTtlConfig,
    ValueStateDescriptor,
)

COUNTS = "user string, n bigint"
LATE = OutputTag("late", "user string, n bigint")
WORDS = OutputTag("words", "string")


class Count(KeyedProcessFunction):
    """How many rows a user had by each of them; with a state of another type if it is asked for."""

    def __init__(self, kind: str = "bigint") -> None:
        self.kind = kind

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", self.kind, default=0))
        self.seen = runtime_context.get_metrics_group().counter("seen")
        runtime_context.get_metrics_group().gauge("size", lambda: 7)

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        del value
        self.count.update(self.count.value() + 1)
        self.seen.inc()
        yield ctx.get_current_key(), self.count.value()


class Words(KeyedProcessFunction):
    """Counts the values of a user in an object of Python; forgets them when they are old."""

    def open(self, runtime_context: RuntimeContext) -> None:
        words = ValueStateDescriptor("words", PickleType())
        words.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_millis(1)).cleanup_full_snapshot().build())
        self.words = runtime_context.get_state(words)
        self.all = runtime_context.get_state(ValueStateDescriptor("all", PickleType()))

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        self.words.update(1)
        counted = self.all.value() or Counter()
        counted[value.n] += 1
        self.all.update(counted)
        yield ctx.get_current_key(), counted.most_common(1)[0][1]


class Dying(Count):
    """Its process is killed at some row, once."""

    def __init__(self, folder: Path, row: int) -> None:
        super().__init__()
        self.mark, self.row = folder / "died", row

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        if value.n == self.row and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().process_element(value, ctx)


class Failing(Count):
    """Fails, and notes in a file that it was closed after that."""

    def __init__(self, mark: Path) -> None:
        super().__init__()
        self.mark, self.has_failed = mark, False

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        yield from super().process_element(value, ctx)
        self.has_failed = True
        raise ValueError("no more")

    def close(self) -> None:
        if self.has_failed:
            self.mark.touch()


class Reminder(KeyedProcessFunction):
    """Gives the rows of a user some time after each, and the sum of all at processing time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.rows = runtime_context.get_list_state(ListStateDescriptor("rows", "bigint"))

    def process_element(self, value: Any, ctx: Context) -> None:
        self.rows.add(value.n)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1000)

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name, list(self.rows.get())


class Alarm(KeyedProcessFunction):
    """Rings a while after a row."""

    def __init__(self, millis: int) -> None:
        self.millis = millis

    def process_element(self, value: Any, ctx: Context) -> None:
        del value
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + self.millis)

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), ctx.timer_service().current_processing_time() - timestamp


class Sorter(KeyedProcessFunction):
    """Has two side outputs."""

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        del ctx
        yield value.user, value.n
        if value.n % 2:
            yield LATE, (value.user, -value.n)
        yield WORDS, "even" if value.n % 2 == 0 else "odd"


class Wide(KeyedProcessFunction):
    """Keeps much: the last text of each number, and gives how many there are."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.texts = runtime_context.get_map_state(MapStateDescriptor("texts", "bigint", "string"))
        self.n = runtime_context.get_state(ValueStateDescriptor("n", "bigint", default=0))

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        del ctx
        if not self.texts.contains(value.n % 50):
            self.n.update(self.n.value() + 1)
        self.texts.put(value.n % 50, f"{value.n}" * 400)
        yield value.user, self.n.value()


class Task(KeyedProcessFunction):
    """Tells of its task."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        del value, ctx
        context = self.context
        yield (
            context.get_task_name_with_subtasks(),
            context.get_index_of_this_subtask(),
            context.get_max_number_of_parallel_subtasks(),
            context.get_job_parameter("spark.sql.shuffle.partitions", "none"),
        )
