"""The hash of a key's columns, by which Spark partitions an operator's rows, without a projection for each session."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark
import pytest

from keygroups.configure import jars
from support.scala_classes import compile_classes

SOURCES = Path(__file__).parent / "scala"
PROJECTED = ("DECIMAL(38,4)", "STRING COLLATE UTF8_LCASE", "FLOAT", "DOUBLE", "ARRAY<INT>", "all")
ROWS = 300


def test_hash_of_every_type_of_key_is_sparks(request: pytest.FixtureRequest) -> None:
    jar = jars()[".".join(pyspark.__version__.split(".")[:2])]
    classes = compile_classes(request.config.cache.mkdir("scala-store"), SOURCES, jar)
    path = os.pathsep.join([f"{Path(pyspark.__file__).parent}/jars/*", str(jar), str(classes)])
    command = ["java", "-Xmx256m", "-cp", path, "io.keygroups.spark.keys.KeyHashMain"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert not done.returncode, done.stderr
    found = dict(line.rsplit(": ", 1) for line in done.stdout.splitlines())
    assert len(found) == 22
    for name, outcome in found.items():
        assert outcome == f"{'projected' if name in PROJECTED else 'shared'}, {ROWS} equal, true", name
