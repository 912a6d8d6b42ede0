"""The providers that are compared, and the Spark session each of them gets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark import __version__
from pyspark.sql import SparkSession

REPOSITORY: Final = Path(__file__).resolve().parents[2]
BUILD: Final = REPOSITORY / "build" / "bench"
OURS: Final = "keygroups"

_SPARK_STATE: Final = "org.apache.spark.sql.execution.streaming.state"
_STATE_STORE: Final = "spark.sql.streaming.stateStore"
_EXIT_SECONDS: Final = 120  # the JVM deletes its local files on the way out


@dataclass(frozen=True)
class Provider:
    """A state store provider under test.

    Attributes:
        name: Short name, as on the command line and in the tables.
        title: What it is, for the tables' notes.
        provider_class: Class name for ``spark.sql.streaming.stateStore.providerClass``.
        conf: Settings it is recommended to run with, beyond the class.
    """

    name: str
    title: str
    provider_class: str
    conf: dict[str, str] = field(default_factory=dict)


PROVIDERS: Final = {
    provider.name: provider
    for provider in (
        Provider(
            "rocksdb",
            "Spark's RocksDBStateStoreProvider, changelog checkpointing on",
            f"{_SPARK_STATE}.RocksDBStateStoreProvider",
            {f"{_STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true"},
        ),
        Provider("hdfs", "Spark's HDFSBackedStateStoreProvider", f"{_SPARK_STATE}.HDFSBackedStateStoreProvider"),
        Provider(OURS, "KeyGroupStateStoreProvider", "io.keygroups.spark.KeyGroupStateStoreProvider"),
    )
}


def our_jars() -> list[Path]:
    """Find the jar of the shim for the installed pyspark; empty when it has not been built."""
    minor = ".".join(__version__.split(".")[:2])
    return sorted((REPOSITORY / "provider" / "keygroups" / "jars").glob(f"keygroups-spark{minor}_*.jar"))


def child_environment(python: str) -> dict[str, str]:
    """Build the environment of a measuring process: this interpreter, our package, nobody else's Spark settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    tests = REPOSITORY / "tests"
    paths = [str(REPOSITORY / "provider"), str(tests / "bench"), str(tests), os.environ.get("PYTHONPATH", "")]
    fixed = {"PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**kept, **fixed, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def start_session(provider: Provider, classes: Sequence[str], heap: str, scratch: Path, flags: str) -> SparkSession:
    """Start a local session with two cores; only the provider's own settings differ from one provider to the next.

    Args:
        provider: The provider under test.
        classes: Class path beside our jar: the Scala harness, and what a part needs.
        heap: Largest size of the JVM heap, such as ``4g``.
        scratch: Folder for everything the session writes outside checkpoints.
        flags: JVM flags beyond the heap's size.
    """
    conf = {
        "spark.driver.memory": heap,
        "spark.driver.extraJavaOptions": flags,
        "spark.driver.extraClassPath": os.pathsep.join([*classes, *map(str, our_jars())]),
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        f"{_STATE_STORE}.maintenanceInterval": "10s",
        f"{_STATE_STORE}.providerClass": provider.provider_class,
        **provider.conf,
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
