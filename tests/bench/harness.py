"""The Scala harness: compiling it, and the Python view of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol, cast

from providers import BUILD
from pyspark.sql import SparkSession

_PACKAGE: Final = "org.apache.spark.sql.keygroups.bench"
_SOURCES: Final = Path(__file__).resolve().parent / "scala"
_OPTIONS: Final = ("-usejavacp", "-release", "17", "-deprecation", "-feature", "-Xlint", "-Werror")


class BenchStore(Protocol):
    """One store under test; see ``scala/BenchStore.scala``. Integers that methods return are nanoseconds."""

    def open(self, version: int) -> int: ...
    def begin(self) -> int: ...
    def load(self) -> int: ...
    def get(self, first: int, count: int) -> int: ...
    def put(self, first: int, count: int) -> int: ...
    def iterate(self) -> int: ...
    def commit(self) -> int: ...
    def abort(self) -> None: ...
    def maintain(self) -> int: ...
    def maintainInBackground(self) -> None: ...  # noqa: N802
    def awaitMaintenance(self) -> None: ...  # noqa: N802
    def close(self) -> None: ...
    def version(self) -> int: ...
    def bytesPerRow(self) -> int: ...  # noqa: N802


def build_jar() -> Path:
    """Compile the harness with the Scala compiler of the installed pyspark, unless the jar is newer than its sources.

    Raises:
        SystemExit: There is no pyspark or no java, or the sources do not compile.
    """
    spec = find_spec("pyspark") or sys.exit(f"pyspark is not installed for {sys.executable}: run `make setup`")
    jars = Path(str(spec.origin)).parent / "jars"
    sources = sorted(_SOURCES.glob("*.scala"))
    jar = BUILD / "bench.jar"
    if jar.exists() and all(jar.stat().st_mtime > path.stat().st_mtime for path in (*sources, jars)):
        return jar
    BUILD.mkdir(parents=True, exist_ok=True)
    compiler = [_java(), "-Xss8m", "-cp", f"{jars}/*", "scala.tools.nsc.Main", *_OPTIONS, "-d", str(jar)]
    if subprocess.run([*compiler, *map(str, sources)], check=False).returncode:
        sys.exit("the benchmark harness does not compile")
    return jar


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    return java or sys.exit("there is no java on PATH or in JAVA_HOME: install a JDK 17")


def new_store(spark: SparkSession, checkpoint: Path, keys: int, value_longs: int) -> BenchStore:
    """Make an unopened store of ``keys`` keys under a checkpoint folder of its own."""
    session: Any = spark
    return cast(BenchStore, _package(spark).BenchStore(session._jsparkSession, str(checkpoint), keys, value_longs))


def heap_after_gc(spark: SparkSession) -> int:
    """Collect garbage in the JVM and return the bytes of heap still in use."""
    return int(_package(spark).BenchStore.heapAfterGc())


def jvm_pid(spark: SparkSession) -> int:
    """Return the process id of the session's JVM."""
    return int(cast(Any, spark)._jvm.java.lang.ProcessHandle.current().pid())


def _package(spark: SparkSession) -> Any:
    package = cast(Any, spark)._jvm
    for name in _PACKAGE.split("."):
        package = getattr(package, name)
    return package
