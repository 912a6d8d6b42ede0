"""What a function sees of its task in Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext

from keygroups.functions.context import RuntimeContext
from keygroups.keyed.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from keygroups.keyed.scope import Scope
    from keygroups.keyed.tables import Tables


@dataclass(frozen=True)
class Place:
    """Which part of an operator a task is.

    Attributes:
        partition: Number of the state partition.
        partitions: How many there are.
        max_parallelism: Number of key groups.
    """

    partition: int = 0
    partitions: int = 1
    max_parallelism: int = 1


class WorkerContext(Registry, RuntimeContext):
    """The states of an operator, and its task.

    Args:
        uid: Name of the operator.
        tables: Where its states lie.
        scope: The current key and times.
        parameters: What ``get_job_parameter`` gives.
        place: Which part of the operator it is.
    """

    def __init__(self, uid: str, tables: Tables, scope: Scope, parameters: Mapping[str, str], place: Place) -> None:
        """Begin without states."""
        super().__init__(uid, tables, scope)
        self._uid, self._parameters, self._place = uid, parameters, place

    def get_task_name(self) -> str:
        """Give the name of the operator."""
        return self._uid

    def get_number_of_parallel_subtasks(self) -> int:
        """Give the number of state partitions."""
        return self._place.partitions

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Give the number of key groups."""
        return self._place.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Give the number of the partition."""
        return self._place.partition

    def get_attempt_number(self) -> int:
        """Give how often the task was tried before."""
        task = TaskContext.get()
        return 0 if task is None else task.attemptNumber()

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Give a setting of the session, as it was when the operator was defined."""
        return self._parameters.get(key, default_value)
