"""The command line and `keygroups.configure`, without a JVM."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

import keygroups
from keygroups.configure import EXTENSIONS, EXTENSIONS_SETTING, PROVIDER, PROVIDER_CLASS, jars
from keygroups.errors import SettingError, VersionError
from keygroups.settings import PREFIX
from keygroups.tools.main import main

# By import it is out of reach: the package has a function of this name.
MODULE = sys.modules["keygroups.configure"]


@pytest.fixture(autouse=True)
def jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make the package hold jars for Spark 4.3 and 4.10, in a folder with a blank in its name."""
    folder = tmp_path / "the jars"
    folder.mkdir()
    for name in ("keygroups-spark4.10_2.13.jar", "keygroups-spark4.3_2.13.jar", "unrelated.jar"):
        (folder / name).touch()
    monkeypatch.setattr(MODULE, "_JARS", folder)
    monkeypatch.setattr(MODULE, "pyspark_version", lambda: "4.3.0")
    return folder / "keygroups-spark4.3_2.13.jar"


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def options(builder: SparkSession.Builder) -> dict[str, str]:
    found: dict[str, str] = builder._options
    return found


def test_flags_survive_the_shell(jar: Path) -> None:
    words = shlex.split(run("conf", "--python", "/opt/my env/python", "--set", "overlayBytes=128m").output)
    assert words[:2] == ["--jars", str(jar)]
    assert words[2::2] == ["--conf"] * 4
    assert words[3::2] == [
        f"{PROVIDER_CLASS}={PROVIDER}",
        f"{EXTENSIONS_SETTING}={EXTENSIONS}",
        f"{PREFIX}overlayBytes=128m",
        f"{PREFIX}python=/opt/my env/python",
    ]


def test_defaults_are_lines_of_a_properties_file(jar: Path) -> None:
    output = run("conf", "--format", "defaults", "--set", r"localDir=C:\state").output
    assert output.splitlines() == [
        f"spark.jars {jar}",
        f"{PROVIDER_CLASS} {PROVIDER}",
        f"{EXTENSIONS_SETTING} {EXTENSIONS}",
        rf"{PREFIX}localDir C:\\state",
    ]


def test_json_is_an_object_of_settings(jar: Path) -> None:
    output = run("conf", "--format", "json").output
    wanted = {"spark.jars": str(jar), PROVIDER_CLASS: PROVIDER, EXTENSIONS_SETTING: EXTENSIONS}
    assert json.loads(output) == wanted


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--set", "overlay=1"], f"{PREFIX}overlay is not a setting: did you mean {PREFIX}overlayBytes?"),
        (["--set", "overlayBytes"], "--set is not valid (expected NAME=VALUE, found 'overlayBytes')"),
        (["--set", "maxSegments=few"], f"{PREFIX}maxSegments is not valid (expected a whole number from 4 to 256"),
        (["--spark", "3.5.1"], "keygroups has no jar for this Spark (expected Spark 4.3 or 4.10, found 3.5.1)"),
    ],
)
def test_errors_are_one_sentence(words: list[str], sentence: str) -> None:
    result = run("conf", *words)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {sentence}")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_wrong_usage_has_its_own_exit_code() -> None:
    assert run("conf", "--format", "yaml").exit_code == 2


def test_version_lists_what_runs_here(jar: Path) -> None:
    lines = run("version").output.splitlines()
    assert lines == [
        f"keygroups {keygroups.__version__}",
        f"jar for Spark 4.3: {jar}",
        f"jar for Spark 4.10: {jar.with_name('keygroups-spark4.10_2.13.jar')}",
        f"Python {platform.python_version()}: {sys.executable}",
        "pyspark 4.3.0",
    ]


def test_configure_switches_the_provider_on(jar: Path) -> None:
    builder = SparkSession.Builder().master("local[2]")
    assert keygroups.configure(builder, overlayBytes="128m", maxSegments=32) is builder
    assert options(builder) == {
        "spark.master": "local[2]",
        "spark.jars": str(jar),
        PROVIDER_CLASS: PROVIDER,
        EXTENSIONS_SETTING: EXTENSIONS,
        f"{PREFIX}overlayBytes": "128m",
        f"{PREFIX}maxSegments": "32",
        f"{PREFIX}python": sys.executable,
    }


