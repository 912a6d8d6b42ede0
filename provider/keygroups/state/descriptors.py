"""Descriptors: the name of a state, its types, and what it does with what is added.

Source: ``pyflink.datastream.state`` of PyFlink 2.3. Beyond it: types are Spark's, a value has a default, and there are
folding and sorted map states (Flink up to 1.x, and Blink).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from pyspark.sql.types import DataType, MapType, StructField, StructType

from keygroups.rows.pickled import PickleType, has_pickles
from keygroups.state.built_in import AGGREGATIONS, built_in, reduces
from keygroups.state.errors import StateError
from keygroups.state.folding import AggregateFunction, FoldFunction, ReduceFunction, as_fold, as_reduce, check_aggregate
from keygroups.state.other_names import also_named
from keygroups.state.rules import taker
from keygroups.state.ttl import StateTtlConfig
from keygroups.state.types import parse_type, part_without_equality

T = TypeVar("T")
IN = TypeVar("IN")
ACC = TypeVar("ACC")
OUT = TypeVar("OUT")


class StateDescriptor:
    """What all descriptors have.

    Args:
        name: Name of the state, unique in its operator.
        type: Type of what is stored: Spark DDL or a ``DataType``.

    Raises:
        StateError: The name is no text or is reserved, or the type is missing or wrong.
    """

    kind: ClassVar[str] = "state"
    """What the state is, as in messages and in the checkpoint."""

    def __init__(self, name: str, type: str | DataType) -> None:  # noqa: A002 - PyFlink has type_info here
        """Check both."""
        if not isinstance(name, str):
            raise StateError("a state has no name", expected="a text", found=repr(name), fix="give each state a name")
        if name.startswith(("$", "_")):
            raise StateError(
                f"state {name!r} has a reserved name",
                expected="a name that begins with a letter",
                fix="give it another name: Spark's own bookkeeping begins with $ and _",
            )
        self.name = name
        self.type = _parsed(type, name)
        self.ttl: StateTtlConfig | None = None

    def get_name(self) -> str:
        """Give the name."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let values expire.

        Raises:
            StateError: It is no ``StateTtlConfig``.
        """
        if not isinstance(ttl_config, StateTtlConfig):
            raise StateError(
                f"state {self.name!r} has a wrong time to live",
                expected="a StateTtlConfig",
                found=repr(ttl_config),
                fix="build it with StateTtlConfig.new_builder(...).build()",
            )
        self.ttl = ttl_config if ttl_config.is_enabled() else None

    def __repr__(self) -> str:
        """Show kind, name and type."""
        return f"{self.kind} state {self.name!r} of {self.type.simpleString()}"


@also_named(value_type_info="type")
class ValueStateDescriptor(StateDescriptor):
    """Describes one value for each key.

    Args:
        name: Name of the state.
        type: Type of the value.
        default: What is read where there is no value. Not with a time to live: then it is None, as in Flink.
    """

    kind = "value"

    def __init__(self, name: str, type: str | DataType, default: Any = None) -> None:  # noqa: A002
        """Check name and type."""
        super().__init__(name, type)
        self.default = default


@also_named(elem_type_info="type")
class ListStateDescriptor(StateDescriptor):
    """Describes a list for each key; ``type`` is that of an element."""

    kind = "list"


@also_named(key_type_info="key_type", value_type_info="value_type")
class MapStateDescriptor(StateDescriptor):
    """Describes a map for each key.

    Args:
        name: Name of the state.
        key_type: Type of the keys of the map.
        value_type: Type of its values.
    """

    kind = "map"

    def __init__(self, name: str, key_type: str | DataType, value_type: str | DataType) -> None:
        """Check name and types."""
        super().__init__(name, value_type)
        self.key_type = _parsed(key_type, name)
        if isinstance(self.key_type, PickleType):
            raise StateError(
                f"the keys of state {name!r} are pickled", expected="a type of Spark", found="PickleType()"
            )
        unequal = part_without_equality(self.key_type)
        if unequal is not None:
            what = "maps" if isinstance(unequal, MapType) else "texts with a collation"
            raise StateError(
                f"the keys of state {name!r} are {what}",
                expected="a type whose values are equal if and only if their bytes are",
                found=self.key_type.simpleString(),
                fix="use an array of entries in a fixed order for a map, and string for a text",
            )
        self.value_type = self.type

    def __repr__(self) -> str:
        """Show kind, name and types."""
        return f"{self.kind} state {self.name!r} of {self.key_type.simpleString()} to {self.type.simpleString()}"


@also_named(key_type_info="key_type", value_type_info="value_type")
class SortedMapStateDescriptor(MapStateDescriptor):
    """Describes a map for each key whose entries are read in the order of their keys.

    Numbers, dates and timestamps have their natural order, texts and binary that of their bytes (of a text: its code
    points), structs that of their fields from left to right, None first; NaN comes after all other numbers.

    Raises:
        StateError: Keys of this type have no order.
    """

    kind = "sorted map"

    def __init__(self, name: str, key_type: str | DataType, value_type: str | DataType) -> None:
        """Check name, types, and that keys have an order."""
        super().__init__(name, key_type, value_type)
        unordered = _without_order(self.key_type)
        if unordered:
            raise StateError(
                f"the keys of sorted map state {name!r} have no order",
                expected="numbers, texts, binary, dates, timestamps or structs of these",
                found=unordered.simpleString(),
            )


@also_named(reduce_function="function", type_info="type")
class ReducingStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a value for each key that is reduced with each value added.

    Args:
        name: Name of the state.
        function: A ``ReduceFunction``, a callable of the older and the new value, or ``sum``, ``min``, ``max`` or
            ``last``.
        type: Type of the values.

    Attributes:
        built_in: Name of the function if it was given by its name.
    """

    kind = "reducing"

    def __init__(
        self,
        name: str,
        function: ReduceFunction[T] | Callable[[T, T], T | None] | str,
        type: str | DataType,  # noqa: A002
    ) -> None:
        """Check function, name and type."""
        super().__init__(name, type)
        self.built_in = function if isinstance(function, str) else None
        self._function = (
            built_in(function, reduces(self.type), self.type, name) if isinstance(function, str) else function
        )
        self.reduce = as_reduce(self._function, name)

    def get_reduce_function(self) -> ReduceFunction[T] | Callable[[T, T], T | None]:
        """Give the function."""
        return self._function


