"""Dates, times and intervals as Spark's numbers, and back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, TypeAlias

from pyspark.sql import types as spark

TIMES: Final = (spark.DateType, spark.TimestampType, spark.TimestampNTZType)
"""Types of which Python does not have all values."""
Number: TypeAlias = Callable[[Any], int]
_NO_TIME: Final = (ValueError, OverflowError, OSError)
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()


class Beyond:
    """A date or a time outside of the years 1 to 9999, which Python does not have and Spark does.

    It can be compared, kept in a state and given on. Whatever else it is asked for fails and says so.

    Args:
        number: Days or microseconds since 1970.
    """

    __slots__ = ("number",)
    unit: ClassVar[str]

    def __init__(self, number: int) -> None:
        """See the class."""
        self.number = number

    def __eq__(self, other: object) -> bool:
        """Tell whether it is the same."""
        return isinstance(other, Beyond) and (self.number, self.unit) == (other.number, other.unit)

    def __hash__(self) -> int:
        """Give a hash, for keys."""
        return hash((self.number, self.unit))

    def __repr__(self) -> str:
        """Show the number."""
        return f"a time outside of the years 1 to 9999: {self.number} {self.unit} since 1970"

    def __reduce__(self) -> tuple[Any, ...]:
        """Give what pickles it."""
        return type(self), (self.number,)

    def __getattr__(self, name: str) -> Any:
        """Refuse to be used as a date or a time."""
        raise AttributeError(f"Python cannot give {name!r} of {self!r}")


class BeyondDate(Beyond):
    """A date."""

    __slots__ = ()
    unit = "days"


class BeyondTime(Beyond):
    """A timestamp, with a zone or without."""

    __slots__ = ()
    unit = "microseconds"


def micros_of(value: dt.datetime | Beyond) -> int:
    """Give an instant in microseconds since 1970.

    A time without zone is local. ``fold`` says which of two it is where clocks go back: PySpark ignores it.
    """
    if isinstance(value, Beyond):
        return value.number
    time = local_time(value)
    return int(time.replace(microsecond=0).timestamp()) * 1_000_000 + time.microsecond


def local_time(value: dt.datetime) -> dt.datetime:
    """Give a time without zone as a plain one: a ``Timestamp`` of pandas counts it as UTC. Others stay as they are."""
    if type(value) is dt.datetime or value.tzinfo is not None:
        return value
    return dt.datetime(*value.timetuple()[:6], value.microsecond, fold=value.fold)  # noqa: DTZ001 - it is local


def micros_of_interval(value: dt.timedelta) -> int:
    """Give an interval in microseconds."""
    return (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds


def number_of(kind: spark.DataType) -> Number:
    """Give what turns a value of a date, a time or an interval into Spark's number."""
    if isinstance(kind, spark.TimestampType):
        return micros_of
    if isinstance(kind, spark.DayTimeIntervalType):
        return micros_of_interval
    convert: Number = _days if isinstance(kind, spark.DateType) else kind.toInternal
    return lambda value: value.number if isinstance(value, Beyond) else convert(value)


def times_of(kind: spark.DataType, numbers: Sequence[int]) -> list[Any]:
    """Give the values of numbers; those that Python does not have are a ``Beyond``."""
    try:
        return list(map(kind.fromInternal, numbers))
    except _NO_TIME:
        return [time_of(kind, number) for number in numbers]


def time_of(kind: spark.DataType, number: int) -> Any:
    """Give the value of a number, a ``Beyond`` if Python does not have it."""
    try:
        return kind.fromInternal(number)
    except _NO_TIME:
        return BeyondDate(number) if isinstance(kind, spark.DateType) else BeyondTime(number)


def _days(value: dt.date) -> int:
    return value.toordinal() - _EPOCH
