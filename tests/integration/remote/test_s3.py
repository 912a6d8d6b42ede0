"""Checkpoints on S3: the rows, the requests, and a server that is slow, fails, or is gone for a while."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from integration.remote.conftest import BATCHES, EACH_QUERY
from integration.remote.jobs import Job, Rows, write_input
from integration.remote.queries import QUERIES
from keygroups.settings import PREFIX
from servers.gateway import Fault
from servers.jars import jars
from servers.s3 import S3
from support.everyday import first_every_day

VERSION_FILE = re.compile(r"/state/0/(\d)/v0*(\d+)_\w+\.arrows$")
# Hadoop's client waits minutes where the tests can't.
IMPATIENT = {
    "spark.hadoop.fs.s3a.connection.timeout": "3s",
    "spark.hadoop.fs.s3a.attempts.maximum": "2",
    "spark.hadoop.fs.s3a.retry.limit": "4",
    "spark.hadoop.fs.s3a.retry.interval": "50ms",
    "spark.hadoop.fs.s3a.retry.throttle.limit": "4",
    "spark.hadoop.fs.s3a.retry.throttle.interval": "50ms",
}


# Compactions upload, and old files go, within six batches: on an idle machine these take three seconds in all.
OFTEN = {PREFIX + "compactionFanout": "2", "spark.sql.streaming.stateStore.maintenanceInterval": "100ms"}


def job_on(server: S3, folder: Path, source: Path, **more: object) -> Job:
    """A job whose checkpoint is on the server."""
    conf = server.conf | IMPATIENT | OFTEN | dict(more.pop("conf", {}))  # type: ignore[call-overload]
    class_path = f"{server.class_path}:{jars('cloud')}/*"
    return Job(folder, source, f"{server.url}/job", conf, class_path, **more)  # type: ignore[arg-type]


@EACH_QUERY
def test_rows_equal_those_of_spark(server: S3, tmp_path: Path, expected: Rows, queries: Sequence[str]) -> None:
    """The second half from an empty local disk; old versions are deleted."""
    write_input(tmp_path / "in", range(BATCHES // 2))
    first = job_on(server, tmp_path / "first", tmp_path / "in", queries=queries).run()
    write_input(tmp_path / "in", range(BATCHES))
    second = job_on(server, tmp_path / "second", tmp_path / "in", queries=queries).run()
    assert {name: first[name] | rows for name, rows in second.items()} == {name: expected[name] for name in queries}
    assert any(method == "POST" and "delete" in path for method, path in server.gateway.requests)


ABORTABLE = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager"
    )
}


@pytest.mark.parametrize("manager", first_every_day({}, ABORTABLE), ids=["default", "abortable"])
def test_a_batch_is_one_request(server: S3, tmp_path: Path, source: Path, manager: dict[str, str]) -> None:
    """One PUT for each partition, in steady state, also if Spark writes its own files without renames."""
    seldom = {"spark.sql.streaming.stateStore.maintenanceInterval": "1h"}
    rows = job_on(server, tmp_path, source, queries=["aggregation"], conf=seldom | manager).run()
    batches = len(rows["aggregation"])
    state = [(method, path) for method, path in server.gateway.requests if re.search(r"/state/0/\d/", path)]
    files = [(method, match.groups()) for method, path in state if (match := VERSION_FILE.search(path))]
    assert Counter(files) == {("PUT", (str(p), str(v))): 1 for p in range(2) for v in range(1, batches + 1)}
    first, last = (next(i for i, (_, path) in enumerate(state) if f"/v{v:020}_" in path) for v in (2, batches))
    assert all(method == "PUT" for method, _ in state[first:last])
    renames = [path for method, path in server.gateway.requests if method == "PUT" and ".tmp" in path]
    assert not renames if manager else renames


FAULTS: Sequence[Fault] = ("503", "500", "cut before", "cut after", "stall")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_rows_are_right_whatever_the_server_does(
    server: S3, tmp_path: Path, source: Path, expected: Rows, fault: Fault
) -> None:
    """One request in fifteen for state goes wrong."""
    rng = random.Random(f"{fault} 1")
    share = 0.02 if fault == "stall" else 0.07
    server.gateway.faults = lambda _, path: fault if "/state" in path and rng.random() < share else ""
    rows = job_on(server, tmp_path, source).run_restarting()
    assert server.gateway.injected
    assert rows == {name: expected[name] for name in QUERIES}


@contextmanager
def outage(server: S3, part: str) -> Iterator[None]:
    """Requests for paths with ``part`` are answered with 503."""
    server.gateway.faults = lambda _, path: "503" if part in path else ""
    yield
    server.gateway.faults = lambda _method, _path: ""


@pytest.mark.slow
def test_an_outage_is_named_and_nothing_is_lost(server: S3, tmp_path: Path, expected: Rows) -> None:
    """The error says what does not answer, which path, and what to do; afterwards the query goes on."""
    conf = {PREFIX + "fileTimeoutSeconds": "4", PREFIX + "fileAttempts": "3", "spark.task.maxFailures": "1"}
    job = job_on(server, tmp_path / "job", tmp_path / "in", queries=["aggregation"], conf=conf)
    write_input(tmp_path / "in", range(BATCHES // 2))
    job.run()
    write_input(tmp_path / "in", range(BATCHES))
    with outage(server, "/v0000000000000000000"):
        process = job.start()
        process.communicate()
    assert process.returncode
    assert re.search(r"could not be (written|read) \(path s3a://checkpoints/job/aggregation/state/0/\d", job.log())
    assert "restart the query when the file system answers" in job.log()
    assert job.run()["aggregation"] == expected["aggregation"]


@pytest.mark.slow
def test_a_load_reads_several_files_at_a_time(server: S3, tmp_path: Path, expected: Rows) -> None:
    """Two tasks that load have more than three requests under way."""
    seldom = {PREFIX + "compactionFanout": "64", PREFIX + "maxSegments": "64"}
    write_input(tmp_path / "in", range(BATCHES - 1))
    first = job_on(server, tmp_path / "first", tmp_path / "in", queries=["aggregation"], conf=seldom).run()
    write_input(tmp_path / "in", range(BATCHES))
    server.gateway.latency, server.gateway.most_reads = 0.2, 0
    second = job_on(server, tmp_path / "second", tmp_path / "in", queries=["aggregation"], conf=seldom).run()
    assert first["aggregation"] | second["aggregation"] == expected["aggregation"]
    assert server.gateway.most_reads > 3


@pytest.mark.slow
def test_a_server_far_away(server: S3, tmp_path: Path, source: Path, expected: Rows) -> None:
    """200 ms for each request."""
    server.gateway.latency = 0.2
    rows = job_on(server, tmp_path, source, queries=["aggregation"]).run()
    assert rows["aggregation"] == expected["aggregation"]
