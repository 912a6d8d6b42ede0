"""The functions that users derive from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keygroups.functions.context import Context, OnTimerContext, RuntimeContext


class Function(ABC):  # noqa: B024 - open and close may stay as they are
    """A function that is opened before its first row, where it gets its states."""

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027
        """Get the states. Called once in each task, and once on the driver to learn which states there are."""

    def close(self) -> None:  # noqa: B027
        """Free what ``open`` took; called also when a row has failed."""


class MapFunction(Function):
    """One row for each row."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """Give the row of the output."""


class FlatMapFunction(Function):
    """Any number of rows for each row."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any]:
        """Yield rows of the output."""


class FilterFunction(Function):
    """Keeps some rows."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Tell whether a row stays."""


class KeyedProcessFunction(Function):
    """Rows and timers of a key, with its state."""

    @abstractmethod
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        """Take a row; yield rows of the output, or ``(output_tag, row)`` for a side output.

        Args:
            value: The row, with its columns as attributes.
            ctx: Its key and time, and the timers.
        """

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        """Take a timer that is due; yield rows as ``process_element`` does.

        Args:
            timestamp: For when the timer was set, in milliseconds since 1970.
            ctx: Its key and kind, and the timers.
        """
        del timestamp, ctx
        return ()
