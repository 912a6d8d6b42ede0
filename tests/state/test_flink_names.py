"""Code that was written for PyFlink: its names of classes and arguments, and numpy's numbers as times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
from pyspark.sql import Row
from pyspark.sql import types as spark

from keygroups.functions import Context, KeyedProcessFunction, OnTimerContext, OutputTag, TimeDomain
from keygroups.state import (
    AggregatingStateDescriptor,
    Duration,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SortedMapStateDescriptor,
    StateError,
    StateTtlConfig,
    ValueStateDescriptor,
)
from keygroups.state.types import parse_type
from keygroups.streams.main_rows import main_parts
from keygroups.testing import KeyedHarness


class Wakes(KeyedProcessFunction):
    """Annotated as in PyFlink; its times are of a type that the test chooses."""

    def __init__(self, number: type[Any]) -> None:
        self.number = number

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_event_time_timer(self.number(value.at))
        timers.register_processing_time_timer(self.number(value.at))
        timers.register_event_time_timer(self.number(value.at + 1))
        timers.delete_event_time_timer(self.number(value.at + 1))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield timestamp, type(timestamp), ctx.time_domain()


def test_contexts_belong_to_the_function() -> None:
    assert KeyedProcessFunction.Context is Context
    assert KeyedProcessFunction.OnTimerContext is OnTimerContext


@pytest.mark.parametrize("number", [int, np.int64, np.int32, np.uint8])
def test_times_of_timers_are_whole_numbers_of_any_kind(number: type[Any]) -> None:
    harness = KeyedHarness(Wakes(number), "key")
    harness.process({"key": "a", "at": 7})
    harness.advance_watermark(10)
    harness.advance_processing_time(10)
    assert harness.output == [(7, int, TimeDomain.EVENT_TIME), (7, int, TimeDomain.PROCESSING_TIME)]


@pytest.mark.parametrize("number", [float, str, bool, np.float64, np.bool_])
def test_other_times_of_timers_are_refused(number: type[Any]) -> None:
    harness = KeyedHarness(Wakes(number), "key")
    with pytest.raises(StateError, match="a timer has a wrong time"):
        harness.process({"key": "a", "at": 7})


def test_arguments_have_the_names_of_pyflink() -> None:
    made: Any = {
        "value": (ValueStateDescriptor, {"value_type_info": "bigint"}),
        "list": (ListStateDescriptor, {"elem_type_info": "bigint"}),
        "map": (MapStateDescriptor, {"key_type_info": "string", "value_type_info": "bigint"}),
        "sorted map": (SortedMapStateDescriptor, {"key_type_info": "string", "value_type_info": "bigint"}),
        "reducing": (ReducingStateDescriptor, {"reduce_function": "sum", "type_info": "bigint"}),
        "aggregating": (AggregatingStateDescriptor, {"agg_function": "count", "state_type_info": "bigint"}),
    }
    for kind, (descriptor, arguments) in made.items():
        assert repr(descriptor("s", **arguments)).startswith(f"{kind} state 's' of ")
        assert descriptor("s", **arguments).type == spark.LongType()
        assert type(descriptor(name="s", **arguments)) is descriptor
    tag: Any = OutputTag
    assert tag("late", type_info="bigint") == OutputTag("late", "bigint")
    assert ValueStateDescriptor("s", type="int", default=1).default == 1


def test_an_argument_has_one_of_its_names() -> None:
    descriptor: Any = ValueStateDescriptor
    with pytest.raises(StateError, match=r"one argument under two names .expected value_type_info or type"):
        descriptor("s", type="int", value_type_info="bigint")
    with pytest.raises(TypeError, match="unexpected keyword argument 'type_infos'"):
        descriptor("s", type_infos="int")


def test_strategies_are_nested() -> None:
    strategies = StateTtlConfig.CleanupStrategies
    config = StateTtlConfig.new_builder(Duration.of_hours(1)).cleanup_incrementally(7, True).build()
    cleanup = config.get_cleanup_strategies()
    assert cleanup.get_incremental_cleanup_strategy() == strategies.IncrementalCleanupStrategy(7, True)
    filtered = strategies.RocksdbCompactFilterCleanupStrategy(1000, Duration.of_days(30))
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy() == filtered


def test_a_tag_of_none_is_refused() -> None:
    """Flink refuses it, too. Where the output has two columns, the pair is a row: its first column is null."""
    one, two = (cast(spark.StructType, parse_type(ddl)) for ddl in ("n bigint", "user string, n bigint"))
    with pytest.raises(StateError, match=r"'uid' gave a wrong row .expected struct<n:bigint>"):
        main_parts(one, "uid")((None, 5))
    assert tuple(main_parts(two, "uid")((None, 5))) == (None, 5)
