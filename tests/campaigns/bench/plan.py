"""What a job is, and the sizes of a run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final


@dataclass(frozen=True)
class Job:
    """One measurement: one part, one provider, in one fresh process.

    Attributes:
        part: Function of ``worker.py`` that measures.
        provider: Name of the provider.
        folder: Where local files of the job go.
        heap: Largest size of the JVM heap.
        keys: Keys in the store.
        value_longs: Longs in a value.
        rows: Rows of one batch.
        gets: Keys that are read in a round; 0 for all.
        rounds: Batches that are measured.
        warm_keys: Keys of the small store that warms the JIT compiler up.
        round: Number of this repetition.
        keep: Whether later jobs need the folder.
        limit: Bytes of memory for all processes together; 0 for all that the machine has.
        read_ahead: Of the disk, in KB; 0 for the machine's own.
        cold: Whether the page cache is dropped first.
        variant: Second choice beside the provider, such as a file manager.
        place: Server that holds the checkpoint, ``hdfs`` or ``s3``; empty for the local disk.
        url: Folder of the checkpoint, where it is not the job's folder.
        conf: Settings of the session beyond those of the provider.
        jars: Class path beyond that of the provider.
        home: Checkout whose provider is measured.
        input: Folder with the files of the streaming query.
    """

    part: str
    provider: str
    folder: Path
    heap: str
    keys: int = 0
    value_longs: int = 1
    rows: int = 0
    gets: int = 0
    rounds: int = 0
    warm_keys: int = 0
    round: int = 0
    keep: bool = False
    limit: int = 0
    read_ahead: int = 0
    cold: bool = False
    variant: str = ""
    place: str = ""
    url: str = ""
    conf: dict[str, str] = field(default_factory=dict)
    jars: list[str] = field(default_factory=list)
    home: Path = Path()
    input: Path = Path()

    def with_sizes(self, keys: int, rows: int) -> Job:
        """Give the same job over another number of keys and rows."""
        return replace(self, keys=keys, rows=rows)

    def to_json(self) -> str:
        """Write the job as the worker's argument."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Read the worker's argument."""
        values = json.loads(text)
        return cls(**{**values, **{name: Path(values[name]) for name in ("folder", "home", "input")}})


@dataclass(frozen=True)
class Sizes:
    """Sizes of a full run: keys and rows are counts, ``warm_keys`` those of the warm-up store."""

    small_keys: int = 500_000
    small_rounds: int = 3
    big_keys: int = 5_000_000
    big_gets: int = 1_000_000
    big_rounds: int = 2
    update_rows: int = 500_000
    warm_keys: int = 100_000
    commit_rows: int = 10_000
    commits: int = 100
    grown_keys: tuple[int, ...] = (1_000_000, 10_000_000, 100_000_000)
    merged_keys: int = 10_000_000
    recovery_updates: int = 12  # RocksDB and the in-memory provider take a snapshot after 10 versions
    remote_keys: tuple[int, ...] = (5_000_000, 50_000_000)
    remote_updates: int = 2
    memory_keys: int = 2_000_000
    query_keys: int = 1_000_000
    query_batches: int = 24
    query_warm_batches: int = 12  # after 4 batches, one took 1.1 times as long without state, and 1.2 times with ours
    dedupe_rows: int = 276_000
    dedupe_batches: int = 24  # what snapshots and merges upload is in the checkpoint too, not only that of commits
    spread_keys: int = 200_000
    spread_rows: int = 100_000
    spread_partitions: int = 200
    spread_batches: int = 24
    spread_warm_batches: int = 12  # with 200 tasks a batch, Spark's compilers are busy for as long
    stores: int = 2_000
    stores_batches: int = 3
    operator_keys: int = 200_000
    python_keys: int = 10_000
    map_keys: int = 1_000
    operator_batches: int = 6
    operator_warm_batches: int = 2
    s3_keys: int = 10_000
    s3_batches: int = 24
    s3_warm_batches: int = 12  # Spark's providers delete nothing before their first snapshot, after 10 versions
    larger_keys: int = 3_200_000
    larger_fills: int = 8
    larger_rows: int = 100_000
    larger_updates: int = 5
    larger_bytes: int = 2560 << 20
    budget_bytes: int = 256 << 20
    budget_few_keys: int = 4_000
    largest_keys: int = 10_000_000
    largest_fills: int = 25
    restart_keys: int = 1_000_000
    restart_rows: int = 10_000
    restart_updates: int = 12
    repetitions: int = 3


HEAP: Final = "4g"
"""Largest JVM heap, for every provider."""

VALUE_LONGS: Final = (1, 12)
"""Columns of the two kinds of value: UnsafeRows of 16 and of 104 bytes."""
