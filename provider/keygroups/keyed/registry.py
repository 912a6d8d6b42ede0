"""The states of an operator by their names."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, TypeVar, cast

from keygroups.functions.context import KeyedStateStore
from keygroups.keyed.listed import Listed
from keygroups.keyed.mapped import Mapped, SortedMapped
from keygroups.keyed.metrics import Metrics
from keygroups.keyed.scope import Scope
from keygroups.keyed.single import SingleAggregated, SingleFolded, SingleReduced, SingleValue
from keygroups.keyed.tables import Tables
from keygroups.rows.pickled import PickleType, pickle
from keygroups.state.descriptors import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SortedMapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from keygroups.state.errors import StateError
from keygroups.state.kinds import State

S = TypeVar("S", bound=State)
D = TypeVar("D", bound=StateDescriptor)
TABLE = TypeVar("TABLE")


class Registry(KeyedStateStore):
    """Makes a state when it is first asked for, in ``open``, and gives it again afterwards.

    Args:
        operator: Name of the operator, for messages.
        tables: Where states lie.
        scope: The current key and time.

    Attributes:
        metrics: Counters and gauges of the function.
    """

    def __init__(self, operator: str, tables: Tables, scope: Scope) -> None:
        """Begin without states."""
        self._operator, self._tables, self._scope = operator, tables, scope
        self._known: dict[str, tuple[StateDescriptor, State]] = {}
        self._asked: list[StateDescriptor] = []
        self._sealed = False
        self.metrics = Metrics(operator)

    def get_metrics_group(self) -> Metrics:
        """Give the metrics."""
        return self.metrics

    def descriptors(self) -> list[StateDescriptor]:
        """Give the descriptors of all states, in the order in which they were asked for."""
        return [descriptor for descriptor, _ in self._known.values()]

    def seal(self) -> None:
        """Refuse states and metrics that were not asked for by now: the checkpoint has none for them.

        Raises:
            StateError: A descriptor has changed since its state was given, which has not.
        """
        for descriptor in self._asked:
            if descriptor.ttl != self._known[descriptor.name][0].ttl:
                raise StateError(
                    f"operator {self._operator!r} sets a time to live after it has asked for the state",
                    found=repr(descriptor),
                    fix="call enable_time_to_live before the state is asked for",
                )
        self._sealed = True
        self.metrics.seal()

    def get_state(self, descriptor: ValueStateDescriptor) -> SingleValue:
        """Give a value state."""
        return self._given(descriptor, ValueStateDescriptor, self._tables.values, SingleValue)

    def get_list_state(self, descriptor: ListStateDescriptor) -> Listed:
        """Give a list state."""
        return self._given(descriptor, ListStateDescriptor, self._tables.lists, Listed)

    def get_map_state(self, descriptor: MapStateDescriptor) -> Mapped:
        """Give a map state."""
        return self._given(descriptor, MapStateDescriptor, self._tables.maps, Mapped)

    def get_sorted_map_state(self, descriptor: SortedMapStateDescriptor) -> SortedMapped:
        """Give a sorted map state."""
        return self._given(descriptor, SortedMapStateDescriptor, self._tables.maps, SortedMapped)

    def get_reducing_state(self, descriptor: ReducingStateDescriptor[Any]) -> SingleReduced:
        """Give a reducing state."""
        return self._given(descriptor, ReducingStateDescriptor, self._tables.values, SingleReduced)

    def get_aggregating_state(self, descriptor: AggregatingStateDescriptor[Any, Any, Any]) -> SingleAggregated:
        """Give an aggregating state."""
        return self._given(descriptor, AggregatingStateDescriptor, self._tables.values, SingleAggregated)

    def get_folding_state(self, descriptor: FoldingStateDescriptor[Any, Any]) -> SingleFolded:
        """Give a folding state."""
        return self._given(descriptor, FoldingStateDescriptor, self._tables.values, SingleFolded)

    def _given(
        self,
        descriptor: D,
        wanted: type[D],
        table: Callable[[D], TABLE],
        make: Callable[[D, TABLE, Scope], S],
    ) -> S:
        if getattr(descriptor, "kind", None) != wanted.kind:
            raise StateError(
                f"operator {self._operator!r} asks for a state with a wrong descriptor",
                expected=f"a {wanted.__name__}",
                found=repr(descriptor),
            )
        known = self._known.get(descriptor.name)
        if known:
            self._require_same(known[0], descriptor)
            if not self._sealed:  # a function may ask for its state with every row
                self._asked.append(descriptor)
            return cast(S, known[1])
        if self._sealed:
            raise StateError(
                f"operator {self._operator!r} asks for {descriptor} after open",
                expected=", ".join(map(repr, self._known)) or "no state",
                fix="ask for each state in open: the operator must know its states before the first row",
            )
        given = copy(descriptor)
        state = make(given, table(given), self._scope)
        self._known[descriptor.name] = given, state
        self._asked.append(descriptor)
        return state

    def _require_same(self, known: StateDescriptor, descriptor: StateDescriptor) -> None:
        if not _are_same(known, descriptor):
            raise StateError(
                f"operator {self._operator!r} has two states of one name",
                expected=_shown(known),
                found=_shown(descriptor),
                fix="give each state a name of its own",
            )


def _are_same(known: StateDescriptor, descriptor: StateDescriptor) -> bool:
    """Whether two descriptors may be of one state. Functions are not compared: they may be made anew each time."""
    if known.ttl != descriptor.ttl or str(known) != str(descriptor):
        return False
    if isinstance(known, ValueStateDescriptor) and isinstance(known.type, PickleType):
        return pickle(known.default) == pickle(cast(ValueStateDescriptor, descriptor).default)
    return _shown(known) == _shown(descriptor)


def _shown(descriptor: StateDescriptor) -> str:
    """What is compared, but for pickled defaults, which may show their address."""
    more = {name: getattr(descriptor, name) for name in ("built_in", "default") if hasattr(descriptor, name)}
    return f"{descriptor}, time to live {descriptor.ttl}" + "".join(f", {name} {part!r}" for name, part in more.items())
