"""What a function sees of its task, where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from keygroups.functions.context import RuntimeContext
from keygroups.keyed.registry import Registry
from keygroups.keyed.scope import Scope
from keygroups.keyed.tables import Tables

DEFAULT_MAX_PARALLELISM: Final = 128


@dataclass(frozen=True)
class Task:
    """Which subtask a harness is.

    Args:
        name: Name of the operator.
        parallelism: Number of subtasks.
        subtask: Number of this one, from 0.
        max_parallelism: Number of key groups.
        parameters: What ``get_job_parameter`` gives.
    """

    name: str = "operator"
    parallelism: int = 1
    subtask: int = 0
    max_parallelism: int = DEFAULT_MAX_PARALLELISM
    parameters: Mapping[str, str] = field(default_factory=dict)


class TaskContext(Registry, RuntimeContext):
    """The states of an operator, and its task.

    Args:
        task: Which subtask it is.
        tables: Where its states lie.
        scope: The current key and times.
    """

    def __init__(self, task: Task, tables: Tables, scope: Scope) -> None:
        """Begin without states."""
        super().__init__(task.name, tables, scope)
        self._task = task

    def get_task_name(self) -> str:
        """Give the name of the operator."""
        return self._task.name

    def get_number_of_parallel_subtasks(self) -> int:
        """Give the number of subtasks."""
        return self._task.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Give the number of key groups."""
        return self._task.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Give the number of this subtask, from 0."""
        return self._task.subtask

    def get_attempt_number(self) -> int:
        """Give 0: nothing fails here."""
        return 0

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Give what the test set."""
        return self._task.parameters.get(key, default_value)
