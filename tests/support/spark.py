"""The Spark session of the tests, and the names of the state store providers."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / "provider" / "keygroups" / "jars"
STATE = "org.apache.spark.sql.execution.streaming.state"
PROVIDERS = {
    "keygroups": "io.keygroups.spark.KeyGroupStateStoreProvider",
    "rocksdb": f"{STATE}.RocksDBStateStoreProvider",
    "hdfs": f"{STATE}.HDFSBackedStateStoreProvider",
}
"""Short name to class name."""

PROVIDER_CLASS = "spark.sql.streaming.stateStore.providerClass"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "500ms",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
}


def own_jar() -> Path | None:
    """Returns our provider's jar, or None if it was not built."""
    return next(iter(sorted(JARS.glob("keygroups-spark*.jar"))), None)


def prepare_environment() -> None:
    """Makes Python workers use this interpreter and find the tests and the package; local time becomes UTC."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["TZ"] = "UTC"
    time.tzset()
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(ROOT / "tests"), str(ROOT / "provider"), *known]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in dict.fromkeys(paths) if path)


def build_session(extra_classes: Path, scratch: Path) -> SparkSession:
    """Starts a session on local[2] with our jar, if there is one, and without choosing a provider.

    Args:
        extra_classes: Folder of compiled test classes for the driver's class path.
        scratch: Folder for Spark's working files and warehouse.
    """
    prepare_environment()
    builder = SparkSession.builder.master("local[2]").appName("keygroups-tests")
    for key, value in _SETTINGS.items():
        builder.config(key, value)
    builder.config("spark.driver.extraClassPath", str(extra_classes))
    builder.config("spark.local.dir", str(scratch / "local"))
    builder.config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
    if jar := own_jar():
        builder.config("spark.jars", str(jar))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Sets configuration values of the session and puts the old ones back."""
    before = {key: spark.conf.get(key, None) for key in values}
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)
