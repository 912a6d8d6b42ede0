"""Functions of reducing and aggregating states that are known by their names, and need no Python call per row.

``sum``, ``min``, ``max`` and ``last`` reduce; ``count`` and ``collect`` aggregate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from pyspark.sql import types as spark

from keygroups.rows.decimals import added
from keygroups.rows.pickled import PickleType
from keygroups.rows.times import TIMES, number_of
from keygroups.state.errors import StateError
from keygroups.state.folding import AggregateFunction


def _sum(old: Any, new: Any) -> Any:
    return added(old, new) if isinstance(old, Decimal) else old + new


def _least(old: Any, new: Any) -> Any:
    return new if _is_nan(old) or new < old else old


def _greatest(old: Any, new: Any) -> Any:
    return new if _is_nan(new) or (not _is_nan(old) and new > old) else old


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


REDUCES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "sum": _sum,
    "min": _least,
    "max": _greatest,  # NaN is Spark's greatest number
    "last": lambda _old, new: new,
}


def reduces(kind: spark.DataType) -> dict[str, Callable[[Any, Any], Any]]:
    """Give the functions that reduce values of a type.

    Times are compared by their numbers: local ones do not tell which of two is the earlier one where clocks go back,
    and Python does not have all.
    """
    if not isinstance(kind, TIMES):
        return REDUCES
    number = number_of(kind)
    return {
        **REDUCES,
        "min": lambda old, new: min(old, new, key=number),
        "max": lambda old, new: max(old, new, key=number),
    }


class Count(AggregateFunction[Any, int, int]):
    """How many values were added. Its accumulator is a bigint."""

    def create_accumulator(self) -> int:
        """Give 0."""
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        """Count one more."""
        del value
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        """Give the number."""
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        """Add two."""
        return acc_a + acc_b


class Collect(AggregateFunction[Any, list[Any], list[Any]]):
    """All values that were added, in their order. Its accumulator is an array; a list state need not be read."""

    def create_accumulator(self) -> list[Any]:
        """Give an empty list."""
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        """Append a value."""
        return [*accumulator, value]

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        """Give the list."""
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        """Join two."""
        return [*acc_a, *acc_b]


AGGREGATIONS: Final[dict[str, AggregateFunction[Any, Any, Any]]] = {"count": Count(), "collect": Collect()}


_WHOLE: Final = (spark.ByteType, spark.ShortType, spark.IntegerType, spark.LongType)
_SUMMED: Final = (*_WHOLE, spark.FloatType, spark.DoubleType, spark.DecimalType, spark.DayTimeIntervalType)
_ORDERED: Final = (
    *_SUMMED,
    spark.BooleanType,
    spark.StringType,
    spark.BinaryType,
    spark.DateType,
    spark.TimestampType,
    spark.TimestampNTZType,
)
_TYPES: Final[dict[str, tuple[tuple[type[spark.DataType], ...], str]]] = {
    "sum": ((*_SUMMED, PickleType), "numbers or intervals of days"),
    "min": (_ORDERED, "values with an order: numbers, texts, binary, booleans, dates, times or intervals of days"),
    "max": (_ORDERED, "values with an order: numbers, texts, binary, booleans, dates, times or intervals of days"),
    "count": (_WHOLE, "a whole number, such as bigint"),
    "collect": ((spark.ArrayType, PickleType), "an array, such as array<bigint>"),
}
"""Types of states that a function goes with, one by one and by batch, if not all."""


def built_in(name: str, known: dict[str, Any], kind: spark.DataType, state: str) -> Any:
    """Give a function by its name.

    Args:
        name: The name.
        known: ``AGGREGATIONS``, or what ``reduces`` gives.
        kind: Type of the state.
        state: Name of the state.

    Raises:
        StateError: There is none of this name, or it does not go with the type.
    """
    if name not in known:
        raise StateError(
            f"state {state!r} has a wrong function", expected=f"{', '.join(known)}, or a function", found=repr(name)
        )
    types, expected = _TYPES.get(name, ((spark.DataType,), ""))
    if not isinstance(kind, types):
        raise StateError(
            f"state {state!r} has a type that {name!r} does not go with",
            expected=expected,
            found=kind.simpleString(),
            fix="use another type, or a function of your own",
        )
    return known[name]
