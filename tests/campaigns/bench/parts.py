"""The parts of a run: the jobs of each, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Any, Final

from campaigns.bench.plan import VALUE_LONGS, Job, Sizes
from campaigns.bench.providers import ABORTABLE, BASELINE, BOUNDED, EMPTY, OURS, PROVIDERS, SPARK_CACHE, memory_budget
from campaigns.bench.restart import MAINTENANCE, SNAPSHOT_AFTER
from campaigns.bench.s3_state import CONF as S3_CONF

Part = Callable[[Job, Sizes, Sequence[str]], Iterator[Job]]


def _alternating(jobs: Sequence[Job], repetitions: int, providers: Sequence[str]) -> Iterator[Job]:
    """Give each job for each provider, and all of that again: the providers take turns in going first."""
    for turn in range(repetitions if providers else 0):
        for number, job in enumerate(jobs):
            shift = (turn + number) % len(providers)
            for provider in (*providers[shift:], *providers[:shift]):
                yield replace(job, provider=provider, round=turn)


def _beside_floor(jobs: Sequence[Job], floor: Job, repetitions: int, providers: Sequence[str]) -> Iterator[Job]:
    """Do the same, with the query that has no state after each turn: an hour later, a host may be a third slower."""
    turns = groupby(_alternating(jobs, repetitions, providers), key=lambda job: job.round)
    for (_, turn), empty in zip(turns, _alternating([floor], repetitions, providers[:1]), strict=False):
        yield from turn
        yield empty


def spi(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Measure what a row costs, for each size of value in a small store, and in a big store."""
    rows = replace(base, part="rows", rows=sizes.update_rows)
    small = replace(rows, keys=sizes.small_keys, rounds=sizes.small_rounds)
    jobs = [replace(small, value_longs=longs) for longs in VALUE_LONGS]
    jobs.append(replace(rows, keys=sizes.big_keys, rounds=sizes.big_rounds, gets=sizes.big_gets))
    yield from _alternating(jobs, sizes.repetitions, providers)


