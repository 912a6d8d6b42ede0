"""Runs the query and samples after each batch: ``python job.py JOB.json``.

JOB.json: ``wave`` (fields of ``Wave``), ``folder``. Writes ``samples.jsonl`` and ``rows.json`` there.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

import psutil
from pyspark.sql import DataFrame, SparkSession

from campaigns.soak import sample
from campaigns.soak.query import Rows, Wave, rows_in_state, rows_of
from keygroups.configure import configure
from keygroups.settings import PREFIX
from support.spark import prepare_environment

PACE = 0.6
"""Seconds from one batch to the next. What goes by the clock, such as maintenance, then keeps step with the batches."""
HEAP = 1024
"""MB of the JVM's heap."""
BUDGET = 64
"""MB that the JVM and the store process may take for all state outside of the heap."""
MAPPED = 8
"""MB of values that stay in memory: the rest is read from local files, a value at a time."""
SETTINGS = {
    PREFIX + "memoryBudget": f"{BUDGET}m",
    PREFIX + "mappedValueBytes": f"{MAPPED}m",
    PREFIX + "blockBytes": "1m",
    "spark.ui.enabled": "false",
    "spark.driver.memory": f"{HEAP}m",
    # All of the heap is there from the start: what grows from then on is not heap. What was freed outside of it goes
    # back to the system every 2 s: the C library keeps up to 30 MB of what C2 needs to compile, as if it leaked.
    "spark.driver.extraJavaOptions": f"-Xms{HEAP}m -XX:+AlwaysPreTouch "
    "-XX:+IgnoreUnrecognizedVMOptions -XX:TrimNativeHeapInterval=2000",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
    # Spark remembers the last 1,000 of each, which takes as many batches to fill.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    "spark.sql.ui.retainedExecutions": "50",
}


class Sampler:
    """Sums up the rows of each batch, then takes a sample: no task runs at that moment.

    Args:
        spark: the session.
        wave: the input.
        folder: of the job.
    """

    def __init__(self, spark: SparkSession, wave: Wave, folder: Path) -> None:
        self._spark, self._wave, self._folder = spark, wave, folder
        self._process = psutil.Process(sample.jvm_pid(spark))
        self.closed: Rows = {}
        self.done = threading.Event()

    def __call__(self, answer: DataFrame, batch: int) -> None:
        """Take a batch."""
        start = time.monotonic()
        rows = rows_of(answer)
        seconds = time.monotonic() - start
        if batch < self._wave.batches:
            assert not self.closed.keys() & rows.keys(), "a window was closed twice"
            self.closed |= rows
            taken = {"batch": batch, "seconds": seconds} | self._sample(batch)
            with (self._folder / "samples.jsonl").open("a") as file:
                file.write(json.dumps(taken) + "\n")
        else:
            self.done.set()

    def _sample(self, batch: int) -> sample.Figures:
        (store,) = sample.stores_below(self._process)
        jvm, local = sample.of_process("jvm", self._process), self._folder / "store"
        loaded = sample.of_classes(self._spark)
        return (
            self._operator()
            | jvm
            | loaded
            | {"jvm outside": jvm["jvm own"] - HEAP * 2**20 - loaded["code"]}
            | sample.of_mappings("jvm", self._process, local)
            | sample.of_process("store", store)
            | sample.of_mappings("store", store, local)
            | {"store process": store.pid}
            | (sample.of_heap(self._spark) if self._wave.is_extreme(batch) else {})
            | sample.of_folder("local", local)
            | sample.of_folder("state", self._folder / "checkpoint" / "state")
            | sample.of_folder("checkpoint", self._folder / "checkpoint")
        )

    def _operator(self) -> sample.Figures:
        """State rows and segments as of the batch before: this one is not over."""
        progress = self._spark.streams.active[0].lastProgress
        operators = progress["stateOperators"] if progress else []
        rows = sum(operator["numRowsTotal"] for operator in operators)
        return {"rows": rows, "state memory": sum(operator["memoryUsedBytes"] for operator in operators)}


def main(job: dict[str, Any]) -> None:
    """Run the job."""
    prepare_environment()
    folder, wave = Path(job["folder"]), Wave(**job["wave"])
    spark = session(folder)
    sampler = Sampler(spark, wave, folder)
    writer = wave.stream(spark).writeStream.outputMode("append").foreachBatch(sampler)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(processingTime=f"{PACE} seconds").start()
    while query.isActive and not sampler.done.wait(1):
        pass
    query.stop()
    if query.exception():
        raise cast(Exception, query.exception())
    # Else the stores of the query stay in memory beside those of the reader: twice the keys, in one budget.
    cast(Any, spark)._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
    spark.conf.set("spark.sql.shuffle.partitions", "32")  # more than the state: all windows at once
    left = rows_in_state(spark, str(folder / "checkpoint"), wave.batches - 1)
    found = {"closed": sampler.closed, "open": left, "expected": rows_of(wave.batch(spark))}
    (folder / "rows.json").write_text(json.dumps(found))
    spark.stop()


def session(folder: Path) -> SparkSession:
    """Start the job's session."""
    builder = SparkSession.builder.master("local[2]").appName("keygroups-soak")
    places = {
        PREFIX + "localDir": folder / "store",
        "spark.local.dir": folder / "local",
        "spark.sql.warehouse.dir": folder / "warehouse",
    }
    for name, value in (SETTINGS | {name: str(place) for name, place in places.items()}).items():
        builder.config(name, value)
    (folder / "store").mkdir()
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
