"""The configuration of a time to live: Flink's names, defaults and checks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from keygroups.state.durations import Duration, Length, Time, milliseconds_of
from keygroups.state.errors import StateError
from keygroups.state.ttl import StateTtlConfig

HOUR = Duration.of_hours(1)


@pytest.mark.parametrize(
    ("length", "millis"),
    [
        (Duration.of_days(2), 172_800_000),
        (Duration.of_minutes(2), 120_000),
        (Duration.of_seconds(2), 2_000),
        (Duration.of_millis(2), 2),
        (Time.days(1), 86_400_000),
        (Time.hours(1), 3_600_000),
        (Time.minutes(1), 60_000),
        (Time.seconds(1), 1_000),
        (Time.milliseconds(1), 1),
        (timedelta(days=1, microseconds=1_999), 86_400_001),
    ],
)
def test_lengths_of_time(length: Length, millis: int) -> None:
    assert milliseconds_of(length) == millis
    assert StateTtlConfig.new_builder(length).build().get_ttl() == Time.milliseconds(millis)


@pytest.mark.parametrize("length", [1000, None, "1 hour"])
def test_a_number_has_no_unit(length: object) -> None:
    with pytest.raises(StateError, match=r"not a length of time .*found .*: write Duration"):
        StateTtlConfig.new_builder(cast(Any, length))


def test_defaults() -> None:
    """Rows TT1, TT2, TT3, TT10, TT11."""
    config = StateTtlConfig.new_builder(HOUR).build()
    assert config.is_enabled()
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    cleanup = config.get_cleanup_strategies()
    assert cleanup.is_cleanup_in_background()
    assert not cleanup.in_full_snapshot()
    incremental = cleanup.get_incremental_cleanup_strategy()
    assert incremental
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (5, False)
    filtered = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert filtered
    assert filtered.get_query_time_after_num_entries() == 1000
    assert filtered.get_periodic_compaction_time() == Duration.of_days(30)


def test_each_method_of_the_builder() -> None:
    """Row TT16."""
    builder = StateTtlConfig.new_builder(HOUR)
    assert builder.update_ttl_on_read_and_write().build().update_type is StateTtlConfig.UpdateType.OnReadAndWrite
    assert builder.update_ttl_on_create_and_write().build().update_type is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert not builder.set_update_type(StateTtlConfig.UpdateType.Disabled).build().is_enabled()
    visible = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    assert builder.return_expired_if_not_cleaned_up().build().state_visibility is visible
    assert builder.never_return_expired().build().state_visibility is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert builder.set_state_visibility(visible).build().state_visibility is visible
    assert builder.use_processing_time() is builder
    assert builder.set_ttl(Duration.of_seconds(1)).build().ttl == 1000
    cleanup = (
        builder.cleanup_full_snapshot()
        .cleanup_incrementally(7, run_cleanup_for_every_record=True)
        .cleanup_in_rocksdb_compact_filter(10, timedelta(hours=2))
        .build()
        .get_cleanup_strategies()
    )
    assert cleanup.in_full_snapshot()
    incremental = cleanup.get_incremental_cleanup_strategy()
    filtered = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert incremental
    assert filtered
    assert (incremental.cleanup_size, incremental.run_cleanup_for_each_record) == (7, True)
    assert (filtered.query_time_after_num_entries, filtered.periodic_compaction_time.to_millis()) == (10, 7_200_000)


def test_without_background_only_what_is_set_runs() -> None:
    """Row TT12."""
    builder = StateTtlConfig.new_builder(HOUR).disable_cleanup_in_background()
    cleanup = builder.build().get_cleanup_strategies()
    assert cleanup.get_incremental_cleanup_strategy() is None
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy() is None
    cleanup = builder.cleanup_in_rocksdb_compact_filter().build().get_cleanup_strategies()
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy()


@pytest.mark.parametrize("millis", [0, -1])
def test_a_life_is_positive(millis: int) -> None:
    """Row TT8: here when it is built, not in the running job."""
    builder = StateTtlConfig.new_builder(Duration.of_millis(millis))
    with pytest.raises(StateError, match=f"expected 1 ms or more, found {millis} ms"):
        builder.build()


def test_incremental_cleanup_looks_at_something() -> None:
    """Row TT8; the numbers of the compaction filter are not checked, as in Flink."""
    with pytest.raises(StateError, match="found 0"):
        StateTtlConfig.new_builder(HOUR).cleanup_incrementally(0, run_cleanup_for_every_record=False)
    StateTtlConfig.new_builder(HOUR).cleanup_in_rocksdb_compact_filter(-1).build()


def test_only_processing_time() -> None:
    """Row TT3."""
    with pytest.raises(StateError, match="measured in processing time"):
        StateTtlConfig.new_builder(HOUR).set_ttl_time_characteristic(cast(Any, "EventTime"))


@pytest.mark.parametrize(("ttl", "now", "expired"), [(100, 99, False), (100, 100, True), (2**63 - 1, 2**62, False)])
def test_a_value_expires_at_its_time(ttl: int, now: int, expired: bool) -> None:
    """Row TT4: equal is expired, and a life of Java's greatest Long does not overflow."""
    assert StateTtlConfig(ttl).has_expired(0, now) is expired
    assert StateTtlConfig(2**63 - 1).has_expired(2**62, 2**62) is False
