"""What each suite showed when it last ran, kept in ``outcomes.json``."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import asdict, dataclass
from typing import Final

from campaigns.conformance.places import HERE, SHIM
from support.engine_files import engine_commit

FILE: Final = HERE / "outcomes.json"


@dataclass(frozen=True)
class Build:
    """What was tested.

    Attributes:
        commit: the last commit of the engine, with ``+changes`` when they hold uncommitted changes.
        jar: the first 12 digits of the jar's SHA-256.
    """

    commit: str
    jar: str

    @classmethod
    def current(cls) -> Build:
        """Describe the build in this checkout."""
        return cls(engine_commit(), hashlib.sha256(SHIM.read_bytes()).hexdigest()[:12])


@dataclass(frozen=True)
class Outcome:
    """The result of one suite.

    Attributes:
        commit: of the build; so is the jar.
        jar: see ``Build``.
        succeeded: how many tests passed.
        failed: tests that failed, those with a reason too.
        finished: whether the suite ran to its end.
        stores: how many stores our provider opened.
        seconds: how long it took.
    """

    commit: str
    jar: str
    succeeded: int
    failed: list[str]
    finished: bool
    stores: int
    seconds: float

    @property
    def build(self) -> Build:
        """What was tested."""
        return Build(self.commit, self.jar)


class Outcomes:
    """The last outcome of each suite, as the file has it.

    Args:
        keeps: whether new ones are written to the file, whose outcomes are published.
    """

    def __init__(self, *, keeps: bool) -> None:
        """Read the file, if there is one."""
        self._keeps, self._lock = keeps, threading.Lock()
        read = json.loads(FILE.read_text()) if FILE.exists() else {}
        self.of = {suite: Outcome(**outcome) for suite, outcome in read.items()}

    def has(self, suite: str, build: Build) -> bool:
        """Say whether a suite has run to its end on a build."""
        outcome = self.of.get(suite)
        return outcome is not None and outcome.finished and outcome.build == build

    def keep(self, suite: str, outcome: Outcome) -> None:
        """Add an outcome in place of the suite's last one."""
        with self._lock:
            self.of[suite] = outcome
            if not self._keeps:
                return
            lines = [f"{json.dumps(name)}: {json.dumps(asdict(self.of[name]))}" for name in sorted(self.of)]
            unfinished = FILE.with_suffix(".tmp")
            unfinished.write_text("{\n" + ",\n".join(lines) + "\n}\n")
            unfinished.replace(FILE)
