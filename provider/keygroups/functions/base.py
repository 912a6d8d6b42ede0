"""The functions that users derive from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from keygroups.functions import context as contexts

if TYPE_CHECKING:
    import pyarrow as pa

    from keygroups.functions.context import BatchContext, OnTimerContext, RuntimeContext
    from keygroups.state.batch_keys import BatchKeys


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


class TimedFunction(Function):
    """What has timers."""

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        """Take a timer that is due; yield rows of the output, or ``(output_tag, row)`` for a side output.

        Args:
            timestamp: For when the timer was set, in milliseconds since 1970.
            ctx: Its key and kind, and the timers.
        """
        del timestamp, ctx
        return ()


class KeyedBatchFunction(TimedFunction):
    """Many rows at once, with the state of their keys: for what can be done without a Python call per row."""

    @abstractmethod
    def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterable[Any] | None:
        """Take rows; yield columns of the output, or ``(output_tag, columns)`` for a side output.

        Columns are a ``RecordBatch``, a ``Table``, or a dict with an array or sequence for each name.

        Args:
            keys: The different keys of the rows. ``get_many``, ``update_many`` and ``add_many`` of states take them.
            batch: The rows, with the columns of the input. Rows of a key keep their order.
            ctx: Times of the rows, and the timers.
        """


class KeyedProcessFunction(TimedFunction):
    """Rows and timers of a key, with its state. Its contexts have PyFlink's names, too."""

    Context: TypeAlias = contexts.Context
    OnTimerContext: TypeAlias = contexts.OnTimerContext

    @abstractmethod
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        """Take a row; yield rows of the output, or ``(output_tag, row)`` for a side output.

        Args:
            value: The row, with its columns as attributes.
            ctx: Its key and time, and the timers.
        """
