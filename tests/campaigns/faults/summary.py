"""docs/faults.md, made from the record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from campaigns.faults.kinds import FAULTS
from campaigns.faults.queries import QUERIES
from campaigns.faults.record import Entry
from campaigns.faults.trial import EQUAL
from support.engine_files import engine_commit
from support.spark import ROOT

TABLE = ROOT / "docs" / "faults.md"
HEAD = """# Faults, injected

Written by `make faults ARGS=--full` from [its record](../tests/campaigns/faults/record.jsonl), which has a line for
each run, wrong ones too. There is a section for each of the two newest commits that changed the shim or the store
process and have runs.

A run is a query over some batches, disturbed at random moments until its input ends, and started again when it
fails. The rows of every attempt at every batch and the state of every operator at the end are compared, as multisets,
with a run of Spark's RocksDB provider that nothing disturbs; `keyed`, a function of `key_by`, runs on Keygroups only,
and so does its undisturbed run. `texts` has its values in local files alone, and most of its keys in mapped copies of
their own. A fault is effective only if it hit something.
"""
OLDER = """
**These runs are older than the code**, which is that of commit {now} when this page was written.
"""
SECTION = """
## Commit {commit}{dirty}

{first} to {last}, {batches} batches a run. Checked out, oldest first: {trees}. These have the same shim and store
process except for keyed functions.

| fault | effective when | injected | effective | runs | restarts | attempts compared | rows and state |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
BY_QUERY = "\nEffective faults by query; the rows are the faults above, in the same order:\n\n"


def write(entries: Sequence[Entry], path: Path = TABLE) -> None:
    """Write it from the runs of the newest commits of the engine that have any."""
    if entries:
        path.write_text(table(entries))


def table(entries: Sequence[Entry]) -> str:
    """The page."""
    engines = list(dict.fromkeys(entry.engine for entry in reversed(entries)))[:2]
    now = engine_commit(len(engines[0]))
    sections = (_section([entry for entry in entries if entry.engine == engine]) for engine in engines)
    return HEAD + ("" if now in engines else OLDER.format(now=now)) + "".join(sections)


def _section(rows: Sequence[Entry]) -> str:
    head = SECTION.format(
        commit=rows[0].engine,
        dirty=" (with changes that were not committed)" if any(e.dirty for e in rows) else "",
        first=rows[0].start,
        last=rows[-1].end,
        trees=", ".join(dict.fromkeys(e.commit[:10] for e in rows)),
        batches=" or ".join(str(n) for n in sorted({e.batches for e in rows})),
    )
    return "".join([head, *_faults(rows), BY_QUERY, *_matrix(rows), *_wrong(rows)])


def _faults(rows: Sequence[Entry]) -> Iterator[str]:
    for name, fault in FAULTS.items():
        if runs := [e for e in rows if e.fault == name]:
            sums = [sum(numbers) for numbers in zip(*map(_numbers, runs), strict=True)]
            injected, effective, restarts, attempts = sums
            wrong = sum(e.result != EQUAL for e in runs)
            result = f"**{wrong} runs wrong**" if wrong else "equal"
            cells = [fault.title, fault.effective, injected, effective, len(runs), restarts, attempts, result]
            yield _row(cells)


def _numbers(run: Entry) -> tuple[int, int, int, int]:
    return run.injected, run.effective, run.restarts, run.attempts


def _matrix(rows: Sequence[Entry]) -> Iterator[str]:
    yield _row(["fault", *QUERIES])
    yield _row(["---"] * (1 + len(QUERIES)))
    for name in FAULTS:
        if runs := [e for e in rows if e.fault == name]:
            yield _row([name, *(sum(e.effective for e in runs if e.query == query) or "" for query in QUERIES)])


def _wrong(rows: Sequence[Entry]) -> Iterator[str]:
    wrong = [e for e in rows if e.result != EQUAL]
    if wrong:
        yield '\nWrong runs; `make faults ARGS="--only FAULT --query QUERY --seed SEED --times 1"` repeats one:\n\n'
        yield _row(["fault", "query", "seed", "end", "what differed"]) + _row(["---"] * 5)
        for e in wrong:
            yield _row([e.fault, e.query, e.seed, e.end, e.result.splitlines()[0]])


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"
