"""Functions with which a state folds what is added to it. They have no state of their own and are not opened.

Source: ``ReduceFunction``, ``AggregateFunction`` and ``FoldFunction`` of Flink.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from keygroups.state.errors import StateError

T = TypeVar("T")
IN = TypeVar("IN")
ACC = TypeVar("ACC")
OUT = TypeVar("OUT")


class ReduceFunction(ABC, Generic[T]):
    """Makes one value of two."""

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T | None:
        """Give the value of both, of the same type; None clears the state. ``value1`` is the older one."""


class AggregateFunction(ABC, Generic[IN, ACC, OUT]):
    """Collects values in an accumulator of another type, from which it computes a result."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Give an empty accumulator, a new one at each call."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC | None:
        """Give the accumulator with a value more; it may be the same object. None clears the state."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """Give the result; never called on an accumulator to which nothing was added."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Give one accumulator of two."""


class FoldFunction(ABC, Generic[T, ACC]):
    """Adds values to an accumulator that begins with a given value."""

    @abstractmethod
    def fold(self, accumulator: ACC, value: T) -> ACC | None:
        """Give the accumulator with a value more; None clears the state."""


def as_reduce(function: ReduceFunction[T] | Callable[[T, T], T | None], name: str) -> Callable[[T, T], T | None]:
    """Give the function of a reducing state as a callable.

    Raises:
        StateError: It is neither a ``ReduceFunction`` nor callable.
    """
    if isinstance(function, ReduceFunction):
        return function.reduce
    return _callable(function, name, "a ReduceFunction or a callable (value, value) -> value")


def as_fold(
    function: FoldFunction[T, ACC] | Callable[[ACC, T], ACC | None], name: str
) -> Callable[[ACC, T], ACC | None]:
    """Give the function of a folding state as a callable.

    Raises:
        StateError: It is neither a ``FoldFunction`` nor callable.
    """
    if isinstance(function, FoldFunction):
        return function.fold
    return _callable(function, name, "a FoldFunction or a callable (accumulator, value) -> accumulator")


def check_aggregate(function: object, name: str) -> None:
    """Refuse what cannot aggregate.

    Raises:
        StateError: It is no object of an ``AggregateFunction``; a class is none.
    """
    if not isinstance(function, AggregateFunction):
        raise StateError(f"state {name!r} has a wrong function", expected="an AggregateFunction", found=repr(function))


def _callable(function: Callable[[ACC, T], OUT], name: str, expected: str) -> Callable[[ACC, T], OUT]:
    if isinstance(function, type) or not callable(function):
        raise StateError(f"state {name!r} has a wrong function", expected=expected, found=repr(function))
    return function
