"""A function that shows its state to a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from keygroups.functions import Context, KeyedProcessFunction, OnTimerContext, RuntimeContext
from keygroups.partition.keys import StoredKeys
from keygroups.partition.maps import FileMaps
from keygroups.state import StateDescriptor
from keygroups.testing import KeyedHarness
from state.in_memory import MemoryHarness

HARNESS: ContextVar[type[Any]] = ContextVar("HARNESS", default=KeyedHarness)
"""What a ``Probed`` runs in."""
Action = Callable[["Probe", Context], Any]


class Probe(KeyedProcessFunction):
    """Its rows are ``(key, action)``: the action runs with the probe, and what it gives is the output.

    Attributes:
        fired: Called with each timer.
    """

    def __init__(self, **descriptors: StateDescriptor) -> None:
        self.descriptors = descriptors
        self.context: RuntimeContext
        self.closed = 0
        self.fired: Callable[[OnTimerContext], Any] = lambda _: None

    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context
        for name, descriptor in self.descriptors.items():
            get = {"value": "get_state", "sorted map": "get_sorted_map_state"}.get(
                descriptor.kind, f"get_{descriptor.kind}_state"
            )
            setattr(self, name, getattr(runtime_context, get)(descriptor))

    def process_element(self, value: tuple[str, Action], ctx: Context) -> Iterator[Any]:
        yield value[1](self, ctx)

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterator[Any]:
        self.fired(ctx)
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name, ctx.timestamp()

    def close(self) -> None:
        self.closed += 1


class Probed:
    """A probe in a harness.

    Args:
        restore: Snapshots to go on from.
        now: Processing time.
        task: Fields of ``Task``.
        descriptors: States by the name of the probe's attribute.
    """

    def __init__(self, *restore: Any, now: int = 0, task: dict[str, Any] | None = None, **descriptors: Any) -> None:
        self.probe = Probe(**descriptors)
        self.harness: Any = HARNESS.get()(self.probe, lambda row: row[0], restore=restore, now=now, **(task or {}))

    def do(self, action: Callable[[Any], Any], key: object = "a", at: int | None = None) -> Any:
        """What an action on the probe gives, under a key, at a processing time."""
        return self.do_in(lambda probe, _: action(probe), key, at)

    def stored(self) -> Any:
        """What each key has in the state ``s``."""
        if isinstance(self.harness, MemoryHarness):
            return self.harness.snapshot().states["s"].rows
        if isinstance(self.harness, KeyedHarness):
            return _stored(self.harness)
        return self.harness.stored("s")

    def do_in(self, action: Action, key: object = "a", at: int | None = None) -> Any:
        """The same for an action that also needs the context."""
        if at is not None:
            self.harness.advance_processing_time(at)
        self.harness.process((key, action))
        return self.harness.output.pop()


def _stored(harness: KeyedHarness) -> dict[Any, Any]:
    """What each key has in the state ``s``, the times included."""
    keys = harness._running.see(StoredKeys.of(list(harness._keys), list(harness._keys.values())))
    (table,) = (kept.table for kept in harness._tables.kept if kept.family.name == "s")
    read: Any = (lambda key: list(table.items(key))) if isinstance(table, FileMaps) else table.read  # type: ignore[union-attr]
    return {key.value: found for key in keys if (found := read(key))}
