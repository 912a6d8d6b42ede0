"""What the differential suite runs: a query, its input, and settings that must not change an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from pyspark.sql import DataFrame

from support.events import Shape

CHECKPOINT_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_OURS = "spark.sql.streaming.stateStore.keyGroups."
_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"

TIGHT: Mapping[str, str] = {
    f"{_OURS}overlayBytes": "65536",
    f"{_OURS}blockBytes": "4096",
    f"{_OURS}compactionFanout": "2",
    f"{_OURS}maxSegments": "4",
}
"""The smallest sizes our provider takes: full write buffers, many blocks, a compaction every few batches."""


@dataclass(frozen=True)
class Case:
    """One streaming query and its input.

    Attributes:
        name: Name of the test case.
        build: Makes the query from as many streams of events as `inputs` says.
        mode: Output mode.
        conf: Spark settings of the query.
        inputs: Number of streams.
        shape: Size of each stream.
        providers: The only providers that run it, where not all do.
        history: Whether to read the state after a batch in the middle too; joins have four stores to read.
    """

    name: str
    build: Callable[..., DataFrame]
    mode: str = "append"
    conf: Mapping[str, str] = field(default_factory=dict)
    inputs: int = 1
    shape: Shape = field(default_factory=Shape)
    providers: tuple[str, ...] = ()
    history: bool = True


def random_settings(rng: Random) -> dict[str, str]:
    """Draws settings under which every answer must be the same.

    Spark's own file manager starts two processes per rename where Hadoop has no native library, so half of the cases do
    without it.
    """
    return {
        "spark.sql.shuffle.partitions": rng.choice(["2", "2", "3", "5"]),
        CHECKPOINT_FORMAT: rng.choice(["1", "2"]),
        **rng.choice([{}, {"spark.sql.streaming.checkpointFileManagerClass": _MANAGER}]),
        **rng.choice([{}, TIGHT]),
    }
