"""The record of all runs: one line of JSON each, only ever added to, and kept in the repository."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from campaigns.faults.trial import Outcome
from support.engine_files import ENGINE
from support.spark import ROOT

PATH = Path(__file__).with_name("record.jsonl")


@dataclass(frozen=True)
class Entry:
    """A run of a query under a fault.

    Attributes:
        fault: its short name.
        query: its name.
        seed: of all random moments.
        batches: of the input.
        commit: what was checked out.
        engine: the last commit that touched the provider or the shim.
        dirty: whether files of these two differed from it.
        start: when the run began, UTC.
        end: when it ended.
        injected: how often the fault was injected.
        effective: how often it took effect.
        effects: how often, by what it hit.
        restarts: how often the job had to be started again.
        attempts: attempts at batches whose rows were compared.
        result: "equal", or what was wrong.
    """

    fault: str
    query: str
    seed: int
    batches: int
    commit: str
    engine: str
    dirty: bool
    start: str
    end: str
    injected: int
    effective: int
    effects: Mapping[str, int]
    restarts: int
    attempts: int
    result: str


@dataclass(frozen=True)
class Tree:
    """The source tree that runs; the same over one campaign, whatever is committed meanwhile."""

    commit: str
    engine: str
    dirty: bool


def tree() -> Tree:
    """Look at the repository."""
    engine = _git("log", "-1", "--format=%h", "--abbrev=12", "--", *ENGINE)
    changed = _git("status", "--porcelain", "--", *ENGINE)
    return Tree(_git("rev-parse", "--short=12", "HEAD"), engine, bool(changed))


def now() -> str:
    """The time, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def entry(fault: str, query: str, seed: int, batches: int, source: Tree, start: str, outcome: Outcome) -> Entry:
    """An entry of a run that has just ended."""
    return Entry(
        fault=fault,
        query=query,
        seed=seed,
        batches=batches,
        **asdict(source),
        start=start,
        end=now(),
        injected=outcome.injected,
        effective=outcome.effective,
        effects=dict(outcome.effects),
        restarts=outcome.restarts,
        attempts=outcome.attempts,
        result=outcome.result,
    )


def append(found: Entry, path: Path = PATH) -> None:
    """Add an entry."""
    with path.open("a") as record:
        record.write(json.dumps(asdict(found)) + "\n")


def load(path: Path = PATH) -> list[Entry]:
    """All entries, the oldest first."""
    return [Entry(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
