"""Jobs on a cluster, and what may happen to them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from cluster.leftovers import unneeded
from cluster.standalone import Cluster, wait_for
from keygroups.settings import PREFIX
from remote.jobs import Job, Rows

SCRIPT = Path(__file__).with_name("job.py")
STATE = "spark.sql.streaming.stateStore."
SETTINGS = {
    "spark.cores.max": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "1g",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    STATE + "maintenanceInterval": "200ms",
    PREFIX + "compactionFanout": "2",
}


def cluster_job(cluster: Cluster, folder: Path, source: Path, queries: Sequence[str], **conf: str) -> Job:
    """A job of two executors with one core each.

    Args:
        cluster: where it runs.
        folder: for its output and checkpoint.
        source: folder of input files.
        queries: run side by side.
        **conf: more of Spark's settings, with ``__`` for a dot.
    """
    more = {name.replace("__", "."): value for name, value in conf.items()}
    settings = {"spark.master": cluster.url} | SETTINGS | more
    return Job(folder, source, str(folder / "checkpoint"), settings, queries=queries, script=SCRIPT)


def run_while(job: Job, batches: set[int], rng: random.Random, fault: Callable[[], object]) -> Rows:
    """Run a job; after its n-th answers, and a bit, something happens."""
    process = job.start()
    assert process.stdout is not None
    for number, _ in enumerate(process.stdout):
        if number in batches:
            threading.Event().wait(rng.uniform(0, 0.6))
            fault()
    assert process.wait() == 0, job.log()[-8000:]
    return job.rows()


def assert_nothing_left(job: Job, cluster: Cluster) -> None:
    """No process of an application lives on, none of our local folders, and no file in a checkpoint that nothing needs."""
    left: list[object] = []

    def is_clean() -> bool:
        left[:] = cluster.left()
        return not left

    wait_for(is_clean, 20, lambda: f"left behind: {left}")
    for query in job.queries:
        assert unneeded(Path(job.checkpoint) / query) == []
