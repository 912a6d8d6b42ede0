"""Timers of a key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum


class TimeDomain(Enum):
    """Which clock a timer follows."""

    EVENT_TIME = 0
    """The watermark."""
    PROCESSING_TIME = 1
    """The time at which a batch began."""


class TimerService(ABC):
    """Times, and the timers of the current key. All are in milliseconds since 1970.

    A timer fires once, in the first batch at whose beginning its time has passed. Two timers of one key, time and clock
    are one.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Give the time at which the batch began: the same in each attempt at it."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Give the watermark; without one, -9223372036854775808."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Set a timer."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Set a timer that fires when the watermark has reached its time."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete a timer; nothing happens if there is none."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete a timer; nothing happens if there is none."""
