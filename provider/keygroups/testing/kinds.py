"""Harnesses of functions that are no process functions: the methods of a keyed stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from pyspark.sql import types as spark
from typing_extensions import Self

from keygroups.functions import FilterFunction, FlatMapFunction, MapFunction
from keygroups.state.folding import ReduceFunction
from keygroups.state.types import parse_type
from keygroups.streams.adapters import Filter, FilterWithState, FlatMapper, FlatWithState, Mapper, Reducer, WithState

H = TypeVar("H", bound="Kinds")
Type = str | spark.DataType


class Kinds(ABC):
    """Makes a harness of each kind of function. ``**harness`` are arguments of ``KeyedHarness``."""

    @abstractmethod
    def __init__(self, function: Any, key: Any, output_type: Type | None = None, **harness: Any) -> None:
        """Take a process function."""

    @classmethod
    def map(cls, function: MapFunction | Callable[[Any], Any], key: Any, output_type: Type, **harness: Any) -> Self:
        """Return a harness of a function that gives one row for each row."""
        return cls(Mapper(function), key, output_type, **harness)

    @classmethod
    def flat_map(
        cls, function: FlatMapFunction | Callable[[Any], Any], key: Any, output_type: Type, **harness: Any
    ) -> Self:
        """Return a harness of a function that gives any number of rows for each row."""
        return cls(FlatMapper(function), key, output_type, **harness)

    @classmethod
    def filter(cls, function: FilterFunction | Callable[[Any], bool], key: Any, row_type: Type, **harness: Any) -> Self:
        """Return a harness of a function that keeps some rows; ``row_type`` has their columns."""
        return cls(Filter(function), key, row_type, **harness)

    @classmethod
    def reduce(
        cls,
        function: ReduceFunction[Any] | Callable[[Any, Any], Any],
        key: Any,
        row_type: Type,
        **harness: Any,
    ) -> Self:
        """Return a harness of a function that makes one row of two; ``row_type`` has their columns."""
        return cls(Reducer(function, parse_type(row_type)), key, row_type, **harness)

    @classmethod
    def map_with_state(
        cls,
        function: Callable[[Any, Any], Any],
        key: Any,
        output_type: Type,
        state_type: Type,
        **harness: Any,
    ) -> Self:
        """Return a harness of ``(row, state) -> (row of the output, new state)``."""
        return cls(WithState(function, state_type, _name(harness)), key, output_type, **harness)

    @classmethod
    def flat_map_with_state(
        cls,
        function: Callable[[Any, Any], Any],
        key: Any,
        output_type: Type,
        state_type: Type,
        **harness: Any,
    ) -> Self:
        """Return a harness of ``(row, state) -> (rows of the output, new state)``."""
        return cls(FlatWithState(function, state_type, _name(harness)), key, output_type, **harness)

    @classmethod
    def filter_with_state(
        cls, function: Callable[[Any, Any], Any], key: Any, row_type: Type, state_type: Type, **harness: Any
    ) -> Self:
        """Return a harness of ``(row, state) -> (whether the row stays, new state)``."""
        return cls(FilterWithState(function, state_type, _name(harness)), key, row_type, **harness)


def _name(harness: dict[str, Any]) -> str:
    return str(harness.get("name", "operator"))
