"""The choices of a time to live: what renews a life, who sees expired values, and how these are deleted.

Source: ``StateTtlConfig`` of Flink and PyFlink 2.3, with Java's checks, which PyFlink leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from keygroups.state.durations import Duration
from keygroups.state.errors import StateError

THIRTY_DAYS: Final = Duration.of_days(30)
"""Flink's default for merging a file for expired values alone."""


class UpdateType(Enum):
    """What renews the life of a value."""

    Disabled = 0
    """Nothing expires."""
    OnCreateAndWrite = 1
    """Writing it."""
    OnReadAndWrite = 2
    """Writing it, and reading it while it lives."""


class StateVisibility(Enum):
    """Whether a value that has expired, but is still stored, can be read."""

    ReturnExpiredIfNotCleanedUp = 0
    """Once: the read deletes it."""
    NeverReturnExpired = 1


class TtlTimeCharacteristic(Enum):
    """Which clock a life is measured by. Flink has only this one."""

    ProcessingTime = 0


@dataclass(frozen=True)
class CleanupStrategies:
    """Which strategies a state has.

    Args:
        full_snapshot: Leave expired values out of a snapshot that has the whole state.
        incremental: Delete them a few at a time, or None.
        compact_filter: Leave them out when files are merged, or None.
        in_background: Use the other two with their defaults where they are not set.
    """

    @dataclass(frozen=True)
    class IncrementalCleanupStrategy:
        """Look at a few more values at each access.

        Args:
            cleanup_size: How many values at a time.
            run_cleanup_for_each_record: At each row of the input too, whether or not it touches the state.
        """

        cleanup_size: int = 5
        run_cleanup_for_each_record: bool = False

        def __post_init__(self) -> None:
            """Refuse a step that would look at nothing."""
            if self.cleanup_size <= 0:
                raise StateError(
                    "incremental cleanup looks at no values", expected="a cleanup_size above 0", found=self.cleanup_size
                )

        def get_cleanup_size(self) -> int:
            """Give how many values are looked at a time."""
            return self.cleanup_size

        def run_cleanup_for_every_record(self) -> bool:
            """Tell whether each row of the input makes a step."""
            return self.run_cleanup_for_each_record

    @dataclass(frozen=True)
    class RocksdbCompactFilterCleanupStrategy:
        """Leave expired values out when files are merged.

        Args:
            query_time_after_num_entries: Flink reads the clock anew after so many entries. A batch here has one time.
            periodic_compaction_time: After this time a file is merged again for expired values alone; 0 for never.
        """

        query_time_after_num_entries: int = 1000
        periodic_compaction_time: Duration = THIRTY_DAYS

        def get_query_time_after_num_entries(self) -> int:
            """Give after how many entries Flink reads the clock anew."""
            return self.query_time_after_num_entries

        def get_periodic_compaction_time(self) -> Duration:
            """Give after which time a file is merged for expired values alone."""
            return self.periodic_compaction_time

    full_snapshot: bool = False
    incremental: IncrementalCleanupStrategy | None = None
    compact_filter: RocksdbCompactFilterCleanupStrategy | None = None
    in_background: bool = True

    def is_cleanup_in_background(self) -> bool:
        """Tell whether strategies that are not set run with their defaults."""
        return self.in_background

    def in_full_snapshot(self) -> bool:
        """Tell whether snapshots of the whole state leave expired values out."""
        return self.full_snapshot

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        """Give the strategy that is set, else the default of the background, else None."""
        return self.incremental or (self.IncrementalCleanupStrategy() if self.in_background else None)

    def get_rocksdb_compact_filter_cleanup_strategy(self) -> RocksdbCompactFilterCleanupStrategy | None:
        """Give the strategy that is set, else the default of the background, else None."""
        return self.compact_filter or (self.RocksdbCompactFilterCleanupStrategy() if self.in_background else None)


NO_STRATEGIES: Final = CleanupStrategies()
"""None is set: those of the background run with their defaults."""
