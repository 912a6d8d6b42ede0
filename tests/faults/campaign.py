"""One fault, many times: jobs run until it was injected often enough, and their rows are compared."""

from __future__ import annotations

import random
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from faults.answers import Batches, same_answers
from faults.injectors import Injector, disk
from faults.table import Fault
from keygroups.settings import PREFIX
from remote.jobs import Job
from support.processes import below, beside, wait_for

PATCHES = Path(__file__).with_name("patches")
RESTARTS = 30
"""A job that needs more of them can't go on."""
IDLE_RUNS = 10


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

    def __add__(self, other: Result) -> Result:
        return Result(
            self.injected + other.injected,
            self.runs + other.runs,
            self.restarts + other.restarts,
            self.equal and other.equal,
        )


@dataclass
class Campaign:
    """Jobs on the same input that are disturbed by the same fault.

    Attributes:
        fault: what goes wrong.
        seed: of all random moments.
        folder: for everything; may exist.
        classes: the compiled Scala classes of the tests.
        source: folder of input files.
        expected: the rows of each batch.
    """

    fault: Fault
    seed: int
    folder: Path
    classes: Path
    source: Path
    expected: Batches

    def __post_init__(self) -> None:
        self._rng = random.Random(f"{self.fault.title} {self.seed}")
        self._interpreter = self.folder / "interpreter"
        self._log = self._interpreter / "log"
        if self.fault.patch:
            self._make_interpreter()

    def run(self, times: int) -> Result:
        """Run jobs until the fault was injected often enough, or rows are wrong.

        Raises:
            AssertionError: a job can't go on; with the end of its log.
        """
        result = Result()
        while result.injected < times and result.equal:
            folder, before = self.folder / str(result.runs), self._from_inside()
            with ExitStack() as stack:
                job, injector = self._prepare(folder, stack)
                while not self._attempt(job, injector, result, times):
                    result.restarts += 1
                    going = result.restarts <= RESTARTS * (result.runs + 1)
                    assert going, f"seed {self.seed}: the job can't go on\n{job.log()[-8000:]}"
                wait_for(partial(_is_quiet, folder))
            result.runs += 1
            result.injected += self._from_inside() - before
            assert result.injected or result.runs < IDLE_RUNS, f"seed {self.seed}: the fault never happens"
            result.equal = same_answers(job.rows()[self.fault.query], self.expected)
            if result.equal:
                shutil.rmtree(folder)
        return result

    def _prepare(self, folder: Path, stack: ExitStack) -> tuple[Job, Injector | None]:
        """A job that was not started yet, and what disturbs it."""
        fault, injector = self.fault, self.fault.injector
        conf = {**fault.conf, PREFIX + "compactionFanout": "2", PREFIX + "compression": "none"}
        if fault.small:
            place = stack.enter_context(disk(folder / fault.small, 64))
            injector = partial(fault.harm, place)
            conf |= {PREFIX + "localDir": str(place.path)} if fault.small == "local" else {}
        if fault.patch:
            conf[PREFIX + "python"] = str(self._interpreter / "python")
        checkpoint = str(folder / "checkpoint")
        return Job(folder / "job", self.source, checkpoint, conf, str(self.classes), queries=[fault.query]), injector

    def _make_interpreter(self) -> None:
        """An interpreter for the store process with something wrong in it."""
        self._interpreter.mkdir(parents=True)
        shutil.copy(PATCHES / f"{self.fault.patch}.py", self._interpreter / "sitecustomize.py")
        given = {"FAULT_SEED": self.seed, "FAULT_STEPS": self.fault.steps, "FAULT_LOG": self._log}
        exports = [f"export {name}={shlex.quote(str(value))}" for name, value in given.items()]
        path = f'export PYTHONPATH={shlex.quote(str(self._interpreter))}:"$PYTHONPATH"'
        script = self._interpreter / "python"
        script.write_text("\n".join(["#!/bin/sh", *exports, path, f'exec {shlex.quote(sys.executable)} "$@"', ""]))
        script.chmod(0o755)

    def _from_inside(self) -> int:
        """How often the store process did it to itself so far."""
        return len(self._log.read_text().splitlines()) if self._log.exists() else 0

    def _attempt(self, job: Job, injector: Injector | None, result: Result, times: int) -> bool:
        """Start a job and disturb it; whether it came to the end of its input."""
        if self.fault.halts:
            step = self._rng.randrange(1, self.fault.steps) if result.injected < times else 0
            halt = f"-XX:TieredStopAtLevel=1 -Dkeygroups.tests.halt={step}"
            job.conf = {**job.conf, "spark.driver.extraJavaOptions": halt}
        process = job.start()
        with _disturbing(process, injector, self.fault.seconds, self._rng) as injected:
            process.communicate()
        result.injected += len(injected) + (self.fault.halts and process.returncode != 0)
        return process.returncode == 0


def _is_quiet(folder: Path) -> bool:
    return not below(folder)


@contextmanager
def _disturbing(
    process: subprocess.Popen[str], injector: Injector | None, seconds: float, rng: random.Random
) -> Iterator[list[None]]:
    injected: list[None] = []

    def disturb(over: threading.Event) -> None:
        with suppress(psutil.NoSuchProcess):  # the job has ended
            job = psutil.Process(process.pid)
            while injector and not over.wait(rng.uniform(0, seconds)) and job.is_running():
                if any(True for _ in job.children()) and injector(job, rng):
                    injected.append(None)

    with beside(disturb):
        yield injected
