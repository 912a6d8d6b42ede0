"""The Spark session of the demo: local, quiet, with the state store provider that the user chose."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from keygroups.errors import SettingError

PROVIDERS = ("keygroups", "rocksdb", "hdfs")
"""Our provider, and Spark's own two to compare it with."""

_STATE = "org.apache.spark.sql.execution.streaming.state"
_STORE = "spark.sql.streaming.stateStore"
_BUILT_IN = {
    "rocksdb": {
        f"{_STORE}.providerClass": f"{_STATE}.RocksDBStateStoreProvider",
        f"{_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    },
    "hdfs": {f"{_STORE}.providerClass": f"{_STATE}.HDFSBackedStateStoreProvider"},
}
_JAVA = 17

_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
"""


def start(provider: str, folder: Path, cores: int, partitions: int) -> SparkSession:
    """Start Spark. Its log goes to ``spark.log`` in the folder, not to the terminal.

    Args:
        provider: One of `PROVIDERS`.
        folder: An existing folder for the log.
        cores: Threads that run tasks.
        partitions: Partitions of the state.

    Returns:
        The session.

    Raises:
        SettingError: Java is missing or too old.
    """
    check_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    (folder / "log4j2.properties").write_text(_LOGGING.format(path=folder / "spark.log"))
    builder: SparkSession.Builder = SparkSession.builder
    builder = builder.master(f"local[{cores}]").appName("keygroups demo")
    for name, value in _settings(folder, partitions).items():
        builder = builder.config(name, value)
    return with_provider(builder, provider).getOrCreate()


def with_provider(builder: SparkSession.Builder, provider: str) -> SparkSession.Builder:
    """Enable a state store provider.

    Args:
        builder: The builder of the session.
        provider: One of `PROVIDERS`.

    Returns:
        The builder.
    """
    if provider == "keygroups":
        # Imported here so that the other providers run without the jar of ours.
        from keygroups import configure

        return configure(builder)
    for name, value in _BUILT_IN[provider].items():
        builder = builder.config(name, value)
    return builder


def check_java() -> None:
    """Check that there is a Java that Spark can run on.

    Raises:
        SettingError: Java is missing or too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    fix = f"install Java {_JAVA} (Debian, Ubuntu: apt-get install openjdk-{_JAVA}-jre-headless), or set JAVA_HOME to it"
    if java is None:
        raise SettingError("Spark needs Java, and none was found", path=f"{home}/bin/java" if home else None, fix=fix)
    found = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', found)
    if version and int(version[1]) < _JAVA:
        raise SettingError("Java is too old for Spark", path=java, expected=_JAVA, found=version[1], fix=fix)


def _settings(folder: Path, partitions: int) -> dict[str, str]:
    return {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.numRecentProgressUpdates": "10000",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={(folder / 'log4j2.properties').as_uri()}",
    }
