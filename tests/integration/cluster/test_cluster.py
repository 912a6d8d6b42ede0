"""Queries on a standalone cluster whose executors know the installed wheel only."""

from __future__ import annotations

import random
from pathlib import Path

import psutil
import pytest

from integration.cluster.jobs import assert_nothing_left, cluster_job, kill_executor, run_while
from integration.cluster.standalone import Cluster

Answers = dict[int, list[list[object]]]


@pytest.mark.slow
def test_two_queries(
    shared: Cluster, python: Path, source: Path, expected: Answers, tmp_path: Path, rng: random.Random
) -> None:
    """Side by side in one application, on the same executors: a store process beside each, from the wheel."""
    job = cluster_job(shared, tmp_path, source, python, ["aggregation", "slow"])
    stores: dict[psutil.Process, str] = {}
    rows = run_while(job, set(range(4, 10)), rng, lambda: stores.update({s: s.cmdline()[0] for s in shared.stores()}))
    assert rows == {"aggregation": expected, "slow": expected}
    assert [*stores.values()] == [str(python)] * 2
    assert_nothing_left(job, shared)


def test_killed_executor(
    shared: Cluster, python: Path, source: Path, expected: Answers, tmp_path: Path, rng: random.Random
) -> None:
    """In the middle of a batch: its partitions are loaded elsewhere."""
    job = cluster_job(shared, tmp_path, source, python, ["slow"])
    before = shared.started()
    assert run_while(job, {1, 3}, rng, lambda: kill_executor(shared, rng)) == {"slow": expected}
    assert len(shared.started() - before) > 2
    assert_nothing_left(job, shared)
