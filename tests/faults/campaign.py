"""One fault, many times: jobs run until it was injected often enough, and their rows are compared."""

from __future__ import annotations

import random
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from faults.agent import HALTED, java_options
from faults.injectors import Injector, disk
from faults.interpreter import Interpreter
from faults.table import Fault
from keygroups.settings import PREFIX
from remote.jobs import Job
from support.answers import Batches, same_answers
from support.processes import below, beside, wait_for

RESTARTS = 60
"""A job that needs more of them can't go on: two for each batch. A life that is cut short has one batch or two."""
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
        times: how often at least.
        seed: of all random moments.
        folder: for everything; may exist.
        classes: the compiled Scala classes of the tests.
        source: folder of input files.
        expected: the rows of each batch.
        note: is told the result so far, after each job.
    """

    fault: Fault
    times: int
    seed: int
    folder: Path
    classes: Path
    source: Path
    expected: Batches
    note: Callable[[Result], None] = print

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._rng = random.Random(f"{self.fault.title} {self.seed}")
        given = {"seed": self.seed, "steps": self.fault.steps, "times": self.times}
        patch = self.fault.patch
        self._interpreter = Interpreter(self.folder / "interpreter", patch, **given) if patch else None

    def run(self) -> Result:
        """Run jobs until the fault was injected often enough, or rows are wrong.

        Raises:
            AssertionError: a job can't go on; with the end of its log.
        """
        result = Result()
        while result.injected < self.times and result.equal:
            folder, before = self.folder / str(result.runs), self._from_inside()
            with ExitStack() as stack:
                job, injector = self._prepare(folder, stack)
                while not self._attempt(job, injector, result):
                    result.restarts += 1
                    going = result.restarts <= RESTARTS * (result.runs + 1)
                    assert going, f"seed {self.seed}: the job can't go on\n{job.log()[-8000:]}"
                wait_for(partial(_is_quiet, folder))
            result.runs += 1
            result.injected += self._from_inside() - before
            assert result.injected or result.runs < IDLE_RUNS, f"seed {self.seed}: the fault never happens"
            result.equal = same_answers(job.rows()[self.fault.query], self.expected)
            self.note(result)
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
        if self._interpreter:
            conf[PREFIX + "python"] = str(self._interpreter.path)
        checkpoint = str(folder / "checkpoint")
        return Job(folder / "job", self.source, checkpoint, conf, str(self.classes), queries=[fault.query]), injector

    def _from_inside(self) -> int:
        return self._interpreter.injected() if self._interpreter else 0

    def _attempt(self, job: Job, injector: Injector | None, result: Result) -> bool:
        """Start a job and disturb it; whether it came to the end of its input."""
        halts = self.fault.halts and result.injected < self.times
        if self.fault.halts:
            agent = java_options(self.folder, self._rng.randrange(1, self.fault.steps) if halts else 0)
            job.conf = {**job.conf, "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 {agent}"}
        before = job.log().count(HALTED)
        process = job.start()
        try:
            with _disturbing(process, injector, self.fault.seconds, self._rng) as injected:
                process.communicate()
        finally:
            _end(process)
        result.injected += len(injected) + job.log().count(HALTED) - before
        return process.returncode == 0


def _end(process: subprocess.Popen[str]) -> None:
    """Leave nothing of a job behind that was given up."""
    if process.poll() is None:
        for one in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                one.kill()
        process.kill()
        process.wait()


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
