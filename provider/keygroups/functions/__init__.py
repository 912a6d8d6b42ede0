"""What users write: functions over a keyed stream, and what these are given.

Source: ``pyflink.datastream.functions`` of PyFlink 2.3.
"""

from keygroups.functions.base import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedBatchFunction,
    KeyedProcessFunction,
    MapFunction,
    TimedFunction,
)
from keygroups.functions.context import (
    BatchContext,
    Context,
    KeyedStateStore,
    MetricGroup,
    OnTimerContext,
    RuntimeContext,
)
from keygroups.functions.output_tag import OutputTag
from keygroups.functions.timers import TimeDomain, TimerService
from keygroups.state.batch_keys import BatchKeys
from keygroups.state.folding import AggregateFunction, FoldFunction, ReduceFunction

__all__ = [
    "AggregateFunction",
    "BatchContext",
    "BatchKeys",
    "Context",
    "FilterFunction",
    "FlatMapFunction",
    "FoldFunction",
    "Function",
    "KeyedBatchFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "MetricGroup",
    "OnTimerContext",
    "OutputTag",
    "ReduceFunction",
    "RuntimeContext",
    "TimeDomain",
    "TimedFunction",
    "TimerService",
]
