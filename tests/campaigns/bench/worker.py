"""One measurement in a process of its own: ``python worker.py JOB RESULT JAR``.

Started by ``run.py``. A fresh process means that no provider runs on a heap or on compiled code that another one left.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

import keygroups
from campaigns.bench import (
    dedupe,
    e2e,
    first_batch,
    larger,
    memory,
    operators,
    recovery,
    restart,
    s3_state,
    spi,
    stores,
)
from campaigns.bench.plan import Job
from campaigns.bench.providers import start_session, stop_session
from servers.jars import jars

_PARTS: Final[dict[str, Callable[[SparkSession, Job], dict[str, Any]]]] = {
    "rows": spi.measure_rows,
    "commits": spi.measure_commits,
    "merging": spi.measure_merging,
    "prepare": recovery.prepare,
    "recover": recovery.recover,
    "memory": memory.measure_memory,
    "query": e2e.measure_query,
    "query_empty": e2e.measure_query_empty,
    "dedupe": dedupe.measure_dedupe,
    "stores": stores.measure_stores,
    "larger": larger.measure_larger,
    "larger_empty": larger.measure_larger_empty,
    "budget": larger.measure_larger,
    "s3": s3_state.measure_s3,
    "leave_store": first_batch.leave_store,
    "first_batch": first_batch.first_batch,
    "leave": restart.leave,
    "restart": restart.restart,
    **dict.fromkeys(operators.QUERIES, operators.measure_operator),
}

_FLAGS: Final = {"memory": memory.JVM_FLAGS, "budget": larger.JVM_FLAGS}
"""JVM flags of parts that weigh memory."""


def main() -> None:
    """Measure what the first argument says and write the figures, as JSON, to the file that the second one names."""
    job = Job.from_json(sys.argv[1])
    flags = _FLAGS.get(job.part, "").format(heap=job.heap)
    if job.part == "s3":
        job.jars.extend(str(jars(name) / "*") for name in ("s3a", "cloud"))
    if not Path(keygroups.__file__).is_relative_to(job.home):
        raise RuntimeError(f"expected the package of {job.home}, found {keygroups.__file__}")
    spark = start_session(job, sys.argv[3], flags)
    try:
        figures = _PARTS[job.part](spark, job)
    finally:
        stop_session(spark)
    Path(sys.argv[2]).write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
