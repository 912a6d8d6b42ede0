"""What a function is given: its runtime context when it is opened, and a context with each row and timer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

from keygroups.functions.timers import TimeDomain, TimerService
from keygroups.state.descriptors import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SortedMapStateDescriptor,
    ValueStateDescriptor,
)
from keygroups.state.kinds import (
    AggregatingState,
    FoldingState,
    ListState,
    MapState,
    ReducingState,
    SortedMapState,
    ValueState,
)


class Counter(Protocol):
    """A number that a function counts up."""

    def inc(self, n: int = 1) -> None:
        """Count up."""

    def dec(self, n: int = 1) -> None:
        """Count down."""

    def get_count(self) -> int:
        """Give the number of this task."""


class MetricGroup(ABC):
    """Metrics of a function, which reach Spark's metrics of the operator."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """Give the counter of a name, the same one at each call."""

    @abstractmethod
    def gauge(self, name: str, function: Callable[[], int]) -> None:
        """Register a number that is asked for at the end of each batch."""


class KeyedStateStore(ABC):
    """Gives the states of the current key.

    Each method gives the same state for the same name. All raise ``StateError`` if the name has another kind or other
    types by now, or was not asked for in ``open``.
    """

    @abstractmethod
    def get_state(self, descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """Give a value state."""

    @abstractmethod
    def get_list_state(self, descriptor: ListStateDescriptor) -> ListState[Any]:
        """Give a list state."""

    @abstractmethod
    def get_map_state(self, descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """Give a map state."""

    @abstractmethod
    def get_sorted_map_state(self, descriptor: SortedMapStateDescriptor) -> SortedMapState[Any, Any]:
        """Give a map state whose entries have an order."""

    @abstractmethod
    def get_reducing_state(self, descriptor: ReducingStateDescriptor[Any]) -> ReducingState[Any]:
        """Give a reducing state."""

    @abstractmethod
    def get_aggregating_state(
        self, descriptor: AggregatingStateDescriptor[Any, Any, Any]
    ) -> AggregatingState[Any, Any]:
        """Give an aggregating state."""

    @abstractmethod
    def get_folding_state(self, descriptor: FoldingStateDescriptor[Any, Any]) -> FoldingState[Any, Any]:
        """Give a folding state."""


class RuntimeContext(KeyedStateStore):
    """What a function can know of the task that runs it."""

    @abstractmethod
    def get_task_name(self) -> str:
        """Give the name of the operator."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Give the number of state partitions."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Give the number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Give the number of the partition, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Give how often this task was tried before, from 0."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Give a setting of the session."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Give the metrics of the function."""

    def get_task_name_with_subtasks(self) -> str:
        """Give the name with the subtask, such as ``count (1/4)#0``."""
        subtask = f"{self.get_index_of_this_subtask() + 1}/{self.get_number_of_parallel_subtasks()}"
        return f"{self.get_task_name()} ({subtask})#{self.get_attempt_number()}"


class Context(ABC):
    """Key and time of a row."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """Give the key: a value for one column, a row for several."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Give times and timers."""

    @abstractmethod
    def timestamp(self) -> int:
        """Give the event time of the row in milliseconds since 1970; without one, -9223372036854775808."""


class BatchContext(ABC):
    """Times of the rows of a batch, and the timers."""

    @abstractmethod
    def timestamps(self) -> pa.Array | None:
        """Give the event time of each row in milliseconds since 1970; None without a watermark."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """Give the key, while the keys of the batch are walked."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Give times; and timers, while the keys of the batch are walked."""


class OnTimerContext(Context):
    """Key and time of a timer."""

    @abstractmethod
    def time_domain(self) -> TimeDomain:
        """Give which clock it followed."""
