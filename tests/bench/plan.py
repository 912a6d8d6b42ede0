"""What is measured, at which sizes, in which order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True)
class Job:
    """One measurement: one part, one provider, in one fresh process.

    Attributes:
        part: Function of ``worker.py`` that measures.
        provider: Name of the provider.
        folder: Where checkpoints and local files of the job go.
        heap: Largest size of the JVM heap.
        keys: Keys in the store.
        value_longs: Longs in a value.
        rows: Rows of one batch.
        rounds: Batches that are measured.
        warm_keys: Keys of the small store that warms the JIT compiler up.
        round: Number of this repetition.
        keep: Whether later jobs need the folder.
        version: Versions to recover, by checkpoint.
        input: Folder with the files of the streaming query.
    """

    part: str
    provider: str
    folder: Path
    heap: str
    keys: int = 0
    value_longs: int = 1
    rows: int = 0
    rounds: int = 0
    warm_keys: int = 0
    round: int = 0
    keep: bool = False
    version: dict[str, int] = field(default_factory=dict)
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
        return cls(**{**values, "folder": Path(values["folder"]), "input": Path(values["input"])})


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run: keys and rows are counts, ``warm_keys`` those of the warm-up store."""

    small_keys: int = 500_000
    small_rounds: int = 5
    big_keys: int = 5_000_000
    big_rounds: int = 3
    update_rows: int = 500_000
    warm_keys: int = 100_000
    commit_rows: int = 10_000
    commits: int = 100
    recovery_updates: int = 12  # RocksDB and the in-memory provider take a snapshot after 10 versions
    query_keys: int = 1_000_000
    query_batches: int = 10
    query_warm_batches: int = 4
    operator_keys: int = 200_000
    python_keys: int = 10_000
    map_keys: int = 1_000
    operator_batches: int = 8
    s3_keys: int = 10_000
    s3_batches: int = 8
    repetitions: int = 2


QUICK: Final = Sizes(
    small_keys=20_000,
    small_rounds=2,
    big_keys=20_000,
    update_rows=10_000,
    warm_keys=5_000,
    commit_rows=1_000,
    commits=20,
    query_keys=20_000,
    query_batches=4,
    query_warm_batches=1,
    operator_keys=2_000,
    python_keys=200,
    map_keys=20,
    operator_batches=4,
    s3_keys=200,
    s3_batches=4,
    repetitions=1,
)

VALUE_LONGS: Final = (1, 12)
"""Columns of the two kinds of value: UnsafeRows of 16 and of 104 bytes."""

Run = Callable[[Job], dict[str, Any]]
Part = Callable[[Run, Job, Sizes, Sequence[str]], None]


def _turns(providers: Sequence[str], turn: int) -> Iterator[str]:
    """Give the providers in an order that differs from turn to turn, so that none always goes first."""
    shift = turn % len(providers)
    yield from [*providers[shift:], *providers[:shift]]


def spi(run: Run, base: Job, sizes: Sizes, providers: Sequence[str]) -> None:
    """Measure what a row costs, for each size of store and value."""
    cases = [(keys, longs) for keys in sorted({sizes.small_keys, sizes.big_keys}) for longs in VALUE_LONGS]
    for turn, (keys, longs) in enumerate(cases):
        rounds = sizes.small_rounds if keys == sizes.small_keys else sizes.big_rounds
        rows = min(sizes.update_rows, keys)
        for provider in _turns(providers, turn):
            run(replace(base, part="rows", provider=provider, keys=keys, value_longs=longs, rows=rows, rounds=rounds))


def commit(run: Run, base: Job, sizes: Sizes, providers: Sequence[str]) -> None:
    """Measure the latency of small commits, each provider more than once."""
    job = replace(base, part="commits", keys=sizes.small_keys, rows=sizes.commit_rows, rounds=sizes.commits)
    for turn in range(sizes.repetitions):
        for provider in _turns(providers, turn):
            run(replace(job, provider=provider, round=turn))


def recovery(run: Run, base: Job, sizes: Sizes, providers: Sequence[str]) -> None:
    """Leave a big store behind, then recover it in fresh processes, so that no local file is left from before."""
    job = replace(base, keys=sizes.big_keys, rows=sizes.commit_rows, rounds=sizes.recovery_updates, keep=True)
    for provider in providers:
        job = replace(job, provider=provider, folder=base.folder / provider)
        left = run(replace(job, part="prepare"))
        job = replace(job, version=left.get("version", {}))
        if job.version:
            for turn in range(sizes.repetitions):
                run(replace(job, part="recover_settled", round=turn))
            run(replace(job, part="recover_cold"))
            run(replace(job, part="recover_plain"))


def memory(run: Run, base: Job, sizes: Sizes, providers: Sequence[str]) -> None:
    """Weigh a stored row, for each size of value."""
    for turn, longs in enumerate(VALUE_LONGS):
        for provider in _turns(providers, turn):
            job = replace(base, part="memory", provider=provider, keys=sizes.big_keys, value_longs=longs)
            run(replace(job, rows=sizes.commit_rows))


def query(run: Run, base: Job, sizes: Sizes, providers: Sequence[str]) -> None:
    """Run the streaming query with each provider in turn, and the batch job that is its floor."""
    job = replace(base, keys=sizes.query_keys, rows=sizes.query_keys, rounds=sizes.query_batches)
    for turn in range(sizes.repetitions):
        for provider in _turns(providers, turn):
            run(replace(job, part="query", provider=provider, round=turn))
        run(replace(job, part="floor", provider=providers[0], round=turn))


def operators(run: Run, base: Job, sizes: Sizes, providers: Sequence[str]) -> None:
    """Run a query of each stateful operator; Spark runs transformWithState on no in-memory provider."""
    keys = dict.fromkeys(("sessions", "join"), sizes.operator_keys)
    keys |= dict.fromkeys(("counts", "appends"), sizes.python_keys) | {"entries": sizes.map_keys}
    for turn, (part, count) in enumerate(keys.items()):
        source = base.input.with_name(f"operators-{count}-{sizes.operator_batches}")
        job = replace(base, part=part, keys=count, rows=count, rounds=sizes.operator_batches, input=source)
        for provider in _turns(providers, turn):
            if provider != "hdfs" or part in ("sessions", "join"):
                run(replace(job, provider=provider))


def s3(run: Run, base: Job, sizes: Sizes, providers: Sequence[str]) -> None:
    """Run a streaming query whose checkpoint is on S3."""
    source = base.input.with_name(f"input-{sizes.s3_keys}-{sizes.s3_batches}")
    job = replace(base, part="s3", keys=sizes.s3_keys, rows=sizes.s3_keys, rounds=sizes.s3_batches, input=source)
    for provider in providers:
        run(replace(job, provider=provider))


PARTS: Final[dict[str, Part]] = {
    "spi": spi,
    "commit": commit,
    "recovery": recovery,
    "memory": memory,
    "e2e": query,
    "operators": operators,
    "s3": s3,
}
