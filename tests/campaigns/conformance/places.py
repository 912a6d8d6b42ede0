"""Where the conformance run keeps its things, and the class path of its JVMs."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Final

from campaigns.conformance.running import run

HERE: Final = Path(__file__).resolve().parent
REPOSITORY: Final = HERE.parents[2]
BUILD: Final = REPOSITORY / "build" / "conformance"
SPARK: Final = "4.2.0"
PYSPARK: Final = REPOSITORY / "build" / f"pyspark-{SPARK}" / "pyspark"
JARS: Final = BUILD / "test-jars"
SUITES: Final = BUILD / "suites"
CLASSES: Final = BUILD / "classes"
SOURCES: Final = HERE / "scala"
AGENT: Final = BUILD / "agent.jar"
LISTED: Final = BUILD / "listed.txt"
SHIM: Final = REPOSITORY / "provider" / "keygroups" / "jars" / "keygroups-spark4.2_2.13.jar"
CLASS_PATH: Final = os.pathsep.join([str(CLASSES), str(SHIM), str(SUITES), f"{JARS}/*", f"{PYSPARK / 'jars'}/*"])


def prepare() -> set[str]:
    """Download the suites and compile ours, each only when needed, and list Spark's suites of streaming.

    The shim and its Spark are there already: see the Makefile.
    """
    if not SUITES.exists():
        run(["mvn", "-q", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={JARS}"])
        packed = JARS / f"spark-sql_2.13-{SPARK}-tests.jar"
        with zipfile.ZipFile(packed) as jar:
            jar.extractall(SUITES)  # suites that restore recorded checkpoints want files
        packed.unlink()
    sources = sorted(SOURCES.glob("*.scala"))
    if not AGENT.exists() or any(source.stat().st_mtime > AGENT.stat().st_mtime for source in (*sources, SHIM)):
        _compile(sources)
    return set(LISTED.read_text().split())


def _compile(sources: list[Path]) -> None:
    CLASSES.mkdir(parents=True, exist_ok=True)
    compiler = ["scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", str(CLASSES)]
    run(["java", "-Xss8m", "-cp", CLASS_PATH, *compiler, *map(str, sources)])
    LISTED.write_text(run(["java", "-cp", CLASS_PATH, "keygroups.conformance.Suites", str(SUITES)]))
    with zipfile.ZipFile(AGENT, "w") as jar:
        jar.writestr(
            "META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: keygroups.conformance.ProviderAgent\n"
        )
