"""One process of a job from its start to its end, as an injector sees it, and what an injector is."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

HIT_SECONDS = 3.0
"""After a fault; a task that has failed is in the log at once."""
ENDING = re.compile("aborting job|terminated with error")


@dataclass(frozen=True)
class Life:
    """One process of a job.

    Attributes:
        process: of the job's Python; the JVM and all others are below it.
        log: what the driver and, in local mode, the tasks have written, in this life and those before.
        checkpoint: of the query.
        over: set when the process has ended.
        born: length of the log before this life.
    """

    process: psutil.Process
    log: Path
    checkpoint: Path
    over: threading.Event
    born: int = 0

    def is_ending(self) -> bool:
        """Whether the query has failed or come to its end: what it says then repeats what failed before."""
        return bool(ENDING.search(self._said(self.born)))

    def written(self) -> int:
        """Length of the log."""
        return self.log.stat().st_size

    def find(self, pattern: str, start: int) -> str:
        """What a pattern matches in the log from there on, within some seconds: the group in it, or nothing."""
        deadline = time.monotonic() + HIT_SECONDS
        while True:
            ended = self.over.is_set()
            match = re.search(pattern, ENDING.split(self._said(start))[0])
            if match or ended or time.monotonic() > deadline:
                return match[match.lastindex or 0] if match else ""
            self.over.wait(0.02)

    def _said(self, start: int) -> str:
        with self.log.open("rb") as log:
            log.seek(start)
            return log.read().decode(errors="replace")

    def running_batch(self) -> int | None:
        """The batch that is in the offset log and not in the commit log."""
        planned = self.planned()
        return planned if planned > _latest(self.checkpoint / "commits") else None

    def planned(self) -> int:
        """The newest batch in the offset log; -1 if there is none."""
        return _latest(self.checkpoint / "offsets")


def _latest(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("*") if path.name.isdigit()), default=-1)


class Injector:
    """Disturbs all lives of one job; this one does nothing.

    Each injector says of a fault how it took effect; an empty text means that it can't have changed anything.
    """

    def conf(self, rng: random.Random) -> Mapping[str, str]:  # noqa: ARG002
        """Settings of the next life."""
        return {}

    def strike(self, life: Life, rng: random.Random) -> str | None:  # noqa: ARG002
        """Do it once; None if it is not possible at this moment."""
        return None

    def afterwards(self) -> list[str]:
        """Effects since the last call of what has struck by itself."""
        return []

    def close(self) -> None:
        """Leave nothing behind."""
