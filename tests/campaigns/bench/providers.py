"""The providers that are compared, and the Spark session each of them gets."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark import __version__
from pyspark.sql import SparkSession

from campaigns.bench.plan import Job

REPOSITORY: Final = Path(__file__).resolve().parents[3]
BUILD: Final = REPOSITORY / "build" / "bench"
OURS: Final = "keygroups"
BASELINE: Final = "baseline"
"""Ours too, of another commit."""

_SPARK_STATE: Final = "org.apache.spark.sql.execution.streaming.state"
_STATE_STORE: Final = "spark.sql.streaming.stateStore"
_ROCKSDB: Final = f"{_STATE_STORE}.rocksdb"
_EXIT_SECONDS: Final = 600  # on the way out, RocksDB finishes its compactions of 10 million keys of 1 KB

SPARK_CACHE: Final = {f"{_ROCKSDB}.blockCacheSizeMB": "8"}
"""Spark's own size of RocksDB's block cache, for measurements of memory."""

BOUNDED: Final = {f"{_ROCKSDB}.boundedMemoryUsage": "true", f"{_ROCKSDB}.maxMemoryUsageMB": "300"}
"""A limit of memory for all of RocksDB, for state that is larger than memory; ours has one by default."""

EMPTY: Final = {
    f"{_STATE_STORE}.providerClass": "org.apache.spark.sql.execution.streaming.state.keygroups.bench.EmptyProvider"
}
"""A provider that keeps nothing, in the place of a job's own."""

ABORTABLE: Final = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager"
    )
}
"""Spark's file manager for object stores: it uploads a file under its final name, without a rename."""


@dataclass(frozen=True)
class Provider:
    """A state store provider under test.

    Attributes:
        name: Short name, as on the command line and in the tables.
        title: What it is, for the tables' notes.
        family: Providers that differ in settings only; ours is compared with the best of a family.
        provider_class: Class name for ``spark.sql.streaming.stateStore.providerClass``.
        conf: Settings it is recommended to run with, beyond the class.
        counts_keys: Whether it tells the number of keys.
    """

    name: str
    title: str
    family: str
    provider_class: str
    conf: dict[str, str] = field(default_factory=dict)
    counts_keys: bool = True


_TUNED: Final = {f"{_ROCKSDB}.changelogCheckpointing.enabled": "true", f"{_ROCKSDB}.blockCacheSizeMB": "512"}
_ROCKSDB_CLASS: Final = f"{_SPARK_STATE}.RocksDBStateStoreProvider"
_OUR_CLASS: Final = "io.keygroups.spark.KeyGroupStateStoreProvider"

PROVIDERS: Final = {
    provider.name: provider
    for provider in (
        Provider("rocksdb", "Spark's RocksDBStateStoreProvider", "rocksdb", _ROCKSDB_CLASS, _TUNED),
        Provider(
            "rocksdb-untracked",
            "the same without the count of keys",
            "rocksdb",
            _ROCKSDB_CLASS,
            {**_TUNED, f"{_ROCKSDB}.trackTotalNumberOfRows": "false"},
            counts_keys=False,
        ),
        Provider(
            "hdfs", "Spark's HDFSBackedStateStoreProvider", "hdfs", f"{_SPARK_STATE}.HDFSBackedStateStoreProvider"
        ),
        Provider(BASELINE, "Keygroups of another commit", BASELINE, _OUR_CLASS),
        Provider(OURS, "Keygroups", OURS, _OUR_CLASS),
    )
}


def memory_budget(nbytes: int) -> dict[str, str]:
    """Give the setting that lets our state take so much memory outside of the heap."""
    return {f"{_STATE_STORE}.keyGroups.memoryBudget": str(nbytes)}


def our_jars(home: Path = REPOSITORY) -> list[Path]:
    """Find the jar of the shim for the installed pyspark in a checkout; empty when it has not been built."""
    minor = ".".join(__version__.split(".")[:2])
    return sorted((home / "provider" / "keygroups" / "jars").glob(f"keygroups-spark{minor}_*.jar"))


def child_environment(python: str, home: Path) -> dict[str, str]:
    """Build the environment of a measuring process: this interpreter, a checkout's package, no other Spark settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    tests = REPOSITORY / "tests"
    paths = [str(home / "provider"), str(tests), os.environ.get("PYTHONPATH", "")]
    fixed = {"PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**kept, **fixed, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def start_session(job: Job, harness: str, flags: str) -> SparkSession:
    """Start a local session with two cores; only the provider's own settings differ from one provider to the next.

    Args:
        job: What is measured.
        harness: Jar of the Scala harness.
        flags: JVM flags beyond the heap's size.
    """
    provider = PROVIDERS[job.provider]
    conf = {
        "spark.driver.memory": job.heap,
        "spark.driver.extraJavaOptions": flags,
        "spark.driver.extraClassPath": os.pathsep.join([harness, *job.jars, *map(str, our_jars(job.home))]),
        "spark.local.dir": str(job.folder / "local"),
        "spark.sql.warehouse.dir": str(job.folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        f"{_STATE_STORE}.maintenanceInterval": "10s",
        f"{_STATE_STORE}.providerClass": provider.provider_class,
        **provider.conf,
        **job.conf,
    }
    builder = SparkSession.builder.master("local[2]").appName(f"bench-{provider.name}")
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def stop_session(spark: SparkSession) -> None:
    """Stop the session and wait until its JVM is gone, so that it takes no time from what is measured next."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_EXIT_SECONDS)
