"""kill -9 at every stage: results equal an undisturbed run, nothing is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from support.answers import same_answers
from support.processes import beside

JOB = Path(__file__).with_name("job.py")
BATCHES = 8
KEYS = 3000
ROWS = 4000
Expected = dict[int, list[list[object]]]


def write_input(folder: Path, rng: random.Random) -> Expected:
    """Write the input files; the rows that each batch must give, computed without Spark."""
    (folder / "input").mkdir(parents=True)
    (folder / "output").mkdir()
    counts: dict[str, list[int]] = {}
    expected: Expected = {}
    for batch in range(BATCHES):
        rows = [{"key": f"key-{rng.randrange(KEYS)}", "value": rng.randrange(1000)} for _ in range(ROWS)]
        path = folder / "input" / f"{batch:03}.json"
        path.write_text("\n".join(json.dumps(row) for row in rows))
        os.utime(path, (1_700_000_000 + batch, 1_700_000_000 + batch))
        for row in rows:
            count = counts.setdefault(str(row["key"]), [0, 0])
            count[0] += 1
            count[1] += int(str(row["value"]))
        expected[batch] = sorted([key, *counts[key]] for key in {str(row["key"]) for row in rows})
    return expected


def start_job(folder: Path) -> subprocess.Popen[str]:
    """Start the query in a process of its own."""
    return subprocess.Popen([sys.executable, str(JOB), str(folder)], stdout=subprocess.PIPE, text=True)


def results(folder: Path) -> Expected:
    """What each batch gave."""
    return {int(p.stem): json.loads(p.read_text()) for p in (folder / "output").glob("*.json")}


def assert_nothing_left(folder: Path) -> None:
    """No process of the job lives on, and none of our local folders."""
    deadline = time.monotonic() + 20
    while (left := _processes(folder) or _folders(folder)) and time.monotonic() < deadline:
        threading.Event().wait(0.1)
    assert not left, f"left behind: {left}"


def _folders(folder: Path) -> list[object]:
    return [path for path in folder.glob("local/**/keygroups-*") if path.is_dir()]


def _processes(folder: Path) -> list[object]:
    found: list[object] = []
    for process in psutil.process_iter():
        try:
            is_server = any("keygroups.bridge" in word for word in process.cmdline())
            if is_server and process.cwd().startswith(str(folder)):
                found.append(process)
        except psutil.Error:
            continue
    return found


@contextmanager
def killing(folder: Path, pattern: str, times: int) -> Iterator[list[str]]:
    """kill -9 the server process whenever a file that matches ``pattern`` shows up in its folder, ``times`` times."""
    killed: list[str] = []

    def look(over: threading.Event) -> None:
        for path in folder.glob(f"local/*/keygroups-*/{pattern}"):
            if _kill_server(folder):
                killed.append(path.name)
                over.wait(3)  # the next batch on the new process
                return

    def watch(over: threading.Event) -> None:
        while not over.wait(0.0005) and len(killed) < times:
            with contextlib.suppress(FileNotFoundError):  # a folder may go while it is listed
                look(over)

    with beside(watch):
        yield killed


def _kill_server(folder: Path) -> bool:
    for process in _processes(folder):
        assert isinstance(process, psutil.Process)
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
            return True
    return False


@pytest.mark.parametrize(
    ("moment", "pattern"),
    [
        pytest.param("while rows flow", "*.chunk", marks=pytest.mark.slow),
        pytest.param("while a chunk is sorted", "store-*/segments/*.arrows", marks=pytest.mark.slow),
        ("in a commit", "store-*/v*.arrows"),
        pytest.param("in maintenance", "store-*/s*.arrows", marks=pytest.mark.slow),
    ],
)
def test_server_killed(tmp_path: Path, moment: str, pattern: str) -> None:
    """The tasks fail, Spark retries them on a new process, and no row is lost or counted twice."""
    expected = write_input(tmp_path, random.Random(moment))
    with killing(tmp_path, pattern, times=3) as killed:
        assert start_job(tmp_path).wait(200) == 0
    assert killed, f"the moment '{moment}' never came"
    assert results(tmp_path) == expected
    assert_nothing_left(tmp_path)


@pytest.mark.slow
def test_failed_task_is_retried(tmp_path: Path) -> None:
    """A task that fails half way leaves nothing that its next attempt could see."""
    expected = write_input(tmp_path, random.Random(1))
    (tmp_path / "fail").touch()
    assert start_job(tmp_path).wait(200) == 0
    assert results(tmp_path) == expected
    assert_nothing_left(tmp_path)


def between_batches(job: subprocess.Popen[str], rng: random.Random) -> None:
    """Wait for the end of some batch."""
    wanted = rng.randrange(1, 4)
    for _ in range(wanted):
        assert job.stdout is not None
        if not job.stdout.readline():
            return


def within_a_batch(job: subprocess.Popen[str], rng: random.Random) -> None:
    """Wait for the end of some batch and a bit longer."""
    between_batches(job, rng)
    threading.Event().wait(rng.uniform(0, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("moment", [between_batches, within_a_batch])
def test_driver_killed(
    tmp_path: Path, any_seed: int, moment: Callable[[subprocess.Popen[str], random.Random], None]
) -> None:
    """The query goes on from its checkpoint in a new driver."""
    rng = random.Random(any_seed)
    expected = write_input(tmp_path, rng)
    for _ in range(3):
        job = start_job(tmp_path)
        moment(job, rng)
        _kill_tree(job.pid)
        job.wait()
        assert_nothing_left(tmp_path)
    assert start_job(tmp_path).wait(200) == 0
    assert same_answers(results(tmp_path), expected), f"--seed {any_seed}"
    assert_nothing_left(tmp_path)


def _kill_tree(pid: int) -> None:
    """kill -9 of Python driver and JVM, but not of the store process, which has to notice by itself."""
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children()]
    except psutil.NoSuchProcess:
        return
    for process in family:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
