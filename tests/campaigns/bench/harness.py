"""The Scala harness: compiling it, and the Python view of it."""

from __future__ import annotations

import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Protocol, cast

from pyspark.sql import SparkSession

from campaigns.bench.providers import BUILD, REPOSITORY

sys.path.insert(0, str(REPOSITORY / "jvm-shim"))
from build import SCALAC, java_command, pyspark_jars  # the shim's own way to its compiler

__all__ = ["BenchStore", "build_jar", "heap_after_gc", "java_command", "jvm_pid", "new_store", "sampler"]

_PACKAGE: Final = "org.apache.spark.sql.execution.streaming.state.keygroups.bench"
_SOURCES: Final = Path(__file__).resolve().parent / "scala"


class BenchStore(Protocol):
    """One store under test; see ``scala/BenchStore.scala``. Integers that methods return are nanoseconds."""

    def open(self, version: int) -> int: ...
    def begin(self) -> int: ...
    def load(self) -> int: ...
    def loadSome(self, first: int, count: int) -> int: ...  # noqa: N802
    def get(self, first: int, count: int) -> int: ...
    def put(self, first: int, count: int) -> int: ...
    def iterate(self) -> int: ...
    def commit(self) -> int: ...
    def abort(self) -> None: ...
    def maintain(self) -> int: ...
    def maintainInBackground(self) -> None: ...  # noqa: N802
    def isMaintaining(self) -> bool: ...  # noqa: N802
    def awaitMaintenance(self) -> None: ...  # noqa: N802
    def close(self) -> None: ...
    def version(self) -> int: ...
    def bytesPerRow(self) -> int: ...  # noqa: N802


class Sampler(Protocol):
    """Samples threads of the JVM; see ``scala/Sampler.scala``."""

    def start(self, frame: str) -> None: ...
    def stop(self) -> dict[str, int]: ...


class _BenchStoreClass(Protocol):
    def __call__(self, session: object, checkpoint: str, keys: int, value_longs: int) -> BenchStore: ...
    def heapAfterGc(self) -> int: ...  # noqa: N802


def build_jar() -> Path:
    """Compile the harness with the Scala compiler of the installed pyspark, unless the jar is newer than its sources.

    Raises:
        SystemExit: There is no pyspark or no java, or the sources do not compile.
    """
    jars = pyspark_jars()
    sources = sorted(_SOURCES.glob("*.scala"))
    jar = BUILD / "bench.jar"
    if jar.exists() and all(jar.stat().st_mtime > path.stat().st_mtime for path in (*sources, jars)):
        return jar
    BUILD.mkdir(parents=True, exist_ok=True)
    command = [java_command(), "-Xss8m", "-cp", f"{jars}/*", "scala.tools.nsc.Main", *SCALAC, "-d", str(jar)]
    if subprocess.run([*command, *map(str, sources)], check=False).returncode:
        sys.exit("the benchmark harness does not compile")
    return jar


def new_store(spark: SparkSession, checkpoint: Path | str, keys: int, value_longs: int) -> BenchStore:
    """Make an unopened store of ``keys`` keys under a checkpoint folder of its own, a path or a URL."""
    return _class(spark)(cast(Any, spark)._jsparkSession, str(checkpoint), keys, value_longs)


def heap_after_gc(spark: SparkSession) -> int:
    """Collect garbage in the JVM and return the bytes of heap still in use."""
    return _class(spark).heapAfterGc()


def jvm_pid(spark: SparkSession) -> int:
    """Return the process id of the session's JVM."""
    return int(cast(Any, spark)._jvm.java.lang.ProcessHandle.current().pid())


def sampler(spark: SparkSession) -> Sampler:
    """Return the sampler of the session's JVM."""
    return cast(Sampler, attrgetter(f"{_PACKAGE}.Sampler")(cast(Any, spark)._jvm))


def _class(spark: SparkSession) -> _BenchStoreClass:
    return cast(_BenchStoreClass, attrgetter(f"{_PACKAGE}.BenchStore")(cast(Any, spark)._jvm))
