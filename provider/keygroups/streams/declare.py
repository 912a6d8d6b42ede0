"""What a function asks for when it is opened: Spark has to know of it before the first batch of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keygroups.functions.base import Function
from keygroups.keyed.memory import MemoryTables
from keygroups.keyed.scope import Scope
from keygroups.partition.forms import entry_form, name_schema
from keygroups.state.descriptors import MapStateDescriptor, StateDescriptor
from keygroups.state.errors import StateError
from keygroups.streams.context import Place, WorkerContext


@dataclass(frozen=True)
class Declared:
    """States and names of metrics, in the order in which they were asked for."""

    states: list[StateDescriptor]
    metrics: list[str]


def opened(function: Function, uid: str, parameters: dict[str, str]) -> Declared:
    """Open and close a function to see what it asks for.

    Raises:
        StateError: It asks for something that there cannot be.
        SettingError: A type cannot be stored.
    """
    context = WorkerContext(uid, MemoryTables(), Scope(), parameters, Place())
    try:
        function.open(context)
        metrics = context.metrics.names()
        context.seal()
    finally:
        function.close()
    require_storable(context.descriptors(), uid)
    return Declared(context.descriptors(), metrics)


def require_storable(states: list[StateDescriptor], uid: str) -> None:
    """Check that Spark takes the names and types of states.

    Raises:
        StateError: A name cannot be used.
        SettingError: A type cannot be stored.
    """
    for descriptor in states:
        if descriptor.name in ("", "default") or descriptor.name != descriptor.name.strip():
            raise StateError(
                f"operator {uid!r} has a state with a name that Spark does not take",
                expected="a text that is not empty, is not 'default', and has no space at its ends",
                found=repr(descriptor.name),
            )
        entry_form(descriptor)
        if isinstance(descriptor, MapStateDescriptor):
            name_schema(descriptor.key_type)


def declare(client: Any, states: list[StateDescriptor]) -> None:
    """Tell Spark of the states, whose schemas it keeps and checks.

    Args:
        client: ``StatefulProcessorApiClient`` of PySpark.
        states: The states.
    """
    for descriptor in states:
        if isinstance(descriptor, MapStateDescriptor):
            schema = entry_form(descriptor, nullable=True).schema
            client.get_map_state(descriptor.name, name_schema(descriptor.key_type), schema, None)
        elif descriptor.kind == "list":
            client.get_list_state(descriptor.name, entry_form(descriptor).schema, None)
        else:
            client.get_value_state(descriptor.name, entry_form(descriptor).schema, None)
