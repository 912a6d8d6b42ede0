"""Timers of all keys, in the order in which they fire.

Source: ``InternalTimerServiceImpl`` of Flink.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, Final, Protocol

from pyspark.sql.types import LongType

from keygroups.functions.timers import TimeDomain, TimerService
from keygroups.keyed.forms import frozen
from keygroups.keyed.scope import Scope
from keygroups.state.errors import StateError
from keygroups.state.misfit import MisfitError, shown
from keygroups.state.rules import taker

_LONG: Final = taker(LongType())


class Timers(Protocol):
    """Timers of one clock. Two of one key and time are one."""

    def add(self, timestamp: int, key: Any) -> None:
        """Set a timer."""

    def remove(self, timestamp: int, key: Any) -> None:
        """Delete a timer; nothing happens if there is none."""

    def due(self, now: int) -> Iterator[tuple[int, Any]]:
        """Take out each timer whose time has come, earliest first; also those that are set meanwhile."""


class TimerQueue:
    """``Timers`` in memory, of one clock. Two of one key and time are one."""

    def __init__(self) -> None:
        """Begin without timers."""
        self._heap: list[tuple[int, int]] = []
        self._keys: dict[int, Any] = {}
        self._numbers: dict[tuple[int, Any], int] = {}
        self._next = 0

    def add(self, timestamp: int, key: Any) -> None:
        """Set a timer."""
        name = timestamp, frozen(key)
        if name not in self._numbers:
            self._numbers[name], self._keys[self._next] = self._next, key
            heapq.heappush(self._heap, (timestamp, self._next))
            self._next += 1

    def remove(self, timestamp: int, key: Any) -> None:
        """Delete a timer; nothing happens if there is none."""
        number = self._numbers.pop((timestamp, frozen(key)), None)
        if number is not None:
            del self._keys[number]

    def due(self, now: int) -> Iterator[tuple[int, Any]]:
        """Take out each timer whose time has come, earliest first; also those that are set meanwhile."""
        while self._heap and self._heap[0][0] <= now:
            timestamp, number = heapq.heappop(self._heap)
            if number in self._keys:
                key = self._keys.pop(number)
                del self._numbers[timestamp, frozen(key)]
                yield timestamp, key

    def all(self) -> list[tuple[int, Any]]:
        """Give all timers, in the order of their times."""
        return [(timestamp, self._keys[number]) for timestamp, number in sorted(self._heap) if number in self._keys]


class KeyTimers(TimerService):
    """The timers of the current key.

    Args:
        scope: The current key and times.
        event_time: Timers that follow the watermark.
        processing_time: Timers that follow the processing time.

    Attributes:
        is_ended: Whether the input has ended: no timers are set any more.
    """

    def __init__(self, scope: Scope, event_time: Timers, processing_time: Timers) -> None:
        """See the class."""
        self._scope, self.is_ended = scope, False
        self.queues: dict[TimeDomain, Timers] = {
            TimeDomain.EVENT_TIME: event_time,
            TimeDomain.PROCESSING_TIME: processing_time,
        }

    def current_processing_time(self) -> int:
        """Give the processing time."""
        return self._scope.now

    def current_watermark(self) -> int:
        """Give the watermark."""
        return self._scope.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Set a timer."""
        self._add(TimeDomain.PROCESSING_TIME, timestamp)

    def register_event_time_timer(self, timestamp: int) -> None:
        """Set a timer that fires when the watermark has reached its time."""
        self._add(TimeDomain.EVENT_TIME, timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete a timer; nothing happens if there is none."""
        self.queues[TimeDomain.PROCESSING_TIME].remove(_millis(timestamp), self._key())

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete a timer; nothing happens if there is none."""
        self.queues[TimeDomain.EVENT_TIME].remove(_millis(timestamp), self._key())

    def _add(self, domain: TimeDomain, timestamp: int) -> None:
        millis, key = _millis(timestamp), self._key()
        if not self.is_ended:
            self.queues[domain].add(millis, key)

    def _key(self) -> Any:
        return self._scope.key_for("timers")


def _millis(timestamp: Any) -> int:
    try:
        return _LONG(timestamp)  # type: ignore[no-any-return]
    except MisfitError as error:
        raise StateError(
            "a timer has a wrong time",
            expected="milliseconds since 1970, as a bigint",
            found=shown(timestamp),
            fix=error.reason,
        ) from error
