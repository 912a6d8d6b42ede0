"""Processes that end by themselves, before or after one of their own file operations."""

from __future__ import annotations

import random
from pathlib import Path

from campaigns.faults.injectors.agent import HALTED, java_options
from campaigns.faults.injectors.interpreter import Interpreter
from campaigns.faults.injectors.life import Injector
from keygroups.settings import PREFIX


class Halt(Injector):
    """The JVM halts; its last words in the job's log name the operation."""

    def __init__(self, folder: Path, log: Path, steps: int, times: int) -> None:
        """Halt nothing yet.

        Args:
            folder: for the agent; does not exist.
            log: of the job.
            steps: at one of the first so many operations of its provider a JVM halts.
            times: how often at most.
        """
        folder.mkdir(parents=True)
        self._folder, self._log, self._steps, self._times, self._seen = folder, log, steps, times, 0

    def conf(self, rng: random.Random) -> dict[str, str]:
        """The agent, with the step at which it halts."""
        step = rng.randrange(1, self._steps)
        agent = java_options(self._folder, step if self._seen < self._times else 0)
        return {"spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 {agent}"}

    def afterwards(self) -> list[str]:
        """The operations."""
        lines = self._log.read_text(errors="replace").splitlines()
        found = [line.partition(HALTED)[2] for line in lines if HALTED in line]
        new, self._seen = found[self._seen :], len(found)
        return new


class Cut(Injector):
    """The store process kills itself."""

    def __init__(self, folder: Path, seed: int, steps: int, times: int) -> None:
        """Write its interpreter.

        Args:
            folder: for the interpreter; does not exist.
            seed: of the steps.
            steps: at one of the first so many operations in its local folder a process ends.
            times: how often at most.
        """
        self._interpreter = Interpreter(folder, "cut", seed=seed, steps=steps, times=times)
        self._seen = 0

    def conf(self, _rng: random.Random) -> dict[str, str]:
        """The interpreter."""
        return {PREFIX + "python": str(self._interpreter.path)}

    def afterwards(self) -> list[str]:
        """The operations."""
        found = [_effect(*line.split(maxsplit=2)) for line in self._interpreter.injected()]
        new, self._seen = found[self._seen :], len(found)
        return new


def _effect(when: str, operation: str, place: str) -> str:
    """Relative paths are those of rmtree, mostly when the process ends: a death there changes nothing."""
    return f"{when} {operation}" if place.startswith("/") or operation == "mmap" else ""
