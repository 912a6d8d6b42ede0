"""Compile the shim and pack it: ``python jvm-shim/build.py [--spark-jars DIR] [--output JAR]``.

The Scala compiler and the Spark that the shim is compiled against both come from the jars of an installed pyspark, so
there is nothing to install but a JDK. The same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

SHIM: Final = Path(__file__).resolve().parent
PACKAGE: Final = SHIM.parent / "provider" / "keygroups"
RESOURCES: Final = "io/keygroups/spark"
SERVICES: Final = {"org.apache.spark.sql.SparkSessionExtensionsProvider": "io.keygroups.spark.KeyGroupExtensions"}
SCALA: Final = "2.13"
SCALAC: Final = ("-usejavacp", "-release", "17", "-deprecation", "-feature", "-Xlint", "-Werror", "-encoding", "UTF-8")
EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the first date that a zip file can hold


def main() -> None:
    """Build the jar that the command line asks for."""
    parser = argparse.ArgumentParser(description="Compile the shim and pack it into a jar.")
    parser.add_argument("--spark-jars", type=Path, help="folder with Spark's jars (default: those of pyspark)")
    parser.add_argument("--output", type=Path, help="the jar to write (default: the place in the Python package)")
    options = parser.parse_args()
    jars = options.spark_jars or pyspark_jars()
    spark = spark_minor(jars)
    output = options.output or PACKAGE / "jars" / f"keygroups-spark{spark}_{SCALA}.jar"
    with tempfile.TemporaryDirectory() as folder:
        classes = Path(folder)
        compile_shim(jars, spark, classes)
        add_resources(spark, classes)
        pack(classes, output)
    print(f"{output.name}: Spark {spark}, {output.stat().st_size} bytes")


def pyspark_jars() -> Path:
    """Find the jars of the pyspark that this Python has."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        sys.exit(f"pyspark is not installed for {sys.executable}: install it, or name Spark's jars with --spark-jars")
    return Path(spec.origin).parent / "jars"


def spark_minor(jars: Path) -> str:
    """Read Spark's minor version, such as 4.3, off the name of its core jar."""
    found = [
        re.fullmatch(rf"spark-core_{SCALA}-(\d+\.\d+)\..*\.jar", jar.name) for jar in jars.glob("spark-core_*.jar")
    ]
    minors = [match[1] for match in found if match]
    if len(minors) != 1:
        sys.exit(
            f"{jars} holds no Spark for Scala {SCALA} (expected one spark-core_{SCALA}-*.jar, found {len(minors)})"
        )
    return minors[0]


def sources(spark: str) -> list[str]:
    """List the Scala files of the shim with the layer for this minor of Spark."""
    layer = SHIM / f"spark-{spark}"
    if not layer.is_dir():
        layers = ", ".join(sorted(path.name for path in SHIM.glob("spark-*")))
        sys.exit(f"the shim has no layer for Spark {spark} (expected {layer}, found {layers or 'none'})")
    return sorted(str(path) for folder in (SHIM / "src", layer) for path in folder.rglob("*.scala"))


def compile_shim(jars: Path, spark: str, classes: Path) -> None:
    """Compile the sources into a folder of classes; the compiler's messages go to the terminal."""
    java = java_command()
    command = [java, "-Xss8m", "-cp", f"{jars}/*", "scala.tools.nsc.Main", *SCALAC, "-d", str(classes), *sources(spark)]
    if subprocess.run(command, check=False).returncode:
        sys.exit("the shim does not compile")


def java_command() -> str:
    """Find java: that of JAVA_HOME, else the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    return java or sys.exit("there is no java on PATH or in JAVA_HOME: install a JDK 17")


def add_resources(spark: str, classes: Path) -> None:
    """Add what is read at run time: the settings' declarations, the versions, and what Spark finds by itself."""
    folder = classes / RESOURCES
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("settings.json", "conversions.json"):
        shutil.copy(PACKAGE / name, folder)
    version = runpy.run_path(str(PACKAGE / "_version.py"))["__version__"]
    (folder / "keygroups.properties").write_text(f"version={version}\nspark={spark}\n", encoding="ascii")
    services = classes / "META-INF" / "services"
    services.mkdir(parents=True)
    for service, provider in SERVICES.items():
        (services / service).write_text(f"{provider}\n", encoding="ascii")


def pack(classes: Path, output: Path) -> None:
    """Write the jar: entries sorted by name, all of one date, put in place in one step."""
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = output.with_suffix(".tmp")
    with zipfile.ZipFile(unfinished, "w") as jar:
        for name, data in entries(classes):
            info = zipfile.ZipInfo(name, EPOCH)
            info.external_attr = 0o644 << 16
            jar.writestr(info, data, zipfile.ZIP_DEFLATED, 9)
    unfinished.replace(output)


def entries(classes: Path) -> Iterator[tuple[str, bytes]]:
    """Give the entries of the jar, the manifest first as the format asks."""
    yield "META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n"
    for path in sorted(path for path in classes.rglob("*") if path.is_file()):
        yield path.relative_to(classes).as_posix(), path.read_bytes()


if __name__ == "__main__":
    main()
