"""One fault, many times: queries take turns until it took effect often enough."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path

from campaigns.faults import record
from campaigns.faults.attempts import Shown
from campaigns.faults.kinds import FAULTS, Fault
from campaigns.faults.queries import QUERIES
from campaigns.faults.record import Entry, Tree
from campaigns.faults.trial import EQUAL, Outcome, Trial

IDLE_RUNS = 10
"""After so many without any effect the fault is taken for one that can't have any."""


@dataclass(frozen=True)
class Campaign:
    """Runs of one fault.

    Attributes:
        name: of the fault.
        fault: what is injected.
        queries: that take turns.
        times: how often it must take effect.
        seed: of the first run; the next run has the next number, so that each can be repeated by itself.
        folder: for the runs; that of a wrong one stays.
        classes: the compiled Scala classes of the tests.
        batches: of the input.
        expected: what undisturbed queries show.
        source: what runs.
        note: is told each run as it ends.
    """

    name: str
    fault: Fault
    queries: Sequence[str]
    times: int
    seed: int
    folder: Path
    classes: Path
    batches: int
    expected: Mapping[str, Shown]
    source: Tree
    note: Callable[[Entry], None]

    def run(self) -> bool:
        """Run until the fault took effect often enough or something is wrong; whether all was right."""
        effective = 0
        for runs, seed, query in zip(count(1), count(self.seed), cycle(self.queries)):
            found = self._once(query, seed)
            effective += found.effective
            if found.result != EQUAL:
                return False
            if effective >= self.times:
                return True
            assert effective or runs < IDLE_RUNS, f"'{self.name}' took no effect in {runs} runs"
        raise AssertionError

    def _once(self, query: str, seed: int) -> Entry:
        start, folder = record.now(), self.folder / f"{self.name.replace(' ', '-')}-{query}-{seed}"
        shutil.rmtree(folder, ignore_errors=True)
        trial = Trial(self.fault, query, seed, folder, self.classes, self.batches, self.expected[query])
        try:
            outcome = trial.run()
        except Exception:  # noqa: BLE001 - it is in the record, as what was wrong
            outcome = Outcome(result=traceback.format_exc())
        found = record.entry(self.name, query, seed, self.batches, self.source, start, outcome)
        self.note(found)
        if found.result == EQUAL:
            shutil.rmtree(folder)
        return found


def suitable(name: str) -> list[str]:
    """The queries that a fault can hit; each fault begins with another, so that a short campaign has most of them."""
    found = [query for query, how in QUERIES.items() if how.python or not FAULTS[name].python]
    first = list(FAULTS).index(name) % len(found)
    return found[first:] + found[:first]
