"""Functions of reducing and aggregating states that are known by their names, and need no Python call per row.

``sum``, ``min``, ``max`` and ``last`` reduce; ``count`` and ``collect`` aggregate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from keygroups.rows.decimals import added
from keygroups.rows.times import micros_of
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
REDUCES_OF_INSTANTS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    **REDUCES,
    "min": lambda old, new: min(old, new, key=micros_of),
    "max": lambda old, new: max(old, new, key=micros_of),
}
"""Those of timestamps, whose local times do not tell which of two is the earlier one where clocks go back."""


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


def built_in(name: str, known: dict[str, Any], state: str) -> Any:
    """Give a function by its name.

    Args:
        name: The name.
        known: ``REDUCES``, ``REDUCES_OF_INSTANTS`` or ``AGGREGATIONS``.
        state: Name of the state.

    Raises:
        StateError: There is none of this name.
    """
    if name not in known:
        raise StateError(
            f"state {state!r} has a wrong function", expected=f"{', '.join(known)}, or a function", found=repr(name)
        )
    return known[name]
