"""What a million rows of state cost: ``python -m docs.sizing``, and the numbers of docs/sizing.md.

A streaming aggregation gets new keys in each batch. The first batch warms up. The cost of a million rows is the
difference between the last batch and the first, divided by the rows in between. A key is a bigint, which Spark stores
as 16 bytes. A value is a count of 16 bytes, or a count and a text.
"""

from __future__ import annotations

import argparse
import multiprocessing
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from campaigns.soak import sample
from keygroups.checkpoint.manifest import read_manifest
from keygroups.configure import configure
from support.spark import prepare_environment

HEAP = 2048
"""MB of the JVM's heap. All of it is there from the start, so what grows is outside of the heap."""
SETTLED_SECONDS = 8
"""The memory of a big batch goes back to the system 5 s after its end."""
PEAK_SECONDS = 0.1
ROWS = {
    "jvm own": "memory of the JVM outside of its heap, kept",
    "store own": "memory of the store process, kept",
    "mapped": "page cache of mapped segments, which the kernel can take back",
    "jvm state maps": "mappings of segments in the JVM",
    "jvm files": "open files of the JVM",
    "local bytes": "local disk",
    "checkpoint bytes": "checkpoint: all files that the last version needs",
}
"""What is measured, and what it is called in the table."""
COUNTS = {"jvm state maps", "jvm files"}
PEAKS = {"store peak": "keygroups.bridge", "jvm peak": "org.apache.spark.deploy.SparkSubmit"}
"""A word of the process's command line."""
RUN = {
    "store own": "store process at the end, its own memory",
    "store peak": "store process, peak",
    "jvm own": "JVM at the end, outside of its heap (classes and compiled code included)",
    "jvm peak": "JVM, peak",
}


def main() -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="new keys in a batch (default: 1000000)")
    parser.add_argument("--batches", type=int, default=6, help="batches (default: 6)")
    parser.add_argument(
        "--text", type=int, nargs="*", default=[0, 100], help="bytes of text in a value (default: 0 100)"
    )
    options = parser.parse_args()
    prepare_environment()
    spawn = multiprocessing.get_context("spawn")  # a process for each run, so that each has a JVM of its own
    with ProcessPoolExecutor(1, spawn, max_tasks_per_child=1) as runs:
        columns = {text: runs.submit(measure, options.rows, options.batches, text).result() for text in options.text}
    print(table(columns, options.rows * (options.batches - 1)))


def measure(rows: int, batches: int, text: int) -> list[sample.Figures]:
    """Run the query on a session of its own, and sample it after the first batch and after the last."""
    with TemporaryDirectory(prefix="keygroups-sizing-") as name, peaks() as peak:
        folder = Path(name)
        spark = session(folder)
        write_input(spark, folder / "input", rows, batches)
        taken: list[sample.Figures] = []
        run(spark, folder, text, partial(take, spark, folder, taken, {1, batches}))
        spark.stop()
        return [taken[0], taken[-1] | peak]


def session(folder: Path) -> SparkSession:
    """Two cores and two partitions, and the whole heap from the start."""
    builder = SparkSession.Builder().master("local[2]").config("spark.ui.enabled", False)
    builder = builder.config("spark.sql.shuffle.partitions", 2).config("spark.driver.memory", f"{HEAP}m")
    builder = builder.config("spark.driver.extraJavaOptions", f"-Xms{HEAP}m -XX:+AlwaysPreTouch")
    builder = builder.config("spark.sql.streaming.stateStore.maintenanceInterval", "1s")
    builder = builder.config("spark.sql.streaming.minBatchesToRetain", 1)
    spark = configure(builder, localDir=str(folder / "local")).getOrCreate()
    (folder / "local").mkdir(exist_ok=True)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def write_input(spark: SparkSession, folder: Path, rows: int, batches: int) -> None:
    """One file a batch, with keys that no other has."""
    for batch in range(batches):
        numbers = spark.range(batch * rows, (batch + 1) * rows, numPartitions=1)
        numbers.select(F.xxhash64("id").alias("key")).write.mode("append").parquet(str(folder))


def run(spark: SparkSession, folder: Path, text: int, after: partial[None]) -> None:
    """Count the keys, a file a batch."""
    keys = spark.readStream.schema("key BIGINT").option("maxFilesPerTrigger", 1).parquet(str(folder / "input"))
    values = [F.count("*")] + ([F.max(F.repeat(F.lit("x"), text))] if text else [])
    counts = keys.groupBy("key").agg(*values)

    def write(answer: DataFrame, batch: int) -> None:
        answer.write.format("noop").mode("overwrite").save()
        after(batch + 1)

    writer = counts.writeStream.outputMode("update").foreachBatch(write)
    writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination()


def take(spark: SparkSession, folder: Path, taken: list[sample.Figures], batches: set[int], batch: int) -> None:
    """Sample the processes and folders once they have settled."""
    if batch not in batches:
        return
    sample.of_heap(spark)
    threading.Event().wait(SETTLED_SECONDS)
    jvm = psutil.Process(sample.jvm_pid(spark))
    (store,) = sample.stores_below(jvm)
    figures = sample.of_process("jvm", jvm) | sample.of_process("store", store)
    figures |= sample.of_mappings("jvm", jvm, folder / "local")
    figures |= sample.of_folder("local", folder / "local")
    needed = needed_bytes(folder / "checkpoint" / "state" / "0")
    taken.append(figures | {"mapped": figures["local bytes"], "checkpoint bytes": needed})


def needed_bytes(operator: Path) -> int:
    """Bytes of the files that the newest version of each store needs; those that a cleanup will delete do not count."""
    total = 0
    for store in operator.glob("[0-9]*"):
        newest = max(store.glob("v*.arrows"))
        files = {operator / ref.path for ref in read_manifest(newest, newest.name).segments}
        total += sum(file.stat().st_size for file in {newest, *files})
    return total


@contextmanager
def peaks() -> Iterator[sample.Figures]:
    """The most memory of their own that the JVM and the store process below this process have had."""
    most, over = dict.fromkeys(PEAKS, 0.0), threading.Event()

    def watch() -> None:
        while not over.wait(PEAK_SECONDS):
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    name = next((name for name, word in PEAKS.items() if word in " ".join(process.cmdline())), None)
                    if name:
                        memory = process.memory_info()
                        most[name] = max(most[name], memory.rss - memory.shared)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield most
    finally:
        over.set()
        watcher.join()


def table(columns: dict[int, list[sample.Figures]], rows: int) -> str:
    """Render the cost of a million rows, and the memory that the run needed."""
    heads = [f"value of {16 + (8 + -(-text // 8) * 8 if text else 0)} bytes" for text in columns]
    lines = ["| cost of a million rows | " + " | ".join(heads) + " |", "| --- |" + " ---: |" * len(columns)]
    for name, words in ROWS.items():
        cells = [shown(name, 1e6 * (last[name] - first[name]) / rows) for first, last in columns.values()]
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    lines += ["", "| during the run | " + " | ".join(heads) + " |", "| --- |" + " ---: |" * len(columns)]
    for name, words in RUN.items():
        cells = [shown(name, last[name] - HEAP * 2**20 * name.startswith("jvm")) for _, last in columns.values()]
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def shown(name: str, value: float) -> str:
    """A count, or MB."""
    return f"{value:.1f}" if name in COUNTS else f"{value / 2**20:.0f} MB"


if __name__ == "__main__":
    started = time.monotonic()
    main()
    print(f"\n{time.monotonic() - started:.0f} s")
