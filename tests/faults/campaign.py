"""One fault, many times: jobs run until it was injected often enough, and their rows are compared."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from faults import injectors
from faults.injectors import Injector
from keygroups.settings import PREFIX
from remote.jobs import Job, Rows, write_input

BATCHES = 30
Batches = dict[int, list[Any]]
"""The rows of each batch; a row begins with its key."""
CLUSTER = {"spark.master": "local-cluster[2,1,1024]", "spark.task.maxFailures": "20"}
RETRIES = {"spark.master": "local[2,20]"}
MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
HALTS = {MANAGER: "keygroups.tests.HaltingFileManager"}
# Jumps back by an hour each second second.
CLOCK = """import time
_real, _real_ns = time.time, time.time_ns
time.time = lambda: _real() - 3600 * (int(_real()) % 2)
time.time_ns = lambda: _real_ns() - 3_600_000_000_000 * (_real_ns() // 1_000_000_000 % 2)
"""


@dataclass(frozen=True)
class Fault:
    """A kind of fault.

    Attributes:
        title: what goes wrong.
        conf: of the job.
        injector: does it while the job runs; None where the job's own settings do.
        seconds: longest pause between two of them.
        query: that is disturbed.
        small: which of the job's places is a small file system: checkpoint or local.
        halts: the JVM halts by itself, at a step of file operations.
        clock: the store process's clock jumps back.
    """

    title: str
    conf: Mapping[str, str] = field(default_factory=dict)
    injector: Injector | None = None
    seconds: float = 1.5
    query: str = "aggregation"
    small: str = ""
    halts: bool = False
    clock: bool = False


FAULTS = {
    "store": Fault("kill -9 of a store process", RETRIES, injectors.kill(injectors.STORE)),
    "executor": Fault("kill -9 of an executor", CLUSTER, injectors.kill(injectors.EXECUTOR), seconds=6),
    "worker": Fault(
        "kill -9 of a Python worker", RETRIES, injectors.kill(injectors.WORKER, leaves=True), query="transform"
    ),
    "driver": Fault("kill -9 of the driver", {}, injectors.kill(injectors.DRIVER), seconds=25),
    "halt": Fault("power off before or after a step of a file operation on state", HALTS, halts=True),
    "checkpoint full": Fault("full checkpoint store", RETRIES, small="checkpoint", seconds=20),
    "checkpoint read-only": Fault("read-only checkpoint store", RETRIES, small="checkpoint", seconds=20),
    "local full": Fault("full local disk", RETRIES, small="local", seconds=8),
    "clock": Fault("clock of the store process jumps back an hour, every other second", {}, clock=True),
}


@dataclass
class Result:
    """What came of a fault.

    Attributes:
        injected: how often it happened.
        runs: jobs that were run to the end of their input.
        restarts: how often a job had to be started again.
        equal: whether the rows of all of them were right.
    """

    injected: int = 0
    runs: int = 0
    restarts: int = 0
    equal: bool = True


def undisturbed(folder: Path, query: str) -> Rows:
    """What Spark's RocksDB provider gives."""
    write_input(folder / "in", range(BATCHES), rows=400)
    return Job(folder / "job", folder / "in", str(folder / "checkpoint"), provider="rocksdb", queries=[query]).run()


def same_answers(found: Batches, expected: Batches) -> bool:
    """Whether after each batch the answers so far are those of the undisturbed run after as many files.

    Not batch by batch: when Spark has noted a file but fails to note the batch, its next batch takes two files.
    """
    left = iter(_answers(expected))
    answers = list(_answers(found))
    return answers[-1:] == list(_answers(expected))[-1:] and all(any(a == e for e in left) for a in answers)


def _answers(batches: Batches) -> Iterator[dict[str, list[object]]]:
    """The latest row of each key, after each batch."""
    latest: dict[str, list[object]] = {}
    for _, rows in sorted(batches.items()):
        latest = latest | {row[0]: row[1:] for row in rows}
        yield latest


def campaign(name: str, times: int, seed: int, folder: Path, classes: Path) -> Result:
    """Run jobs until a fault was injected often enough.

    Args:
        name: of the fault.
        times: how often at least.
        seed: of all random moments.
        folder: for everything; deleted first.
        classes: the compiled Scala classes of the tests.
    """
    shutil.rmtree(folder, ignore_errors=True)
    fault, rng, result = FAULTS[name], random.Random(f"{name} {seed}"), Result()
    expected = undisturbed(folder / "undisturbed", fault.query)
    while result.injected < times:
        with ExitStack() as stack:
            job, injector = _prepare(
                name, fault, folder / str(result.runs), folder / "undisturbed" / "in", classes, stack
            )
            while not _attempt(fault, job, injector, rng, result):
                result.restarts += 1
        result.runs += 1
        result.equal &= same_answers(job.rows()[fault.query], expected[fault.query])
        if not result.equal:
            return result
        shutil.rmtree(folder / str(result.runs - 1))
    return result


def _prepare(
    name: str, fault: Fault, folder: Path, source: Path, classes: Path, stack: ExitStack
) -> tuple[Job, Injector | None]:
    conf, injector = (
        dict(fault.conf) | {PREFIX + "compactionFanout": "2", PREFIX + "compression": "none"},
        fault.injector,
    )
    checkpoint = folder / "checkpoint"
    if fault.small:
        place = stack.enter_context(injectors.disk(folder / fault.small, 64))
        injector = place.protect if name.endswith("read-only") else place.fill
        conf |= {PREFIX + "localDir": str(place.path)} if fault.small == "local" else {}
    if fault.clock:
        conf |= {PREFIX + "python": str(_odd_interpreter(folder))}
    job = Job(folder / "job", source, str(checkpoint), conf, str(classes), queries=[fault.query])
    return job, injector


def _odd_interpreter(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(CLOCK)
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return script


def _attempt(fault: Fault, job: Job, injector: Injector | None, rng: random.Random, result: Result) -> bool:
    """Start a job and disturb it; whether it came to the end of its input."""
    if fault.halts:
        halt = f"-Dkeygroups.tests.halt={rng.randrange(1, 400)}"
        job.conf = dict(job.conf) | {"spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 {halt}"}
    process = job.start()
    with _disturbing(process, injector, fault.seconds, rng) as injected:
        process.communicate()
    result.injected += len(injected) + (fault.halts and process.returncode != 0) + fault.clock * BATCHES
    return process.returncode == 0


@contextmanager
def _disturbing(
    process: subprocess.Popen[str], injector: Injector | None, seconds: float, rng: random.Random
) -> Iterator[list[None]]:
    injected: list[None] = []
    done = threading.Event()

    def disturb() -> None:
        job = psutil.Process(process.pid)
        while injector and not done.wait(rng.uniform(0, seconds)) and job.is_running():
            if any(True for _ in job.children()) and injector(job, rng):
                injected.append(None)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        yield injected
    finally:
        done.set()
        thread.join()
