"""States of a key: their descriptors, types and times to live.

Source: ``pyflink.datastream.state`` of PyFlink 2.3.
"""

from keygroups.rows.pickled import PickleType
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
from keygroups.state.durations import Duration, Time
from keygroups.state.errors import StateError
from keygroups.state.folding import AggregateFunction, FoldFunction, ReduceFunction
from keygroups.state.ttl import StateTtlConfig

__all__ = [
    "AggregateFunction",
    "AggregatingStateDescriptor",
    "Duration",
    "FoldFunction",
    "FoldingStateDescriptor",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "PickleType",
    "ReduceFunction",
    "ReducingStateDescriptor",
    "SortedMapStateDescriptor",
    "StateDescriptor",
    "StateError",
    "StateTtlConfig",
    "Time",
    "ValueStateDescriptor",
]
