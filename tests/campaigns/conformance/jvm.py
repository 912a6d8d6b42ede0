"""Run a batch of suites in one JVM."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from campaigns.conformance.batches import STATE_READER
from campaigns.conformance.outcomes import Build, Outcome
from campaigns.conformance.places import AGENT, BUILD, CLASS_PATH, CLASSES, PYSPARK, REPOSITORY, SUITES
from campaigns.conformance.suites import OURS

PACKAGE: Final = "org.apache.spark.sql."
SECONDS: Final = 1800
"""After this long a batch is stopped."""
PROVIDER: Final = "io.keygroups.spark.KeyGroupStateStoreProvider"
OPENED: Final = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs", "sun.security.action",
    "sun.util.calendar", "jdk.internal.ref",
)  # fmt: skip
MEMORY_DISK: Final = Path("/dev/shm")
MEMORY_BYTES: Final = 4 << 30
"""Free space for which the temporary files of a JVM go to the memory disk."""


def run_batch(suites: list[str], build: Build) -> dict[str, Outcome]:
    """Run suites in one JVM; logs and reports go to ``build/conformance/logs``.

    A suite that stops the JVM gets an outcome that is not finished; those that would have come after it get none.
    """
    logs = BUILD / "logs" / suites[0].rpartition(".")[2]
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    home = Path(tempfile.mkdtemp(prefix="conformance-", dir=_temporary()))
    command = [*_java(suites, home), "-oW", "-u", str(logs)]
    with (logs / "log").open("w") as out:
        environment = os.environ | _environment()
        try:
            subprocess.run(command, cwd=home, env=environment, stdout=out, stderr=out, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            out.write(f"\nstopped after {SECONDS} s\n")
    shutil.rmtree(home, ignore_errors=True)
    return outcomes_of(suites, logs, build)


def _temporary() -> Path:
    on_memory = MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free > MEMORY_BYTES
    return MEMORY_DISK if on_memory else BUILD


def _java(suites: list[str], home: Path) -> list[str]:
    conf = {
        "testing": "1",
        "test.home": home,
        "ui.enabled": "false",
        "sql.streaming.stateStore.providerClass": PROVIDER,
        "sql.extensions": "io.keygroups.spark.KeyGroupExtensions",
        # Spark's StateStore.stop waits this long (300 s by default) for maintenance that waits for a lock of stop's.
        "sql.streaming.stateStore.maintenanceShutdownTimeout": "10s",
        "executor.extraClassPath": CLASS_PATH,  # executors of a local cluster never start without it
    }
    if STATE_READER in suites[0]:
        conf["sql.streaming.stateStore.keyGroups.changeFeed"] = "writes"
    flags = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    flags += [f"-Dspark.{name}={value}" for name, value in conf.items()]
    flags += [f"-javaagent:{AGENT}={SUITES.resolve()}", f"-Djava.io.tmpdir={home}", "-ea", "-Xss4m", "-Xmx4g"]
    if suites[0] != OURS:  # the contract runs on code as C2 compiles it
        flags += ["-XX:TieredStopAtLevel=1"]
    chosen = [part for suite in suites for part in ("-s", PACKAGE + suite)]
    return ["java", *flags, "-cp", CLASS_PATH, "org.scalatest.tools.Runner", "-R", f"{SUITES} {CLASSES}", *chosen]


def _environment() -> dict[str, str]:
    return {
        "SPARK_TESTING": "1",
        "SPARK_SCALA_VERSION": "2.13",  # else its launcher looks for a build of Spark
        "SPARK_HOME": str(PYSPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(REPOSITORY / "provider"),
    }


def outcomes_of(suites: list[str], logs: Path, build: Build) -> dict[str, Outcome]:
    """Read the reports and the log of a batch."""
    text = (logs / "log").read_text(errors="replace")
    stores = _stores(text)
    outcomes: dict[str, Outcome] = {}
    for suite in suites:
        short = suite.rpartition(".")[2]
        report = logs / f"TEST-{PACKAGE}{suite}.xml"
        if not report.exists():
            outcomes[suite] = Outcome(build.commit, build.jar, 0, [], False, stores[short], 0)
            break
        made = ET.parse(report).getroot()
        failed = [test.attrib["name"] for test in made.iter("testcase") if test.find("failure") is not None]
        ran = [test for test in made.iter("testcase") if test.find("skipped") is None]
        finished = not re.search(rf"^(\S*\.)?{short} \*\*\* ABORTED \*\*\*", text, re.MULTILINE)
        passed, seconds = len(ran) - len(failed), float(made.attrib["time"])
        outcomes[suite] = Outcome(build.commit, build.jar, passed, failed, finished, stores[short], seconds)
    return outcomes


def _stores(log: str) -> Counter[str]:
    """Count the stores that our provider opened, by suite: each test's log begins with a line that names its suite."""
    stores: Counter[str] = Counter()
    suite = ""
    line = re.compile(rf"===== TEST OUTPUT FOR \S*?(\w+): |INFO {PROVIDER.rpartition('.')[2]}: opens ")
    for found in line.finditer(log):
        if found[1]:
            suite = found[1]
        else:
            stores[suite] += 1
    return stores
