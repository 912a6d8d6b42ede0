"""The Spark session of the tests, and the names of the state store providers."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from keygroups.configure import PROVIDER, configure, jars

ROOT = Path(__file__).resolve().parents[2]
STATE = "org.apache.spark.sql.execution.streaming.state"
PROVIDERS = {
    "keygroups": PROVIDER,
    "rocksdb": f"{STATE}.RocksDBStateStoreProvider",
    "hdfs": f"{STATE}.HDFSBackedStateStoreProvider",
    "forgetful": f"{STATE}.ForgetfulProvider",
}
"""Short name to class name; the forgetful one is wrong on purpose."""
SECRET = "KEYGROUPS_TESTS_SECRET_KEY"
"""A variable in the environment of the JVM that no other process may see."""

# 40 short queries are over before C2 pays: with C1 alone the differential tests take half of the processor time.
# C1 alone has 48 MB for compiled code, which the whole suite fills; then the JVM fails at odd places.
_C1 = "-XX:TieredStopAtLevel=1"
# What users run. Our own methods are compiled by C2 after a 50th of the usual calls: tests are short.
_C2 = "-XX:CompileCommand=quiet -XX:CompileCommand=CompileThresholdScaling,io/keygroups/*::*,0.02"
_COMPILER = {"c1": _C1, "c2": _C2}[os.environ.get("KEYGROUPS_COMPILER", "c1")]
_JVM = f"{_COMPILER} -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": _JVM,
    "spark.hadoop.fs.file.impl": "keygroups.tests.QuietFileSystem",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
}


def prepare_environment() -> None:
    """Makes Python workers use this interpreter and find the tests and the package; local time becomes UTC."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["TZ"] = "UTC"
    os.environ[SECRET] = "a secret of the executor"
    time.tzset()
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(ROOT / "tests"), str(ROOT / "provider"), *known]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in dict.fromkeys(paths) if path)


def build_session(extra_classes: Path, scratch: Path) -> SparkSession:
    """Starts a session on local[2], with our provider where its jar was built.

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
    session = (configure(builder) if jars() else builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def session_with(spark: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """Returns a session of the same application with settings of its own."""
    session = spark.newSession()
    for key, value in conf.items():
        session.conf.set(key, value)
    return session