@also_named(agg_function="function", state_type_info="accumulator_type")
class AggregatingStateDescriptor(StateDescriptor, Generic[IN, ACC, OUT]):
    """Describes an accumulator for each key.

    Args:
        name: Name of the state.
        function: What creates, fills and reads it; or ``count``, or ``collect``.
        accumulator_type: Its type, which is what is stored.

    Attributes:
        built_in: Name of the function if it was given by its name.
    """

    kind = "aggregating"

    def __init__(
        self, name: str, function: AggregateFunction[IN, ACC, OUT] | str, accumulator_type: str | DataType
    ) -> None:
        """Check function, name and type."""
        super().__init__(name, accumulator_type)
        self.built_in = function if isinstance(function, str) else None
        self.function: AggregateFunction[IN, ACC, OUT] = (
            built_in(function, AGGREGATIONS, self.type, name) if isinstance(function, str) else function
        )
        check_aggregate(self.function, name)

    def get_agg_function(self) -> AggregateFunction[IN, ACC, OUT]:
        """Give the function."""
        return self.function


class FoldingStateDescriptor(StateDescriptor, Generic[T, ACC]):
    """Describes an accumulator for each key that begins with a given value.

    Args:
        name: Name of the state.
        initial: What the first value is folded into; each key has a copy of its own.
        function: A ``FoldFunction``, or a callable of the accumulator and the new value.
        type: Type of the accumulator.
    """

    kind = "folding"

    def __init__(
        self,
        name: str,
        initial: ACC,
        function: FoldFunction[T, ACC] | Callable[[ACC, T], ACC | None],
        type: str | DataType,  # noqa: A002
    ) -> None:
        """Check function, name and type."""
        super().__init__(name, type)
        self.initial = initial
        self.fold = as_fold(function, name)


_UNORDERED = ("map", "array", "variant", "void", "interval")


def _parsed(given: str | DataType, name: str) -> DataType:
    try:
        kind = parse_type(given)
    except StateError as error:
        raise StateError(f"the type of state {name!r} is wrong: {error}") from None
    if has_pickles(kind) and not isinstance(kind, PickleType):
        raise StateError(
            f"the type of state {name!r} has pickled values in it",
            expected="PickleType() for the whole value",
            found=kind.simpleString(),
        )
    try:
        taker(kind)
    except StateError as error:
        raise StateError(
            f"state {name!r} cannot have the type {kind.simpleString()}", found=error, fix=error.fix
        ) from None
    return kind


def _without_order(kind: DataType) -> DataType | None:
    """The first part of a type that has no order, or None."""
    if isinstance(kind, StructType):
        fields: list[StructField] = kind.fields
        return next((found for field in fields if (found := _without_order(field.dataType))), None)
    return kind if kind.simpleString().startswith(_UNORDERED) else None
