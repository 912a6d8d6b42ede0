"""How interpreter and package reach the executors; each way is tried with spark-submit."""

from __future__ import annotations

import random
import shlex
import shutil
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

from integration.cluster.environment import borrowed
from integration.cluster.jobs import SETTINGS, assert_nothing_left, run_while
from integration.cluster.standalone import SPARK_HOME, Cluster
from integration.remote.jobs import Job
from keygroups import __version__
from keygroups.configure import jar_path, provider_conf
from keygroups.tools.conf import flags
from support.outside import run
from support.processes import wait_for
from support.spark import ROOT

pytestmark = pytest.mark.slow

Answers = dict[int, list[list[object]]]
SCRIPT = Path(__file__).with_name("job.py")


def submitted(cluster: Cluster, folder: Path, source: Path, conf: Mapping[str, str], *more: object) -> Job:
    """A job that is started with spark-submit."""
    ours = shlex.split(flags({"spark.jars": str(jar_path())} | provider_conf({})))
    given = {"spark.pyspark.driver.python": sys.executable} | dict(conf)
    pairs = [word for name, value in given.items() for word in ("--conf", f"{name}={value}")]
    words = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", cluster.url, *ours, *pairs, *map(str, more)]
    return Job(folder, source, str(folder / "checkpoint"), SETTINGS, queries=["python"], script=SCRIPT, command=words)


def assert_rows(job: Job, cluster: Cluster, expected: Answers) -> None:
    """They are right, and the store processes could not see our sources."""
    paths: list[str] = []

    def look() -> None:
        paths.extend(store.environ()["PYTHONPATH"] for store in wait_for(cluster.stores))

    assert run_while(job, {2}, random.Random(1), look) == {"python": expected}
    assert paths
    assert not [path for path in paths if str(ROOT / "provider") in path]
    assert_nothing_left(job, cluster)


def test_installed(shared: Cluster, python: Path, source: Path, expected: Answers, tmp_path: Path) -> None:
    """On every machine, named by spark.pyspark.python."""
    assert_rows(submitted(shared, tmp_path, source, {"spark.pyspark.python": str(python)}), shared, expected)


def test_named_by_the_executors(shared: Cluster, python: Path, source: Path, expected: Answers, tmp_path: Path) -> None:
    """PYSPARK_PYTHON in the executors' environment; Python functions have the driver's choice, as always in Spark."""
    conf = {"spark.executorEnv.PYSPARK_PYTHON": str(python)}
    assert_rows(submitted(shared, tmp_path, source, conf), shared, expected)


def test_archive(shared: Cluster, wheel: Path, source: Path, expected: Answers, tmp_path: Path) -> None:
    """An environment that is packed and sent along; it is gone from the driver's machine when the job runs."""
    environment, archive = tmp_path / "environment", tmp_path / "environment.tar.gz"
    venv.create(environment, with_pip=True)
    run(tmp_path, environment / "bin" / "python", "-m", "pip", "install", "-q", wheel, "venv-pack", "setuptools<81")
    run(tmp_path, environment / "bin" / "venv-pack", "-q", "--prefix", environment, "--output", archive)
    shutil.rmtree(environment)
    conf = {"spark.pyspark.python": "./environment/bin/python"}
    job = submitted(shared, tmp_path, source, conf, "--archives", f"{archive}#environment")
    assert_rows(job, shared, expected)


@pytest.mark.parametrize("suffix", [".whl", ".zip"])
def test_py_files(shared: Cluster, wheel: Path, source: Path, expected: Answers, tmp_path: Path, suffix: str) -> None:
    """To an interpreter that has what the package needs, but not the package."""
    python = borrowed(tmp_path / "environment", None)
    shipped = Path(shutil.copy(wheel, tmp_path / wheel.with_suffix(suffix).name))
    job = submitted(shared, tmp_path, source, {"spark.pyspark.python": str(python)}, "--py-files", shipped)
    assert_rows(job, shared, expected)


@pytest.mark.parametrize("package", ["keygroups", "pyarrow"])
def test_missing_package(shared: Cluster, wheel: Path, source: Path, tmp_path: Path, package: str) -> None:
    """The query's exception says what to install, where, and how."""
    python = borrowed(tmp_path / "environment", None if package == "keygroups" else wheel, without=[package])
    job = submitted(shared, tmp_path, source, {"spark.pyspark.python": str(python)})
    process = job.start()
    printed, _ = process.communicate()  # spark-submit prints what the job's Python says, errors too
    assert process.returncode
    said = printed.partition("StreamingQueryException")[2]
    start = f"the store process can't start with {python} on "
    fix = f"the Python package '{package}' is missing there: install it with '{python} -m pip install"
    assert start in said
    assert f"{fix} spark-keygroups=={__version__}'" in said
