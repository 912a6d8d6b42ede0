"""What a cluster does to its executors and tasks: rows are those of an undisturbed run, and nothing is left behind."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from integration.cluster.jobs import STATE, assert_nothing_left, cluster_job, kill_executor, run_while
from integration.cluster.leftovers import versions
from integration.cluster.standalone import Cluster
from integration.remote.jobs import write_input
from support.processes import wait_for

pytestmark = pytest.mark.slow

Answers = dict[int, list[list[object]]]
FORMAT = STATE + "checkpointFormatVersion"
RETAIN = "spark.sql.streaming.minBatchesToRetain"
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
}
DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.timeout": "2s",
    "spark.dynamicAllocation.executorIdleTimeout": "2s",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.maxExecutors": "2",
}
formats = pytest.mark.parametrize("version", ["1", "2"])


def test_killed_worker(
    own: Cluster, python: Path, source: Path, expected: Answers, tmp_path: Path, rng: random.Random
) -> None:
    """Its executor ends with it, and the other one takes all partitions."""
    job = cluster_job(own, tmp_path, source, python, ["slow"])
    assert run_while(job, {2}, rng, lambda: rng.choice(own.workers).kill()) == {"slow": expected}
    assert_nothing_left(job, own)


def test_executors_killed_under_two_queries(
    shared: Cluster,
    python: Path,
    source: Path,
    expected: Answers,
    joined: dict[int, list[Any]],
    tmp_path: Path,
    rng: random.Random,
) -> None:
    """Again and again, but not after a query's last batch: nobody would clean for it before its next one."""
    job = cluster_job(shared, tmp_path, source, python, ["slow", "join"])
    rows = run_while(job, {1, 4}, rng, lambda: kill_executor(shared, rng))
    assert rows == {"slow": expected, "join": joined}
    assert_nothing_left(job, shared)


@pytest.mark.parametrize("kind", [Cluster.stores, Cluster.python_workers])
def test_killed_python(
    shared: Cluster,
    python: Path,
    source: Path,
    expected: Answers,
    tmp_path: Path,
    rng: random.Random,
    kind: Callable[[Cluster], list[psutil.Process]],
) -> None:
    """A store process, or a process that runs the query's Python function: its tasks are retried."""
    job = cluster_job(shared, tmp_path, source, python, ["python"])
    rows = run_while(job, {1, 3, 5}, rng, lambda: rng.choice(wait_for(lambda: kind(shared))).kill())
    assert rows == {"python": expected}
    assert_nothing_left(job, shared)


@formats
def test_failed_task(
    shared: Cluster, python: Path, source: Path, expected: Answers, tmp_path: Path, version: str
) -> None:
    """Its next attempt sees nothing of it."""
    job = cluster_job(shared, tmp_path, source, python, ["failing"], {FORMAT: version, "spark.task.maxFailures": "2"})
    assert job.run() == {"failing": expected}
    assert_nothing_left(job, shared)


@formats
def test_slow_task_has_a_second_attempt(
    shared: Cluster, python: Path, source: Path, expected: Answers, tmp_path: Path, version: str
) -> None:
    """The first is killed while its rows flow."""
    job = cluster_job(shared, tmp_path, source, python, ["stalling"], SPECULATION | {FORMAT: version})
    assert job.run() == {"stalling": expected}
    assert_nothing_left(job, shared)


@formats
def test_two_attempts_commit(shared: Cluster, python: Path, expected: Answers, tmp_path: Path, version: str) -> None:
    """The same version of the same partition, on two executors."""
    query = "stalling after commit"
    write_input(tmp_path / "in", range(4))
    conf = SPECULATION | {FORMAT: version}
    cluster_job(shared, tmp_path, tmp_path / "in", python, [query], conf | {RETAIN: "100"}).run()
    files = versions(tmp_path / "checkpoint" / query / "state" / "0" / "1")
    assert max(map(len, files.values())) == 2
    write_input(tmp_path / "in", range(len(expected)))
    job = cluster_job(shared, tmp_path, tmp_path / "in", python, [query], conf)
    assert job.run() == {query: so_far(expected)}
    assert_nothing_left(job, shared)


def so_far(answers: Answers) -> Answers:
    """All rows that there are after each batch."""
    rows: dict[object, list[object]] = {}
    found = {}
    for batch in sorted(answers):
        rows |= {row[0]: row for row in answers[batch]}
        found[batch] = sorted(rows.values(), key=str)
    return found


def test_executors_come_and_go(shared: Cluster, python: Path, source: Path, expected: Answers, tmp_path: Path) -> None:
    """Idle ones are taken away between batches, and new ones load the state."""
    job = cluster_job(shared, tmp_path, source, python, ["slow"], DYNAMIC | {"spark.test.rest": "1 3 5"})
    before = shared.started()
    assert job.run() == {"slow": expected}
    assert len(shared.started() - before) > 3
    assert_nothing_left(job, shared)
