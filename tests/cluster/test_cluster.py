"""Queries on a standalone cluster whose executors know the installed wheel only."""

from __future__ import annotations

import random
from pathlib import Path

import psutil

from cluster.jobs import assert_nothing_left, cluster_job, run_while
from cluster.standalone import Cluster
from remote.jobs import Rows


def test_two_queries(shared: Cluster, python: Path, source: Path, expected: Rows, tmp_path: Path) -> None:
    """Side by side in one application, on the same executors; a store process serves both."""
    job = cluster_job(shared, tmp_path, source, ["aggregation", "join"], spark__pyspark__python=str(python))
    stores: set[psutil.Process] = set()
    rows = run_while(job, set(range(4, 14)), random.Random(1), lambda: stores.update(shared.stores()))
    assert rows == expected
    assert len(stores) == 2
    assert_nothing_left(job, shared)


def test_killed_executor(
    shared: Cluster, python: Path, source: Path, expected: Rows, tmp_path: Path, rng: random.Random
) -> None:
    """In the middle of a batch: its partitions are loaded elsewhere."""
    job = cluster_job(shared, tmp_path, source, ["slow"], spark__pyspark__python=str(python))
    before = shared.started()
    rows = run_while(job, {1, 3}, rng, lambda: rng.choice(shared.executors()).kill())
    assert rows["slow"] == expected["aggregation"]
    assert len(shared.started() - before) > 2
    assert_nothing_left(job, shared)
