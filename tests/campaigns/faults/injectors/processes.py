"""kill -9 of processes that are at work."""

from __future__ import annotations

import contextlib
import random
import re
import time
from pathlib import Path

import psutil

from campaigns.faults.injectors.life import Injector, Life

STORE, EXECUTOR, DRIVER, WORKER = "keygroups.bridge", "CoarseGrainedExecutorBackend", "SparkSubmit", "pyspark.daemon"
DIED = r"store process (?:\(pid {pid}\) (?:died in|did not answer) '(\w+)'|can't (start) with)"
LOST_EXECUTOR = r"Lost task .*(ExecutorLostFailure)"
LOST_TASK = r"Lost task .*?: ([\w.]*(?:Exception|Error))"
BATCH_SECONDS = 0.5
WORK_SECONDS = 6.0
"""Within which a process should have something to do."""
AGES = (0.0, 2.0, 4.0, 6.0)
"""In seconds, one of which a busy process must have reached: if it always died while it starts, no batch would end."""


class Kill(Injector):
    """kill -9 of one of the processes below the job."""

    def __init__(self, word: str, evidence: str, *, busy: bool = False, leaves: bool = False) -> None:
        """Kill nothing yet.

        Args:
            word: in the command line of the process.
            evidence: pattern of the line in the log that says what the killed process was doing; it may have {pid}.
            busy: kill while one of its threads runs, not while all wait.
            leaves: only processes that one of the same kind has forked.
        """
        self._word, self._evidence, self._busy, self._leaves = word, evidence, busy, leaves

    def strike(self, life: Life, rng: random.Random) -> str | None:
        """Kill one, and look in the log for the work that failed."""
        process = self._choose(life, rng)
        if process is None:
            return None
        start = life.written()
        process.kill()
        return life.find(self._evidence.format(pid=process.pid), start)

    def _choose(self, life: Life, rng: random.Random) -> psutil.Process | None:
        deadline = time.monotonic() + WORK_SECONDS
        skip = rng.randrange(6)  # looks at a busy process: it is killed somewhere within its call
        age = rng.choice(AGES)
        while found := processes(life.process, self._word, leaves=self._leaves):
            process = rng.choice(found)
            if not self._busy or (_is_running(process, age) and (skip := skip - 1) < 0):
                return process
            if time.monotonic() > deadline or life.over.wait(0.0005):
                return None
        return None


class KillDriver(Injector):
    """kill -9 of the driver's JVM."""

    def __init__(self, batches: int) -> None:
        """Kill nothing yet; batch number ``batches`` is the one that ends the job."""
        self._batches = batches

    def strike(self, life: Life, rng: random.Random) -> str | None:
        """Let it run some batches, then kill it; the effect is the batch that it leaves unfinished."""
        planned = life.planned() + rng.randrange(5)
        while life.planned() < min(planned, self._batches - 1):
            if life.over.wait(0.02):
                return None
        life.over.wait(rng.uniform(0, BATCH_SECONDS))
        drivers = processes(life.process, DRIVER)
        if not drivers:
            return None
        rng.choice(drivers).kill()
        psutil.wait_procs(drivers)
        batch = life.running_batch()
        return "batch was running" if batch is not None and batch < self._batches else ""


def processes(job: psutil.Process, word: str, *, leaves: bool = False) -> list[psutil.Process]:
    """Processes below a job with a word in their command line."""
    with contextlib.suppress(psutil.NoSuchProcess):
        below = job.children(recursive=True)
        return [p for p in below if _has(p, word) and (not leaves or _has(p.parent(), word))]
    return []


def _has(process: psutil.Process | None, word: str) -> bool:
    try:
        return process is not None and any(word in part for part in process.cmdline())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def _is_running(process: psutil.Process, age: float) -> bool:
    """Whether it is that old and one of its threads is on a processor, waits for one, or for a disk."""
    if time.time() < process.create_time() + age:
        return False
    with contextlib.suppress(OSError):
        stats = [path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/stat")]
        return any(re.search(r"\) [RD] ", stat) for stat in stats)
    return False