def commit(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Measure the latency of small commits."""
    job = replace(base, part="commits", keys=sizes.small_keys, rows=sizes.commit_rows, rounds=sizes.commits)
    yield from _alternating([job], sizes.repetitions, providers)


def grown(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Measure the same small commits into a store of more and more keys: what a batch costs follows the batch."""
    job = replace(base, part="commits", rows=sizes.commit_rows, rounds=sizes.commits)
    ours = [name for name in providers if name == OURS]  # the others take tens of minutes to fill the largest
    jobs = [replace(job, keys=keys) for keys in sizes.grown_keys]
    jobs.append(replace(job, part="merging", keys=sizes.merged_keys))
    yield from _alternating(jobs, sizes.repetitions, ours)


def recovery(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Leave a big store behind, then recover it in other processes that have no local file of it."""
    job = replace(base, keys=sizes.big_keys, rows=sizes.commit_rows, rounds=sizes.recovery_updates, keep=True)
    left = {name: replace(job, provider=name, folder=base.folder / name) for name in providers}
    yield from (replace(job, part="prepare") for job in left.values())
    for recover in _alternating([replace(job, part="recover")], sizes.repetitions, providers):
        yield replace(recover, folder=left[recover.provider].folder)


def remote(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Leave stores on S3, then run a first batch on each in other processes that have no local file of it."""
    job = replace(base, place="s3", rows=sizes.commit_rows, rounds=sizes.remote_updates)
    for keys in sizes.remote_keys:
        chosen = providers if keys == sizes.remote_keys[0] else [name for name in providers if name == OURS]
        left = _alternating([replace(job, part="leave_store", keys=keys)], 1, chosen)
        measured = _alternating([replace(job, part="first_batch", keys=keys)], sizes.repetitions, chosen)
        yield from _with_file_manager(chain(left, measured))


def memory(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Weigh a stored row, for each size of value; RocksDB with Spark's small block cache."""
    weighed = [name for name in providers if name != "rocksdb-untracked"]
    job = replace(base, part="memory", keys=sizes.memory_keys, rows=sizes.commit_rows, conf=SPARK_CACHE)
    jobs = [replace(job, value_longs=longs) for longs in VALUE_LONGS]
    yield from _alternating(jobs, sizes.repetitions, weighed)


def query(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Run the streaming query with each provider in turn, and the same without state, which is its floor."""
    keys, batches = sizes.query_keys, sizes.query_batches
    job = replace(base, part="query", keys=keys, rows=keys, rounds=batches)
    yield from _beside_floor([job], _without_state(job, "query_empty"), sizes.repetitions, providers)


def dedupe(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Run a streaming query that keeps every row's key."""
    job = replace(base, part="dedupe", rows=sizes.dedupe_rows, rounds=sizes.dedupe_batches)
    yield from _alternating([job], sizes.repetitions, providers)


def partitions(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Run the streaming query over many small partitions."""
    job = replace(base, part="query", keys=sizes.spread_keys, rows=sizes.spread_rows, rounds=sizes.spread_batches)
    job = replace(job, conf={"spark.sql.shuffle.partitions": str(sizes.spread_partitions)})
    yield from _beside_floor([job], _without_state(job, "query_empty"), sizes.repetitions, providers)


def stores(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Run it over thousands of partitions, and count what they take of an executor."""
    job = replace(base, part="stores", keys=sizes.spread_keys, rows=sizes.spread_rows, rounds=sizes.stores_batches)
    job = replace(job, conf={"spark.sql.shuffle.partitions": str(sizes.stores)})
    yield from _alternating([job], sizes.repetitions, [name for name in providers if name != "rocksdb-untracked"])


def operators(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Run a query of each stateful operator; Spark runs transformWithState on no in-memory provider."""
    job = replace(base, rounds=sizes.operator_batches)
    scala = [job.with_sizes(sizes.operator_keys, sizes.operator_keys)] * 2
    jobs = [replace(job, part=part) for job, part in zip(scala, ("sessions", "join"), strict=True)]
    yield from _alternating(jobs, sizes.repetitions, providers)
    transforming = [name for name in providers if name != "hdfs"]
    yield from _alternating(_python_jobs(job, sizes), sizes.repetitions, transforming)


def profile(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Sample the threads that serve the state of transformWithState to Python."""
    job = replace(base, variant="sampled", rounds=sizes.operator_batches)
    yield from _alternating(_python_jobs(job, sizes), sizes.repetitions, [OURS] if OURS in providers else [])


def _python_jobs(job: Job, sizes: Sizes) -> list[Job]:
    keys = {"counts": sizes.python_keys, "appends": sizes.python_keys, "entries": sizes.map_keys}
    return [replace(job.with_sizes(count, count), part=part) for part, count in keys.items()]


def s3(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Run a streaming query whose checkpoint is on S3, with either file manager of Spark."""
    job = replace(base, part="s3", keys=sizes.s3_keys, rows=sizes.s3_keys, rounds=sizes.s3_batches)
    counted = [name for name in providers if name != "rocksdb-untracked"]
    managers: dict[str, dict[str, str]] = {"default": {}, "abortable": ABORTABLE}
    jobs = [replace(job, variant=name, conf={**S3_CONF, **conf}) for name, conf in managers.items()]
    yield from _alternating(jobs, sizes.repetitions, counted)


def larger(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Fill and update state that is larger than memory, on a disk with little read-ahead and on one with much."""
    jobs = [_larger(base, sizes, sizes.larger_keys, sizes.larger_fills, kilobytes) for kilobytes in (128, 8192)]
    yield from _beside_floor(jobs, _without_state(jobs[0], "larger_empty"), sizes.repetitions, _on_disk(providers))


def largest(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Do the same with three times the keys in the same memory."""
    jobs = [_larger(base, sizes, sizes.largest_keys, sizes.largest_fills, kilobytes) for kilobytes in (128, 8192)]
    yield from _alternating(jobs, sizes.repetitions, _on_disk(providers))


def budget(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Do it within a small budget of memory, and with few keys: what is above that is taken by the state."""
    job = _larger(base, sizes, sizes.larger_keys, sizes.larger_fills, 128)
    job = replace(job, part="budget", conf=memory_budget(sizes.budget_bytes))
    jobs = [job, job.with_sizes(sizes.budget_few_keys, sizes.budget_few_keys)]
    yield from _alternating(jobs, sizes.repetitions, [OURS] if OURS in providers else [])


def _larger(base: Job, sizes: Sizes, keys: int, fills: int, kilobytes: int) -> Job:
    job = replace(base, part="larger", heap="1g", limit=sizes.larger_bytes, keys=keys, value_longs=127, conf=BOUNDED)
    job = replace(job, gets=fills, rows=sizes.larger_rows, rounds=sizes.larger_updates)
    return replace(job, read_ahead=kilobytes, variant=f"{kilobytes} KB")


def _without_state(job: Job, part: str) -> Job:
    """The same on a provider that keeps nothing."""
    return replace(job, part=part, conf={**job.conf, **EMPTY})


def _on_disk(providers: Sequence[str]) -> list[str]:
    """Without the provider that has all state in memory."""
    return [name for name in providers if name in ("rocksdb", OURS)]


def restart(base: Job, sizes: Sizes, providers: Sequence[str]) -> Iterator[Job]:
    """Stop a query, and start it again in new processes on a machine whose page cache is empty."""
    job = replace(base, keys=sizes.restart_keys, rows=sizes.restart_rows, rounds=sizes.restart_updates)
    conf = MAINTENANCE | {SNAPSHOT_AFTER: str(sizes.restart_updates - 2)}  # 10 versions in a full run, as by default
    for place in ("", "hdfs", "s3"):
        job = replace(job, place=place, variant=place or "local")
        jobs = _alternating([replace(job, part="leave", conf=conf)], 1, providers)
        jobs = chain(jobs, _alternating([replace(job, part="restart", cold=True)], sizes.repetitions, providers))
        yield from _with_file_manager(jobs)


def _with_file_manager(jobs: Iterator[Job]) -> Iterator[Job]:
    """Give the jobs with the file manager of Spark that suits the peers best; ours has its own."""
    for job in jobs:
        abortable = job.place == "s3" and PROVIDERS[job.provider].family != OURS
        yield replace(job, conf={**job.conf, **(ABORTABLE if abortable else {})})


PARTS: Final[dict[str, Part]] = {
    "spi": spi,
    "commit": commit,
    "grown": grown,
    "recovery": recovery,
    "remote": remote,
    "memory": memory,
    "e2e": query,
    "dedupe": dedupe,
    "partitions": partitions,
    "stores": stores,
    "operators": operators,
    "profile": profile,
    "s3": s3,
    "larger": larger,
    "largest": largest,
    "budget": budget,
    "restart": restart,
}

COMPARED: Final = ("spi", "commit", "e2e", "partitions", "operators")
"""Parts in which an older commit of ours can run beside the others."""


def jobs_of(part: str, base: Job, sizes: Sizes, providers: Sequence[str]) -> list[Job]:
    """Give the jobs of one part in their order."""
    taking_part = [name for name in providers if name != BASELINE or part in COMPARED]
    return list(PARTS[part](base, sizes, taking_part))


def kind(record: dict[str, Any]) -> tuple[Any, ...]:
    """Tell which measurement a record repeats."""
    return tuple(record[name] for name in ("group", "part", "provider", "keys", "value_longs", "variant"))
