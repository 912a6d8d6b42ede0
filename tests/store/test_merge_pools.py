"""The pools in which an executor's stores merge and upload."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark
import pytest

from keygroups.configure import jars
from support.scala_classes import compile_classes

SOURCES = Path(__file__).parent / "scala"
UPLOADS = 2


def test_the_pools_of_merges(request: pytest.FixtureRequest) -> None:
    """What a commit waits for goes first; merges that wait for their upload, each with a file, are few."""
    jar = jars()[".".join(pyspark.__version__.split(".")[:2])]
    classes = compile_classes(request.config.cache.mkdir("scala-store"), SOURCES, jar)
    path = os.pathsep.join([f"{Path(pyspark.__file__).parent}/jars/*", str(jar), str(classes)])
    command = ["java", "-Xmx128m", "-cp", path, "io.keygroups.spark.versions.MergePoolsMain"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    processors, *found = done.stdout.splitlines()
    merges = max(1, int(processors.removeprefix("processors ")) // 4)
    most, newest = 2 * UPLOADS + merges, UPLOADS + merges
    assert found == ["order ceabd", f"begun {most} {most + 1}", f"begun beside {newest} {newest + 1}"]
