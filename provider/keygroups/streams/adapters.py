"""Plain callables and rich functions as process functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from pyspark.sql import types as spark

from keygroups.functions.base import FilterFunction, FlatMapFunction, Function, KeyedProcessFunction, MapFunction
from keygroups.functions.context import Context, RuntimeContext
from keygroups.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from keygroups.state.errors import StateError
from keygroups.state.folding import ReduceFunction


class Adapter(KeyedProcessFunction):
    """A function of one row, which is opened and closed if it is rich.

    Args:
        function: A rich function, or a callable.
    """

    rich: ClassVar[type[Function]]
    method: ClassVar[str]

    def __init__(self, function: Function | Callable[[Any], Any]) -> None:
        """Take the function.

        Raises:
            StateError: It is neither rich nor callable.
        """
        self._function = function
        if isinstance(function, self.rich):
            self._call: Callable[[Any], Any] = getattr(function, self.method)
        elif callable(function) and not isinstance(function, type | Function):
            self._call = function
        else:
            raise StateError(
                f"{self.method} has a wrong function",
                expected=f"a callable or a {self.rich.__name__}",
                found=repr(function),
            )

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function."""
        if isinstance(self._function, Function):
            self._function.open(runtime_context)

    def close(self) -> None:
        """Close the function."""
        if isinstance(self._function, Function):
            self._function.close()


class Mapper(Adapter):
    """One row for each row."""

    rich, method = MapFunction, "map"

    def process_element(self, value: Any, ctx: Context) -> Any:
        """Give one row."""
        del ctx
        return (self._call(value),)


class FlatMapper(Adapter):
    """Any number of rows for each row."""

    rich, method = FlatMapFunction, "flat_map"

    def process_element(self, value: Any, ctx: Context) -> Any:
        """Give what the function gives."""
        del ctx
        return self._call(value)


class Filter(Adapter):
    """Some of the rows."""

    rich, method = FilterFunction, "filter"

    def process_element(self, value: Any, ctx: Context) -> Any:
        """Give the row, or nothing."""
        del ctx
        return (value,) if self._call(value) else ()


class Reducer(KeyedProcessFunction):
    """For each row what all rows of its key have come to. Source: ``StreamGroupedReduceOperator`` of Flink."""

    def __init__(self, function: ReduceFunction[Any] | Callable[[Any, Any], Any], kind: spark.DataType) -> None:
        """Take a function of two rows."""
        self._descriptor = ReducingStateDescriptor("reduced", function, kind)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self._state = runtime_context.get_reducing_state(self._descriptor)

    def process_element(self, value: Any, ctx: Context) -> Any:
        """Add the row."""
        del ctx
        self._state.add(value)
        reduced = self._state.get()
        return () if reduced is None else (reduced,)


class WithState(KeyedProcessFunction):
    """A function ``(row, state) -> (what it gives, new state)``; None is no state."""

    def __init__(self, function: Callable[[Any, Any], Any], kind: str | spark.DataType, uid: str) -> None:
        """Take the function and the type of its state."""
        if isinstance(function, type) or not callable(function):
            raise StateError("a wrong function", expected="a callable (value, state)", found=repr(function))
        self._call, self._uid = function, uid
        self._descriptor = ValueStateDescriptor("state", kind)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self._state = runtime_context.get_state(self._descriptor)

    def process_element(self, value: Any, ctx: Context) -> Any:
        """Give one row."""
        del ctx
        return (self._step(value),)

    def _step(self, value: Any) -> Any:
        given = self._call(value, self._state.value())
        if not isinstance(given, tuple) or len(given) != 2:
            raise StateError(
                f"the function of operator {self._uid!r} gave no pair",
                expected="(output, new state)",
                found=repr(given)[:200],
            )
        if given[1] is None:
            self._state.clear()
        else:
            self._state.update(given[1])
        return given[0]


class FlatWithState(WithState):
    """The same, where the function gives any number of rows."""

    def process_element(self, value: Any, ctx: Context) -> Any:
        """Give what the function gives."""
        del ctx
        return self._step(value)


class FilterWithState(WithState):
    """The same, where the function says whether a row stays."""

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        """Give the row, or nothing."""
        del ctx
        if self._step(value):
            yield value