@pytest.mark.parametrize(
    ("master", "python", "expected"),
    [
        (None, None, sys.executable),
        ("local[*]", "/opt/python", "/opt/python"),
        ("yarn", None, None),
        ("spark://host:7077", "/opt/python", "/opt/python"),
    ],
)
def test_only_a_local_master_gets_this_interpreter(
    master: str | None, python: str | None, expected: str | None
) -> None:
    builder = SparkSession.Builder().master(master) if master else SparkSession.Builder()
    assert options(keygroups.configure(builder, python=python)).get(f"{PREFIX}python") == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PYSPARK_GATEWAY_PORT", "7070", None),
        ("PYSPARK_SUBMIT_ARGS", "--master yarn pyspark-shell", None),
        ("PYSPARK_SUBMIT_ARGS", "--packages a:b:1 pyspark-shell", sys.executable),
    ],
)
def test_a_master_may_be_named_outside_of_the_builder(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str | None
) -> None:
    monkeypatch.setenv(name, value)
    assert options(keygroups.configure(SparkSession.Builder())).get(f"{PREFIX}python") == expected


@pytest.mark.parametrize(("python", "expected"), [(None, "/opt/mine"), ("/opt/python", "/opt/python")])
def test_configure_keeps_the_interpreter_that_the_builder_names(python: str | None, expected: str) -> None:
    builder = SparkSession.Builder().master("local[2]").config(f"{PREFIX}python", "/opt/mine")
    assert options(keygroups.configure(builder, python=python))[f"{PREFIX}python"] == expected


def test_configure_keeps_other_jars_and_adds_its_own_once(jar: Path) -> None:
    builder = SparkSession.Builder().config("spark.jars", "/a.jar,/b.jar")
    keygroups.configure(keygroups.configure(builder))
    assert options(builder)["spark.jars"] == f"/a.jar,/b.jar,{jar}"


def test_configure_refuses_before_it_changes_anything() -> None:
    builder = SparkSession.Builder()
    with pytest.raises(SettingError, match="did you mean"):
        keygroups.configure(builder, overlay_bytes=1)
    assert options(builder) == {}


def test_configure_refuses_a_connect_client() -> None:
    with pytest.raises(SettingError, match="Spark Connect"):
        keygroups.configure(SparkSession.Builder().remote("sc://host"))


def test_the_jar_fits_the_installed_pyspark(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert keygroups.jar_path() == jar
    assert list(jars()) == ["4.3", "4.10"]
    monkeypatch.setattr(MODULE, "pyspark_version", lambda: None)
    assert keygroups.jar_path() == jars()["4.10"]
    monkeypatch.setattr(MODULE, "pyspark_version", lambda: "3.5.1")
    with pytest.raises(VersionError, match=r"expected Spark 4\.3 or 4\.10, found 3\.5\.1"):
        keygroups.jar_path()


def test_a_package_without_a_jar_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(MODULE, "_JARS", tmp_path / "none")
    with pytest.raises(VersionError, match="no jar"):
        keygroups.jar_path()
    assert run("conf").exit_code == 1
    assert "jar: none" in run("version").output


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (None, "offsets"),
        (b"v1\n\xff", "utf-8"),
        (b"v1", "index out of range"),
        (b"v1\n[]", "object"),
    ],
)
def test_mend_says_what_cannot_be_read(tmp_path: Path, log: bytes | None, found: str) -> None:
    """Nothing is deleted."""
    if log is None:
        (tmp_path / "offsets").write_text("a file")
    else:
        (tmp_path / "offsets").mkdir()
        for batch in range(2):
            (tmp_path / "offsets" / str(batch)).write_bytes(log)
    done = run("mend", str(tmp_path), "--apply")
    assert done.exit_code == 1
    assert "the offset log cannot be read" in done.output
    assert found in done.output


def test_mend_passes_over_a_query_that_names_no_partitions(tmp_path: Path) -> None:
    """As one without state."""
    (tmp_path / "offsets").mkdir()
    for batch in range(2):
        (tmp_path / "offsets" / str(batch)).write_text('v1\n{"conf": {}}')
    assert "nothing to repair" in run("mend", str(tmp_path)).output
