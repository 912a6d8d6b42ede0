"""Time to live of a state: how long its values live, and how expired ones go.

Source: ``StateTtlConfig`` of Flink and PyFlink 2.3, with Java's checks, which PyFlink leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from keygroups.state import ttl_choices as choices
from keygroups.state.durations import Duration, Length, Time, milliseconds_of
from keygroups.state.errors import StateError


class StateTtlConfigBuilder:
    """Builds a ``StateTtlConfig``; each method gives the builder back."""

    def __init__(self, ttl: Length) -> None:
        """Begin with a life and Flink's defaults."""
        self._ttl: Length = ttl
        self._update_type = choices.UpdateType.OnCreateAndWrite
        self._visibility = choices.StateVisibility.NeverReturnExpired
        self._cleanup = choices.NO_STRATEGIES
        self.set_ttl(ttl)

    def set_update_type(self, update_type: choices.UpdateType) -> StateTtlConfigBuilder:
        """Set what renews a life."""
        self._update_type = update_type
        return self

    def update_ttl_on_create_and_write(self) -> StateTtlConfigBuilder:
        """Only writing renews a life (default)."""
        return self.set_update_type(choices.UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> StateTtlConfigBuilder:
        """Reading renews a life too."""
        return self.set_update_type(choices.UpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: choices.StateVisibility) -> StateTtlConfigBuilder:
        """Set whether expired values can be read."""
        self._visibility = state_visibility
        return self

    def return_expired_if_not_cleaned_up(self) -> StateTtlConfigBuilder:
        """An expired value can be read once while it is stored."""
        return self.set_state_visibility(choices.StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> StateTtlConfigBuilder:
        """An expired value reads as absent (default)."""
        return self.set_state_visibility(choices.StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(self, characteristic: choices.TtlTimeCharacteristic) -> StateTtlConfigBuilder:
        """Set the clock: there is only processing time.

        Raises:
            StateError: It is another one.
        """
        if characteristic is not choices.TtlTimeCharacteristic.ProcessingTime:
            raise StateError(
                "a time to live is measured in processing time", expected="ProcessingTime", found=repr(characteristic)
            )
        return self

    def use_processing_time(self) -> StateTtlConfigBuilder:
        """Measure in processing time (default)."""
        return self.set_ttl_time_characteristic(choices.TtlTimeCharacteristic.ProcessingTime)

    def cleanup_full_snapshot(self) -> StateTtlConfigBuilder:
        """Leave expired values out of a snapshot that has the whole state."""
        self._cleanup = replace(self._cleanup, full_snapshot=True)
        return self

    def cleanup_incrementally(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> StateTtlConfigBuilder:
        """Delete expired values a few at a time.

        Raises:
            StateError: The number is not above 0.
        """
        strategy = choices.CleanupStrategies.IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record)
        self._cleanup = replace(self._cleanup, incremental=strategy)
        return self

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int = 1000, periodic_compaction_time: Length | None = None
    ) -> StateTtlConfigBuilder:
        """Leave expired values out when files are merged; the name is Flink's, the backend need not be RocksDB."""
        given = periodic_compaction_time
        periodic = choices.THIRTY_DAYS if given is None else Duration(milliseconds_of(given))
        strategy = choices.CleanupStrategies.RocksdbCompactFilterCleanupStrategy(query_time_after_num_entries, periodic)
        self._cleanup = replace(self._cleanup, compact_filter=strategy)
        return self

    def disable_cleanup_in_background(self) -> StateTtlConfigBuilder:
        """Use no strategy that is not set; a read still deletes what it finds expired."""
        self._cleanup = replace(self._cleanup, in_background=False)
        return self

    def set_ttl(self, ttl: Length) -> StateTtlConfigBuilder:
        """Set the life.

        Raises:
            StateError: It is no length of time.
        """
        milliseconds_of(ttl)
        self._ttl = ttl
        return self

    def build(self) -> StateTtlConfig:
        """Give the configuration.

        Raises:
            StateError: The life is not longer than 0.
        """
        return StateTtlConfig(milliseconds_of(self._ttl), self._update_type, self._visibility, self._cleanup)


@dataclass(frozen=True)
class StateTtlConfig:
    """How long the values of a state live. Build it with ``StateTtlConfig.new_builder(Duration.of_hours(1)).build()``.

    A value expires when ``written + ttl <= now``; list elements and map entries each have a life of their own.

    Args:
        ttl: Life in milliseconds.
        update_type: What renews it.
        state_visibility: Whether expired values can be read.
        cleanup_strategies: How they are deleted.

    Raises:
        StateError: The life is not longer than 0.
    """

    UpdateType = choices.UpdateType
    StateVisibility = choices.StateVisibility
    TtlTimeCharacteristic = choices.TtlTimeCharacteristic
    CleanupStrategies = choices.CleanupStrategies
    Builder = StateTtlConfigBuilder

    ttl: int
    update_type: choices.UpdateType = choices.UpdateType.OnCreateAndWrite
    state_visibility: choices.StateVisibility = choices.StateVisibility.NeverReturnExpired
    cleanup_strategies: choices.CleanupStrategies = choices.NO_STRATEGIES

    def __post_init__(self) -> None:
        """Check the life, as Java's builder does."""
        if self.ttl <= 0 and self.is_enabled():
            raise StateError("a time to live is not positive", expected="1 ms or more", found=f"{self.ttl} ms")

    @staticmethod
    def new_builder(ttl: Length) -> StateTtlConfigBuilder:
        """Begin a configuration.

        Args:
            ttl: A ``Duration``, a ``Time`` or a ``timedelta``.

        Raises:
            StateError: It is none of these.
        """
        return StateTtlConfigBuilder(ttl)

    def get_update_type(self) -> choices.UpdateType:
        """Give what renews a life."""
        return self.update_type

    def get_state_visibility(self) -> choices.StateVisibility:
        """Give whether expired values can be read."""
        return self.state_visibility

    def get_ttl(self) -> Time:
        """Give the life."""
        return Time.milliseconds(self.ttl)

    def get_ttl_time_characteristic(self) -> choices.TtlTimeCharacteristic:
        """Give the clock."""
        return choices.TtlTimeCharacteristic.ProcessingTime

    def is_enabled(self) -> bool:
        """Tell whether anything expires."""
        return self.update_type is not choices.UpdateType.Disabled

    def get_cleanup_strategies(self) -> choices.CleanupStrategies:
        """Give how expired values are deleted."""
        return self.cleanup_strategies

    def has_expired(self, written: int, now: int) -> bool:
        """Tell whether a value has expired.

        Args:
            written: When its life began, in milliseconds since 1970.
            now: The time, in the same unit.
        """
        return written + self.ttl <= now
