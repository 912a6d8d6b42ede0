"""Runs a function over rows and timers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, starmap
from typing import Any, TypeAlias

import pyarrow as pa

from keygroups.functions.base import KeyedBatchFunction, KeyedProcessFunction
from keygroups.functions.context import BatchContext, OnTimerContext, RuntimeContext
from keygroups.functions.output_tag import OutputTag
from keygroups.functions.timers import TimeDomain
from keygroups.keyed.scope import END_OF_TIME, NO_KEY, NO_TIME, Scope
from keygroups.keyed.timer_queue import KeyTimers
from keygroups.state.batch_keys import BatchKeys

Output: TypeAlias = Any
"""What a function yields: a row of the main output, or a side output and its row."""


def tagged(given: Output) -> tuple[OutputTag | None, Any]:
    """Give the side output that a row goes to, None for the main one, and the row."""
    is_tagged = isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], OutputTag)
    return given if is_tagged else (None, given)


class KeyedOperator:
    """A function with its states and timers.

    Args:
        function: What the user wrote.
        scope: The current key and times, which its states share.
        timers: Its timers.
    """

    def __init__(self, function: KeyedProcessFunction | KeyedBatchFunction, scope: Scope, timers: KeyTimers) -> None:
        """See the class."""
        self._function, self._scope, self._timers = function, scope, timers
        self._context = _RowContext(scope, timers)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function."""
        self._function.open(runtime_context)

    def close(self) -> None:
        """Close the function."""
        self._scope.key = NO_KEY
        self._function.close()

    def process(self, rows: Iterable[tuple[Any, Any, int]]) -> Iterator[Output]:
        """Take rows, each with its key and its time."""
        assert isinstance(self._function, KeyedProcessFunction), self._function
        scope, context, process = self._scope, self._context, self._function.process_element
        context.set(NO_TIME, None)

        def one(key: Any, row: Any, timestamp: int) -> Iterable[Output]:
            scope.key = key
            context.time = timestamp
            given = process(row, context)
            return () if given is None else given

        return chain.from_iterable(starmap(one, rows))

    def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, timestamps: pa.Array | None) -> Iterator[Any]:
        """Take rows at once, and give what the function gives: columns, or a side output and columns."""
        assert isinstance(self._function, KeyedBatchFunction), self._function
        yield from self._function.process_batch(keys, batch, _BatchTimes(self._scope, self._timers, timestamps)) or ()

    def advance_watermark(self, watermark: int) -> Iterator[Output]:
        """Let event time pass; a watermark never goes back."""
        self._scope.watermark = max(watermark, self._scope.watermark)
        return self._fire(TimeDomain.EVENT_TIME, self._scope.watermark)

    def advance_processing_time(self, now: int) -> Iterator[Output]:
        """Let processing time pass."""
        self._scope.now = now
        return self._fire(TimeDomain.PROCESSING_TIME, now)

    def end_input(self) -> Iterator[Output]:
        """Fire all timers. Those that are set meanwhile do not fire: Flink's ``BatchExecutionInternalTimeService``."""
        self._timers.is_ended = True
        self._scope.watermark = END_OF_TIME
        yield from self._fire(TimeDomain.EVENT_TIME, END_OF_TIME)
        yield from self._fire(TimeDomain.PROCESSING_TIME, END_OF_TIME)

    def _fire(self, domain: TimeDomain, now: int) -> Iterator[Output]:
        for timestamp, key in self._timers.queues[domain].due(now):
            self._scope.key = key
            self._context.set(timestamp, domain)
            yield from self._function.on_timer(timestamp, self._context) or ()


class _RowContext(OnTimerContext):
    """One object for all rows and timers of an operator."""

    def __init__(self, scope: Scope, timers: KeyTimers) -> None:
        self._scope, self._timers = scope, timers
        self.time = NO_TIME
        self._domain: TimeDomain | None = None

    def set(self, timestamp: int, domain: TimeDomain | None) -> None:
        self.time, self._domain = timestamp, domain

    def get_current_key(self) -> Any:
        return self._scope.shown_key()

    def timer_service(self) -> KeyTimers:
        return self._timers

    def timestamp(self) -> int:
        return self.time

    def time_domain(self) -> TimeDomain:
        assert self._domain is not None, "a row has no time domain"
        return self._domain


class _BatchTimes(BatchContext):
    """One for each batch."""

    def __init__(self, scope: Scope, timers: KeyTimers, timestamps: pa.Array | None) -> None:
        self._scope, self._timers, self._timestamps = scope, timers, timestamps

    def timestamps(self) -> pa.Array | None:
        return self._timestamps

    def get_current_key(self) -> Any:
        return self._scope.shown_key()

    def timer_service(self) -> KeyTimers:
        return self._timers
