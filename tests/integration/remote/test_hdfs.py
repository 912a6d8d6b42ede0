"""Checkpoints on HDFS: the rows, and a cluster that loses a node, restarts, or is in safe mode."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from integration.remote.conftest import BATCHES, EACH_QUERY
from integration.remote.jobs import Job, Rows, write_input
from keygroups.settings import PREFIX
from servers.hdfs import Command, Hdfs, hdfs


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Hdfs]:
    """An empty HDFS cluster."""
    (tmp_path / "hdfs").mkdir()
    with hdfs(tmp_path / "hdfs") as running:
        yield running


def run_while(job: Job, cluster: Hdfs, commands: dict[int, Command]) -> Rows:
    """Run a job; after its n-th answer from now on, something happens to the cluster. If it fails, it is restarted."""
    process = job.start()
    assert process.stdout is not None
    for number, _ in enumerate(process.stdout):
        if number in commands:
            cluster.obey(commands.pop(number))
    assert not commands, job.log()[-8000:]
    return job.rows() if process.wait() == 0 else job.run_restarting()


@pytest.mark.slow
@EACH_QUERY
def test_rows_equal_those_of_spark(cluster: Hdfs, tmp_path: Path, expected: Rows, queries: Sequence[str]) -> None:
    """While a data node dies and the name node restarts; the second half from an empty local disk."""
    write_input(tmp_path / "in", range(BATCHES // 2))
    conf = {PREFIX + "compactionFanout": "2"}
    first = Job(tmp_path / "first", tmp_path / "in", f"{cluster.url}/job", conf, queries=queries).run()
    write_input(tmp_path / "in", range(BATCHES))
    job = Job(tmp_path / "second", tmp_path / "in", f"{cluster.url}/job", conf, queries=queries)
    second = run_while(job, cluster, {0: "stop data node", len(queries): "restart name node"})
    assert {name: first[name] | rows for name, rows in second.items()} == {name: expected[name] for name in queries}


@pytest.mark.slow
def test_safe_mode_is_named_and_nothing_is_lost(cluster: Hdfs, tmp_path: Path, expected: Rows) -> None:
    """The error says which path could not be written, and what to do; afterwards the query goes on."""
    conf = {PREFIX + "fileTimeoutSeconds": "4", "spark.task.maxFailures": "1"}
    job = Job(tmp_path, tmp_path / "in", f"{cluster.url}/job", conf, queries=["aggregation"])
    write_input(tmp_path / "in", range(BATCHES // 2))
    job.run()
    write_input(tmp_path / "in", range(BATCHES))
    process = job.start()
    assert process.stdout is not None
    assert process.stdout.readline()
    cluster.obey("enter safe mode")
    process.communicate()
    assert process.returncode
    assert re.search("safe ?mode", job.log(), re.IGNORECASE)
    cluster.obey("leave safe mode")
    assert job.run()["aggregation"] == expected["aggregation"]
