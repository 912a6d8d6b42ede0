"""One query, run to the end of its input while one fault disturbs it, and judged."""

from __future__ import annotations

import random
import subprocess
import threading
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil

from campaigns.faults import job as script
from campaigns.faults.attempts import Shown, read
from campaigns.faults.injectors.life import Injector, Life
from campaigns.faults.injectors.processes import STORE, processes
from campaigns.faults.judge import verdict
from campaigns.faults.kinds import Fault, Place
from campaigns.faults.queries import QUERIES
from integration.remote.jobs import Job
from keygroups.settings import PREFIX
from support.processes import below, beside, wait_for

RESTARTS = 60
"""A job that needs more of them is stuck."""
STRIKES = 2
"""At most, while one batch is the newest: a query gets to its end on a slow machine too."""
EQUAL = "equal"


@dataclass
class Outcome:
    """What a run showed.

    Attributes:
        injected: how often the fault was injected.
        effects: how often it took effect, and on what.
        struck: how often it was injected from outside, by the newest batch then.
        restarts: how often the job had to be started again.
        attempts: attempts at batches that came to their end.
        result: EQUAL, or what was wrong.
    """

    injected: int = 0
    effects: Counter[str] = field(default_factory=Counter)
    struck: Counter[int] = field(default_factory=Counter)
    restarts: int = 0
    attempts: int = 0
    result: str = EQUAL

    @property
    def effective(self) -> int:
        """How often the fault took effect."""
        return self.effects.total()

    def add(self, effect: str | None) -> None:
        """Count a fault."""
        if effect is not None:
            self.injected += 1
            self.effects.update([effect] if effect else [])


@dataclass(frozen=True)
class Trial:
    """A run.

    Attributes:
        fault: what goes wrong.
        query: name of the query.
        seed: of all random moments.
        folder: for everything; does not exist.
        classes: the compiled Scala classes of the tests.
        batches: of the input.
        expected: what an undisturbed run shows.
    """

    fault: Fault
    query: str
    seed: int
    folder: Path
    classes: Path
    batches: int
    expected: Shown

    def run(self) -> Outcome:
        """Run it to its end; what goes wrong, whatever it is, is in the result."""
        outcome, rng = Outcome(), random.Random(f"{self.fault.title} {self.query} {self.seed}")
        job = self._job()
        checkpoint = Path(job.checkpoint) / self.query
        place = Place(self.folder, job.folder / "log", checkpoint, self.seed, self.batches)
        with closing(self.fault.make(place)) as injector:
            while not self._live(job, injector, rng, outcome):
                outcome.restarts += 1
                if outcome.restarts > RESTARTS:
                    outcome.result = f"the job does not get on: {job.log()[-4000:]}"
                    return outcome
            wait_for(partial(_is_quiet, self.folder))
        shown = read(job.folder / "output" / self.query)
        outcome.attempts = sum(map(len, shown.batches.values()))
        outcome.result = verdict(shown, self.expected) or EQUAL
        return outcome

    def _job(self) -> Job:
        conf = {
            **self.fault.conf,
            **QUERIES[self.query].conf,
            PREFIX + "compactionFanout": "2",
            PREFIX + "compression": "none",
            "spark.test.batches": str(self.batches),
            "spark.ui.showConsoleProgress": "false",
            # Else a failure like one within ten seconds before is not in the log.
            "spark.logging.exceptionPrintInterval": "0",
        }
        checkpoint = str(self.folder / "checkpoint")
        path = Path(script.__file__)
        folder = self.folder / "job"
        return Job(folder, folder, checkpoint, conf, str(self.classes), queries=[self.query], script=path)

    def _live(self, job: Job, injector: Injector, rng: random.Random, outcome: Outcome) -> bool:
        """Start the job and disturb it; whether it came to the end of its input."""
        job.conf = {**job.conf, **injector.conf(rng)}
        log = job.folder / "log"
        born = log.stat().st_size if log.exists() else 0
        process = job.start()

        def disturb(over: threading.Event) -> None:
            checkpoint = Path(job.checkpoint) / self.query
            with suppress(psutil.NoSuchProcess):  # the job has ended
                life = Life(psutil.Process(process.pid), log, checkpoint, over, born)
                while not over.wait(rng.uniform(0, self.fault.seconds)):
                    batch = life.planned()
                    if outcome.struck[batch] < STRIKES and processes(life.process, STORE) and not life.is_ending():
                        effect = injector.strike(life, rng)
                        outcome.struck[batch] += effect is not None
                        outcome.add(effect)

        try:
            with beside(disturb):
                process.communicate()
        finally:
            _end(process)
        for effect in injector.afterwards():
            outcome.add(effect)
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
