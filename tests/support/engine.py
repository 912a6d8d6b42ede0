"""Runs a case on several providers with the same input and the same restarts, and compares what they show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from support.case import Case, random_settings
from support.events import SCHEMA, Event, random_batches
from support.rows import difference
from support.run import Run
from support.source import FileSource
from support.spark import PROVIDERS

Stream = list[list[Event]]
"""The batches of one input."""


@dataclass(frozen=True)
class Outcome:
    """A case that ran on several providers.

    Attributes:
        case: What ran.
        seed: Seed of its input.
        settings: Settings that were drawn.
        runs: One per provider, in the order asked for.
    """

    case: Case
    seed: int
    settings: Mapping[str, str]
    runs: Sequence[Run]

    def assert_equal(self) -> None:
        """Fails with a readable difference unless every provider showed the same as the first."""
        first = self.runs[0]
        for other in self.runs[1:]:
            text = difference(first.records, other.records, (first.provider, other.provider))
            assert not text, f"{self}\n{text}"

    def assert_telling(self) -> None:
        """Fails if equal records would prove nothing: another provider ran, or there was no output or no state."""
        for run in self.runs:
            assert run.used_provider() == PROVIDERS[run.provider], str(self)
            for what in ("output", "state"):
                rows = sum(len(rows) for label, rows in run.records.items() if label.startswith(what))
                assert rows, f"{self}\nno row of {what} on {run.provider}"

    def __str__(self) -> str:
        pair = ",".join(run.provider for run in self.runs)
        return f"case {self.case.name!r}; repeat it with --seed {self.seed} --pair {pair}; settings {self.settings}"


def run_case(spark: SparkSession, case: Case, providers: Sequence[str], seed: int, folder: Path) -> Outcome:
    """Runs a case on each provider, all at the same time, with two restarts in the middle.

    Before the second restart the last commit is forgotten, so that one batch runs twice.

    Args:
        spark: The session.
        case: What to run.
        providers: Short names of the providers.
        seed: Decides the input, the drawn settings and where the restarts are.
        folder: An existing folder for input and checkpoints.
    """
    providers = case.providers or providers
    rng = Random(f"{case.name} {seed}")
    conf = random_settings(rng)
    streams = [random_batches(rng, case.shape) for _ in range(case.inputs)]
    restarts = sorted(rng.sample(range(1, case.shape.batches), 2))
    sources = [FileSource(folder / f"input-{number}", SCHEMA) for number in range(case.inputs)]
    runs = [Run(spark, case, provider, conf, folder / provider) for provider in providers]
    for begin, end in zip([0, *restarts], [*restarts, case.shape.batches], strict=True):
        if begin == restarts[1]:
            _each(runs, Run.forget_last_commit)
        _append(sources, streams, slice(begin, end))
        _run_all(runs, sources)
    _each(runs, lambda run: run.read_state())
    if case.history:
        _each(runs, lambda run: run.read_state(run.last_batch() // 2))
    return Outcome(case, seed, conf, runs)


def _append(sources: Iterable[FileSource], streams: Iterable[Stream], part: slice) -> None:
    for source, stream in zip(sources, streams, strict=True):
        for batch in stream[part]:
            source.append(batch)


def _run_all(runs: Iterable[Run], sources: Sequence[FileSource]) -> None:
    started = [(run, run.start(sources)) for run in runs]
    for run, query in started:
        run.finish(query)


def _each(runs: Sequence[Run], action: Callable[[Run], None]) -> None:
    """Does the same for every run at once: planning uses one processor only."""
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(action, runs))
