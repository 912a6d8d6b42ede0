"""Lengths of time, as PyFlink writes them, and ``datetime.timedelta``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from keygroups.state.errors import StateError

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000


@dataclass(frozen=True, order=True)
class Duration:
    """A length of time in whole milliseconds.

    Source: ``pyflink.common.Duration`` and ``java.time.Duration``.
    """

    millis: int

    @staticmethod
    def of_days(days: int) -> Duration:
        """Give a duration of days of 24 hours."""
        return Duration(days * _DAY)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Give a duration of hours."""
        return Duration(hours * _HOUR)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Give a duration of minutes."""
        return Duration(minutes * _MINUTE)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Give a duration of seconds."""
        return Duration(seconds * _SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Give a duration of milliseconds."""
        return Duration(millis)

    def to_millis(self) -> int:
        """Give the length in milliseconds."""
        return self.millis

    def to_milliseconds(self) -> int:
        """Give the length in milliseconds, under the name that ``Time`` has for it."""
        return self.millis


class Time(Duration):
    """A length of time, under the names of PyFlink's older class.

    Source: ``pyflink.common.time.Time``.
    """

    @staticmethod
    def days(days: int) -> Time:
        """Give a time of days of 24 hours."""
        return Time(days * _DAY)

    @staticmethod
    def hours(hours: int) -> Time:
        """Give a time of hours."""
        return Time(hours * _HOUR)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Give a time of minutes."""
        return Time(minutes * _MINUTE)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """Give a time of seconds."""
        return Time(seconds * _SECOND)

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """Give a time of milliseconds."""
        return Time(milliseconds)


Length: TypeAlias = Duration | timedelta
"""What a time to live may be given as."""


def milliseconds_of(length: Length) -> int:
    """Give a length in whole milliseconds; a ``timedelta`` loses what lies below one.

    Raises:
        StateError: It is something else, such as a number, whose unit nobody knows.
    """
    if isinstance(length, Duration):
        return length.millis
    if isinstance(length, timedelta):
        return length // timedelta(milliseconds=1)
    raise StateError(
        "not a length of time",
        expected="a Duration, Time or timedelta",
        found=repr(length),
        fix="write Duration.of_hours(1), or timedelta(hours=1)",
    )
