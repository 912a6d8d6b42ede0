"""Runs queries of ``faults.queries`` over so many batches, then reads their state: ``python job.py JOB.json``.

See ``remote/job.py``. ``spark.test.batches`` in the job's configuration is the number of batches.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from campaigns.faults.attempts import keep_attempt, keep_state
from campaigns.faults.queries import QUERIES
from campaigns.faults.queries.events import events
from campaigns.faults.state import read_state
from integration.remote import job as remote
from support.spark import prepare_environment

END = "the input ends here"
PROGRESS = "progress.json"


def main(job: dict[str, Any]) -> None:
    """Run the job."""
    prepare_environment()
    spark = remote.session(job)
    spark.sparkContext.setLogLevel("WARN")
    for name in job["queries"]:
        run(spark, name, job)
    spark.stop()


def run(spark: SparkSession, name: str, job: dict[str, Any]) -> None:
    """Run one query to the end of its input, and keep what it shows."""
    query, checkpoint = QUERIES[name], Path(job["checkpoint"]) / name
    output, last = Path(job["output"]) / name, int(job["conf"]["spark.test.batches"])
    output.mkdir(parents=True, exist_ok=True)
    writer = query.build(events(spark)).writeStream.outputMode(query.mode).foreachBatch(partial(write, output, last))
    running = writer.option("checkpointLocation", str(checkpoint)).start()
    try:
        running.awaitTermination()
    except StreamingQueryException as error:
        if END not in str(error):
            raise
    (output / PROGRESS).write_text(json.dumps([json.loads(progress.json) for progress in running.recentProgress]))
    keep_state(output, read_state(spark, checkpoint))
    print(f"{name} is done", flush=True)


def write(output: Path, last: int, rows: DataFrame, batch: int) -> None:
    """Keep the rows of an attempt.

    The source never ends, so the batch after the last fails before it reads: the last is committed by then, and the
    one that fails has touched no state.
    """
    if batch == last:
        raise EOFError(END)
    collected = rows.collect()
    rows.sparkSession.conf.get("spark.test.batches")  # fails if the JVM has died, which would have cut what it sent
    keep_attempt(output, batch, collected)
    print(f"batch {batch}", flush=True)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
