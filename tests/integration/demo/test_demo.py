"""The demo's command, run on a few days in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from keygroups.demo import budget, session
from keygroups.demo.data import load_flights, load_weather
from keygroups.errors import SettingError

HERE = Path(__file__).parent
PACKAGE = Path(session.__file__).parents[2]
END = datetime(2013, 1, 5, tzinfo=timezone.utc)


class Done(NamedTuple):
    """A run of the demo on the first four days, and its folder."""

    process: subprocess.CompletedProcess[str]
    folder: Path


def test_missing_java_names_the_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SettingError, match="install Java 17"):
        session.check_java()


def test_old_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SettingError, match=r"too old.*expected 17, found 1\b"):
        session.check_java()


def python(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, where the package is found whether or not it is installed."""
    paths = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, env=environment)


def demo(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return python("-m", "keygroups.demo", *words)


PARAMS = [pytest.param(p, marks=[] if p == "keygroups" else pytest.mark.slow) for p in session.PROVIDERS]


@pytest.fixture(scope="module", params=PARAMS)
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("demo") / "run"
    process = demo("--provider", request.param, "--folder", folder, "--days", "4", "--days-per-batch", "2")
    return Done(process, folder)


@pytest.mark.slow
def test_the_demo_of_keyed_state(tmp_path: Path) -> None:
    """Days of all aircraft, and in the state those that were over their budget."""
    process = demo("--state", "--folder", tmp_path / "run", "--days", "4", "--days-per-batch", "2")
    assert process.returncode == 0, process.stdout + process.stderr
    lines = process.stdout.splitlines()
    assert lines[-1] == "All checks OK"
    (summary,) = [words for line in lines if (words := line.split())[:1] == ["budget"] and words[-1] == "OK"]
    flights = load_flights().query("tailnum == tailnum and time_hour < @END")
    days = flights.groupby(["tailnum", flights["scheduled"].dt.floor("D")])["dep_delay"]
    over = days.agg(lambda delays: delays.clip(lower=0).sum()) > budget.BUDGET
    assert int(summary[3].replace(",", "")) == len(over)
    assert int(summary[6].replace(",", "")) == over.groupby("tailnum").any().sum()


def test_demo_shows_each_batch_and_all_checks(done: Done) -> None:
    assert done.process.returncode == 0, done.process.stdout + done.process.stderr
    lines = done.process.stdout.splitlines()
    assert lines[-1] == "All checks OK"
    for query in ("delays", "aircraft", "conditions"):
        *batches, summary = [line.split() for line in lines if line.startswith(query + " ")]
        assert [words[1] for words in batches[:3]] == ["0", "1", "2"]
        assert summary[-1] == "OK"
        assert list((done.folder / "checkpoint" / query / "state" / "0" / "1").iterdir())


def test_demo_is_quiet(done: Done) -> None:
    assert "Exception" not in done.process.stdout + done.process.stderr
    assert len(done.process.stderr.splitlines()) <= 2  # Java's note on the vector module


def test_delays_equal_those_of_pandas(done: Done) -> None:
    flights = first_days(load_flights(), "scheduled")
    groups = flights.assign(hour=flights["scheduled"].dt.floor("h")).groupby(["hour", "carrier"])["dep_delay"]
    expected = groups.agg(["size", "count", "mean", "max"])
    found = answer(done, "delays").set_index(["hour", "carrier"]).sort_index()
    assert list(found.index) == list(expected.index)
    assert list(found["flights"]) == list(expected["size"])
    assert list(found["cancelled"]) == list(expected["size"] - expected["count"])
    np.testing.assert_array_equal(found["mean_delay"], expected["mean"])
    np.testing.assert_array_equal(found["worst_delay"], expected["max"])


def test_aircraft_equal_those_of_pandas(done: Done) -> None:
    expected = first_days(load_flights(), "scheduled")["tailnum"].dropna().unique()
    assert sorted(answer(done, "aircraft")["tailnum"]) == sorted(expected)


def test_conditions_equal_those_of_pandas(done: Done) -> None:
    flights, weather = first_days(load_flights(), "scheduled"), first_days(load_weather(), "time_hour")
    expected = flights.merge(weather, "left", ["origin", "time_hour"])
    keys = ["scheduled", "carrier", "flight", "origin"]
    found = answer(done, "conditions").sort_values(keys, ignore_index=True)
    expected = expected.sort_values(keys, ignore_index=True)[list(found.columns)]
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_exact=True)


def first_days(frame: pd.DataFrame, time: str) -> pd.DataFrame:
    return frame[frame[time] < END]


def answer(done: Done, query: str) -> pd.DataFrame:
    # Hours and minutes only: nothing is lost when Spark's nanoseconds become the microseconds of the feed.
    frame: pd.DataFrame = pq.read_table(done.folder / "answer" / query).to_pandas()
    for name in frame.columns.intersection(["hour", "scheduled", "time_hour"]):
        frame[name] = pd.to_datetime(frame[name], utc=True)
    return frame


@pytest.mark.slow
def test_wrong_answer_fails_the_demo(tmp_path: Path) -> None:
    words = ("--provider", "hdfs", "--folder", tmp_path / "run", "--days", "2")
    done = python(HERE / "wrong_demo.py", *words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "NOT EQUAL" in done.stdout
    assert "1 rows missing, 0 rows wrong" in done.stdout
    assert "expected 1 times, found 0 times: hour=2013-01-01 14:00:00, carrier=HA, flights=1" in done.stdout
    assert done.stdout.splitlines()[-1] == "WRONG: delays"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = python(HERE / "compare_cases.py", tmp_path_factory.mktemp("compare"))
    assert done.returncode == 0, done.stderr
    cases: dict[str, Any] = json.loads(done.stdout)
    return cases


@pytest.mark.parametrize(
    ("case", "missing", "extra"),
    [
        ("same, other order", 0, 0),
        ("value", 1, 1),
        ("null for a value", 1, 1),
        ("missing", 1, 0),
        ("twice", 0, 1),
        ("empty", 4, 0),
    ],
)
def test_compare_counts_each_difference(judged: dict[str, Any], case: str, missing: int, extra: int) -> None:
    verdict = judged[case]
    assert (verdict["missing"], verdict["extra"]) == (missing, extra)
    assert verdict["ok"] == (not missing and not extra) == (not verdict["examples"])
    assert (verdict["expected"], verdict["found"]) == (4, 4 - missing + extra)


def test_compare_refuses_other_columns(judged: dict[str, Any]) -> None:
    assert judged["columns"].startswith("The columns differ: expected [('carrier', 'string'), ('delay', 'double')]")


def test_demo_needs_a_new_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    done = demo("--folder", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: the demo needs a new folder")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_missing_package_names_the_fix() -> None:
    script = "import runpy, sys; sys.modules['pandas'] = None; runpy.run_module('keygroups.demo', run_name='__main__')"
    done = python("-c", script)
    assert done.returncode == 1
    assert done.stderr.strip() == "Error: the demo needs pandas: run `pip install 'spark-keygroups[demo]'`"
