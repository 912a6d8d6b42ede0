"""Jobs on a cluster, and what may happen to them."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from integration.cluster.leftovers import unneeded
from integration.cluster.standalone import Cluster
from integration.remote.jobs import Job, Rows
from keygroups.settings import PREFIX
from support.processes import wait_for

SCRIPT = Path(__file__).with_name("job.py")
STATE = "spark.sql.streaming.stateStore."
SETTINGS = {
    "spark.cores.max": "2",
    # Else all partitions load on the executor that is there first, and stay.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.executor.cores": "1",
    "spark.executor.memory": "1g",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    STATE + "maintenanceInterval": "200ms",
    PREFIX + "compactionFanout": "2",
}
NO_CONF: Mapping[str, str] = MappingProxyType({})


def cluster_job(
    cluster: Cluster,
    folder: Path,
    source: Path,
    python: object,
    queries: Sequence[str],
    conf: Mapping[str, str] = NO_CONF,
) -> Job:
    """A job of two executors with one core each.

    Args:
        cluster: where it runs.
        folder: for its output and checkpoint.
        source: folder of input files.
        python: interpreter on the executors.
        queries: run side by side.
        conf: more of Spark's settings.
    """
    settings = {"spark.master": cluster.url, "spark.pyspark.python": str(python)} | SETTINGS | dict(conf)
    return Job(folder, source, str(folder / "checkpoint"), settings, queries=queries, script=SCRIPT)


def run_while(job: Job, batches: set[int], rng: random.Random, fault: Callable[[], object]) -> Rows:
    """Run a job; after its n-th answers, and a bit, something happens."""
    process = job.start()
    assert process.stdout is not None
    printed = []
    for line in process.stdout:
        printed.append(line)
        if line.startswith("batch") and sum(said.startswith("batch") for said in printed) - 1 in batches:
            threading.Event().wait(rng.uniform(0, 0.6))
            fault()
    assert process.wait() == 0, job.log()[-8000:] + "".join(printed)[-8000:]
    return job.rows()


def counts(source: Path) -> dict[int, list[list[object]]]:
    """What the aggregation must give, computed without Spark."""
    totals: dict[str, tuple[int, int]] = {}
    answers: dict[int, list[list[object]]] = {}
    for path in sorted(source.glob("*.json")):
        events = [json.loads(line) for line in path.read_text().splitlines()]
        for event in events:
            n, total = totals.get(event["key"], (0, 0))
            totals[event["key"]] = (n + 1, total + event["value"])
        answers[int(path.stem)] = sorted(([key, *totals[key]] for key in {event["key"] for event in events}), key=str)
    return answers


def kill_executor(cluster: Cluster, rng: random.Random) -> None:
    """kill -9 of one executor that holds state; the process beside it has to notice by itself."""
    store = rng.choice(wait_for(cluster.stores))
    executor = store.parent()
    assert executor in cluster.executors()
    executor.kill()


def assert_nothing_left(job: Job, cluster: Cluster) -> None:
    """No process of an application, none of our local folders, no file in a checkpoint that nothing needs."""
    left: list[object] = []

    def is_clean() -> bool:
        left[:] = cluster.left()
        return not left

    wait_for(is_clean, 20, lambda: f"left behind: {left}")
    files = [path for query in job.queries for path in unneeded(Path(job.checkpoint) / query)]
    assert not files, f"not cleaned: {files}"
