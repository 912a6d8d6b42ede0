"""The commands of conf/standalone.md, as they stand, on a standalone cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from integration.cluster import standalone as cluster_module
from integration.cluster.environment import borrowed
from integration.cluster.standalone import SPARK_HOME, Cluster, standalone
from integration.docs.blocks import ALL, Block
from support.outside import environment
from support.processes import beside

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

INSTALL, ONE_JOB, ALL_JOBS, ARCHIVE, PACKAGE = (block for block in ALL if block.page == "conf/standalone.md")
JOB = """\
import json
import pathlib

from pyspark.sql import SparkSession

here = pathlib.Path(__file__).parent
spark = SparkSession.builder.config("spark.cores.max", 2).config("spark.executor.memory", "1g").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", 2)
spark.range(1000).selectExpr("id % 7 AS word").write.mode("overwrite").json(f"{here}/words")
words = spark.readStream.schema("word BIGINT").json(f"{here}/words").groupBy("word").count()
writer = words.writeStream.outputMode("complete").format("memory").queryName("counts")
writer.option("checkpointLocation", f"{here}/checkpoint").trigger(availableNow=True).start().awaitTermination()
rows = {row["word"]: row["count"] for row in spark.table("counts").collect()}
pathlib.Path(f"{here}/rows.json").write_text(json.dumps(rows, sort_keys=True))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Spark of the test's own: recipes write into it."""
    folder = tmp_path_factory.mktemp("home") / "spark"
    for name in ("jars", "conf"):
        (folder / name).mkdir(parents=True)
    for path in SPARK_HOME.iterdir():
        if path.name not in ("jars", "conf"):
            (folder / path.name).symlink_to(path)
    for path in (SPARK_HOME / "jars").iterdir():
        (folder / "jars" / path.name).symlink_to(path)
    return folder


@pytest.fixture(scope="module")
def running(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_module, "SPARK_HOME", home)
        with standalone(tmp_path_factory.mktemp("cluster")) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def installed(home: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment that the first recipe makes, as on each machine."""
    folder = tmp_path_factory.mktemp("installed")
    variables = {"KEYGROUPS": str(folder / "keygroups"), "WHEEL": str(wheel), "SPARK_HOME": str(home)}
    _run(INSTALL.script, folder, variables)
    return folder / "keygroups"


@pytest.mark.parametrize("recipe", [ONE_JOB, ARCHIVE, PACKAGE, ALL_JOBS], ids=["job", "archive", "package", "all-jobs"])
def test_recipe(recipe: Block, running: Cluster, home: Path, installed: Path, wheel: Path, tmp_path: Path) -> None:
    """The last one changes the Spark, so it comes last."""
    (tmp_path / "job.py").write_text(JOB)
    variables = {"KEYGROUPS": str(installed), "WHEEL": str(wheel), "SPARK_HOME": str(home), "MASTER": running.url}
    if recipe == PACKAGE:
        variables["PYTHON"] = str(borrowed(tmp_path / "bare", None))
    expected = {PACKAGE: variables.get("PYTHON"), ARCHIVE: "/./environment/bin/python"}
    interpreters: set[str] = set()
    earlier = set(running.stores())

    def look(over: threading.Event) -> None:
        while not over.wait(0.1):
            for store in set(running.stores()) - earlier:
                with suppress(psutil.NoSuchProcess):
                    interpreters.add(store.cmdline()[0])

    with beside(look):
        _run(recipe.script, tmp_path, variables)
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert rows == {str(word): 143 - (word == 6) for word in range(7)}
    assert list((tmp_path / "checkpoint").glob("state/0/*/v*.arrows"))
    assert interpreters
    ending = expected.get(recipe) or str(installed / "bin" / "python")
    assert all(path.endswith(ending) for path in interpreters), interpreters


def _run(script: str, folder: Path, variables: dict[str, str]) -> None:
    # The driver needs a pyspark; its Python code is not what this page is about.
    env = environment() | {"PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": sys.executable} | variables
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{script}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
