"""The wheel, installed into an empty environment, is all that a user needs."""

from __future__ import annotations

import json
import venv
import zipfile
from pathlib import Path

import pytest

from keygroups import __version__
from keygroups.configure import PROVIDER, PROVIDER_CLASS
from support.outside import run
from support.spark import ROOT

JAR = "keygroups/jars/keygroups-spark4.3_2.13.jar"
EXTENSION = "META-INF/services/org.apache.spark.sql.SparkSessionExtensionsProvider"


@pytest.fixture(scope="module")
def binaries(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel and its dependencies into an empty environment, and give its folder of programs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    run(folder, folder / "bin" / "python", "-m", "pip", "install", "--quiet", wheel)
    return folder / "bin"


def test_wheel_holds_what_the_package_reads(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "provider" / "keygroups"
    modules = {path.relative_to(package.parent).as_posix() for path in package.rglob("*.py")}
    assert modules | {JAR, "keygroups/settings.json", "keygroups/py.typed"} <= names
    assert not [name for name in names if name.startswith("tests") or "__pycache__" in name]


def test_jar_holds_what_the_shim_reads(wheel: Path, tmp_path: Path) -> None:
    jar = zipfile.ZipFile(zipfile.ZipFile(wheel).extract(JAR, tmp_path))
    resources = "io/keygroups/spark"
    assert f"{PROVIDER.replace('.', '/')}.class" in jar.namelist()
    assert jar.read(EXTENSION) == b"io.keygroups.spark.KeyGroupExtensions\n"
    assert jar.read(f"{resources}/settings.json") == (ROOT / "provider/keygroups/settings.json").read_bytes()
    assert jar.read(f"{resources}/keygroups.properties").decode() == f"version={__version__}\nspark=4.3\n"


def test_command_line_without_spark(binaries: Path, tmp_path: Path) -> None:
    lines = run(tmp_path, binaries / "keygroups", "version").splitlines()
    assert lines[0] == f"keygroups {__version__}"
    assert lines[-1] == "pyspark is not installed"
    conf = json.loads(run(tmp_path, binaries / "keygroups", "conf", "--format", "json"))
    assert conf[PROVIDER_CLASS] == PROVIDER
    assert conf["spark.jars"].endswith(f"site-packages/{JAR}")
    assert Path(conf["spark.jars"]).is_file()


def test_store_process_can_be_imported_without_spark(binaries: Path, tmp_path: Path) -> None:
    run(tmp_path, binaries / "python", "-c", "import keygroups.bridge")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_query_through_the_wheel(wheel: Path, binaries: Path, tmp_path: Path) -> None:
    run(tmp_path, binaries / "python", "-m", "pip", "install", "--quiet", f"spark-keygroups[spark] @ {wheel.as_uri()}")
    printed = run(tmp_path, binaries / "python", ROOT / "tests" / "integration" / "install" / "count.py", tmp_path)
    assert json.loads(printed.splitlines()[-1]) == {"a": 3, "b": 4, "c": 1, "d": 1}
    assert PROVIDER in (tmp_path / "checkpoint" / "offsets" / "3").read_text(encoding="utf-8")
    (folder := tmp_path / "keyed").mkdir()
    printed = run(tmp_path, binaries / "python", ROOT / "tests" / "integration" / "install" / "keyed.py", folder)
    assert json.loads(printed.splitlines()[-1]) == [[["a", 1], ["a", 2], ["b", 1]]] * 2
