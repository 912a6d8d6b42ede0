"""The short form of a run: each measurement once, at one size, beside the faster setting of RocksDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from campaigns.bench.parts import PARTS
from campaigns.bench.plan import Job, Sizes

SHORT: Final = Sizes(
    small_keys=250_000,
    update_rows=250_000,
    big_keys=1_500_000,
    grown_keys=(1_000_000, 10_000_000),
    merged_keys=4_000_000,
    remote_keys=(1_500_000,),
    memory_keys=700_000,
    query_keys=400_000,
    query_batches=12,  # one snapshot of the peers in 12 batches, as in 24 of a full run there are two
    query_warm_batches=6,
    dedupe_rows=138_000,
    dedupe_batches=12,
    spread_keys=100_000,
    spread_rows=50_000,
    spread_partitions=100,
    spread_batches=6,
    spread_warm_batches=3,
    stores=300,
    stores_batches=2,
    operator_keys=80_000,
    python_keys=4_000,
    map_keys=400,
    operator_batches=5,
    s3_batches=14,
    s3_warm_batches=4,  # what counts are ten batches, in which the peers take one snapshot
    larger_keys=2_000_000,
    larger_fills=5,
    larger_updates=2,
    restart_keys=500_000,
    restart_updates=5,
    repetitions=1,
)

SHORT_PARTS: Final = [part for part in PARTS if part != "largest"]  # which is `larger` at a second size

_COUNTED: Final = frozenset({"partitions", "join", "entries", "local", "hdfs"})
"""Parts, queries and places of restarts in which RocksDB is faster with the count of keys: results of 0191208a66."""
_OF_TWO_SIZES: Final = ("grown", "budget")
"""Parts of Keygroups alone that compare two sizes."""


def shortened(part: str, jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs of a part that a short run has: the first of each measurement and provider, and no floor."""
    firsts: dict[object, Job] = {}
    two_settings = any(job.provider == "rocksdb-untracked" for job in jobs)
    for job in jobs:
        slower = two_settings and job.provider == _slower_rocksdb(part, job)
        if not slower and not job.part.endswith("_empty"):
            firsts.setdefault(_measurement(part, job), job)
    return list(firsts.values())


def _slower_rocksdb(part: str, job: Job) -> str:
    return "rocksdb" if _COUNTED.isdisjoint((part, job.part, job.variant)) else "rocksdb-untracked"


def _measurement(part: str, job: Job) -> object:
    if part == "profile":
        return part  # of one query
    return job.part, job.place, job.provider, job.keys if part in _OF_TWO_SIZES else 0
