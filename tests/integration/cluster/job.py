"""Runs queries side by side in one application: ``python job.py JOB.json``, see ``remote/job.py``.

``spark.test.rest`` in the job's configuration lists batches after which nothing runs for some seconds. After its last
batch a query waits for maintenance.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from integration.cluster import queries
from integration.cluster.leftovers import unneeded
from integration.remote import job as remote

REST_SECONDS = 6.0
MAINTENANCE_SECONDS = 20.0


def main(job: dict[str, Any]) -> None:
    """Run the job."""
    if python := job["conf"].get("spark.pyspark.python"):
        os.environ["PYSPARK_PYTHON"] = python  # as spark-submit does
    # Executors have no module of the tests.
    cloudpickle.register_pickle_by_value(queries)  # type: ignore[no-untyped-call]
    spark = session(job)
    rest = [int(number) for number in str(job["conf"].get("spark.test.rest", "")).split()]
    last = len(list(Path(job["input"]).glob("*.json"))) - 1
    running = []
    for name in job["queries"]:
        checkpoint = Path(job["checkpoint"]) / name
        after = partial(between_batches, rest=rest, last=last, checkpoint=checkpoint)
        running.append(remote.start(spark, name, job, queries.QUERIES, after))
    for query in running:
        query.awaitTermination()
    spark.stop()


def session(job: dict[str, Any]) -> SparkSession:
    """Start the job's session; one without a master has all of the provider from spark-submit."""
    if "spark.master" in job["conf"]:
        return remote.session(job)
    builder = SparkSession.Builder()
    for name, value in (remote.SETTINGS | job["conf"]).items():
        builder.config(name, value)
    return builder.getOrCreate()


def between_batches(batch: int, *, rest: list[int], last: int, checkpoint: Path) -> None:
    """Wait, where the job says so."""
    if batch in rest:
        threading.Event().wait(REST_SECONDS)
    deadline = time.monotonic() + MAINTENANCE_SECONDS
    while batch == last and unneeded(checkpoint) and time.monotonic() < deadline:
        threading.Event().wait(0.1)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
