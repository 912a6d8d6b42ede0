"""Values of scalar types, one at a time: what is kept of each, exactly, or a ``MisfitError``."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
from pyspark.sql import types as spark

from keygroups.rows.decimals import fitted
from keygroups.rows.pickled import pickle, unpickle
from keygroups.rows.times import BeyondDate, BeyondTime, local_time, micros_of, micros_of_interval, time_of
from keygroups.state.misfit import MisfitError

Take: TypeAlias = Callable[[Any], Any]
"""Gives what is kept of a value that is not None. It raises ``MisfitError``."""
Wrong: TypeAlias = Callable[[Any], MisfitError]
"""Gives the error of a value of a wrong Python type."""

_BITS: Final[dict[type[spark.DataType], int]] = {
    spark.ByteType: 8,
    spark.ShortType: 16,
    spark.IntegerType: 32,
    spark.LongType: 64,
}
_LONG: Final = 1 << 63
_TIME_UNITS: Final = frozenset(("h", "m", "s", "ms", "us", "ns"))


def boolean(_kind: spark.DataType, wrong: Wrong) -> Take:
    """Return what takes booleans."""

    def take(value: Any) -> bool:
        if isinstance(value, bool | np.bool_):
            return bool(value)
        raise wrong(value)

    return take


def whole(kind: spark.DataType, wrong: Wrong) -> Take:
    """Return what takes whole numbers that fit."""
    half = 1 << (_BITS[type(kind)] - 1)

    def take(value: Any) -> int:
        number = value if type(value) is int else _int(value, wrong)
        if -half <= number < half:
            return number
        raise MisfitError(kind, value, f"give a number from {-half} to {half - 1}, or use a wider type")

    return take


def real(kind: spark.DataType, wrong: Wrong) -> Take:
    """Return what takes numbers of floating point, and whole ones that they hold exactly."""
    is_single = isinstance(kind, spark.FloatType)

    def take(value: Any) -> float:
        is_float = isinstance(value, float | np.floating)
        given = value if is_float else _int(value, wrong)
        try:
            number = float(given)
            if is_single:
                (number,) = struct.unpack("<f", struct.pack("<f", number))
        except OverflowError:
            raise MisfitError(kind, value, "it is too large for the type: use a wider one") from None
        is_rounded = number != given and number == number
        if is_rounded and not (is_single and is_float):
            raise MisfitError(
                kind, value, "it has more digits than the type holds: use a decimal, or give float(value)"
            )
        return number

    return take


def decimal(kind: spark.DecimalType, wrong: Wrong) -> Take:
    """Return what takes decimals and whole numbers with no more digits than the type has."""

    def take(value: Any) -> Decimal:
        number = value if isinstance(value, Decimal) else Decimal(_int(value, wrong))
        try:
            return fitted(number, kind.precision, kind.scale)
        except ValueError as error:
            raise MisfitError(kind, value, str(error)) from None

    return take


def text(kind: spark.DataType, wrong: Wrong) -> Take:
    """Return what takes texts, as plain ones."""

    def take(value: Any) -> str:
        if not isinstance(value, str):
            raise wrong(value)
        plain = str.__str__(value)
        if not plain.isascii():
            try:
                plain.encode()
            except UnicodeEncodeError as error:
                raise MisfitError(kind, value, f"it is no valid text: {error.reason}") from None
        return plain

    return take


def data(_kind: spark.DataType, wrong: Wrong) -> Take:
    """Return what takes bytes."""

    def take(value: Any) -> bytes:
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        raise wrong(value)

    return take


def date(kind: spark.DataType, wrong: Wrong) -> Take:
    """Return what takes dates without a time."""

    def take(value: Any) -> Any:
        if type(value) is dt.date or isinstance(value, BeyondDate):
            return value
        if isinstance(value, dt.datetime):
            raise MisfitError(kind, value, "it has a time of day: give value.date()")
        if isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] == "D":
            value = value.item()
        if not isinstance(value, dt.date):
            raise wrong(value)
        return dt.date(value.year, value.month, value.day)

    return take


def instant(kind: spark.DataType, wrong: Wrong) -> Take:
    """Return what takes instants: a time without a zone is local. They are kept in local time."""

    def take(value: Any) -> Any:
        time = value if type(value) is dt.datetime else _time(kind, value, wrong)
        try:
            return time_of(kind, micros_of(time))
        except (ValueError, OverflowError, OSError) as error:
            raise MisfitError(kind, value, f"Python cannot tell its instant: {error}") from None

    return take


def local(kind: spark.DataType, wrong: Wrong) -> Take:
    """Return what takes times without a zone."""

    def take(value: Any) -> Any:
        time = value if type(value) is dt.datetime else _time(kind, value, wrong)
        if isinstance(time, BeyondTime):
            return time
        if time.tzinfo is not None:
            raise MisfitError(kind, value, "it has a zone: give value.replace(tzinfo=None), or use the type timestamp")
        return local_time(time).replace(fold=0)

    return take


def interval(kind: spark.DataType, wrong: Wrong) -> Take:
    """Return what takes intervals of days and parts of them."""

    def take(value: Any) -> dt.timedelta:
        given = _item(kind, value, wrong) if isinstance(value, np.timedelta64) else value
        if not isinstance(given, dt.timedelta):
            raise wrong(value)
        _require_micros(kind, value, "nanoseconds")
        made = dt.timedelta(given.days, given.seconds, given.microseconds)
        if -_LONG <= micros_of_interval(made) < _LONG:
            return made
        raise MisfitError(kind, value, "give an interval of at most 106,751,991 days")

    return take


def pickled(kind: spark.DataType, _wrong: Wrong) -> Take:
    """Return what takes any object, as a copy."""

    def take(value: Any) -> Any:
        try:
            return unpickle(pickle(value))
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise MisfitError(kind, value, str(error)) from error

    return take


def nothing(_kind: spark.DataType, wrong: Wrong) -> Take:
    """Return what takes no value but None."""

    def take(value: Any) -> Any:
        raise wrong(value)

    return take


def _int(value: Any, wrong: Wrong) -> int:
    """A whole number of Python or numpy; numpy counts its intervals as such."""
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, int | np.integer):
        raise wrong(value)
    return int(value)


def _time(kind: spark.DataType, value: Any, wrong: Wrong) -> Any:
    """A time of numpy, pandas or Spark as one of Python, or as a ``BeyondTime``."""
    if isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] in _TIME_UNITS:
        return _item(kind, value, wrong)
    if not isinstance(value, dt.datetime | BeyondTime) or value != value:  # NaT of pandas
        raise wrong(value)
    if isinstance(value, dt.datetime):
        _require_micros(kind, value, "nanosecond")
    return value


def _item(kind: spark.DataType, value: Any, wrong: Wrong) -> Any:
    """A time or an interval of numpy as one of Python."""
    micros = value.astype(f"{value.dtype.kind}8[us]")
    if np.isnat(value):
        raise wrong(value)
    if micros != value:
        raise _too_fine(kind, value)
    found = micros.item()
    if isinstance(found, int):  # Python does not have it
        raise wrong(value)
    return found


def _require_micros(kind: spark.DataType, value: Any, attribute: str) -> None:
    """Refuse parts of a microsecond, which pandas has."""
    if getattr(value, attribute, 0):
        raise _too_fine(kind, value)


def _too_fine(kind: spark.DataType, value: Any) -> MisfitError:
    return MisfitError(kind, value, "it has parts of a microsecond: round it to microseconds")
