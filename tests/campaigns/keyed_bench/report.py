"""Tables of a run, and docs/benchmarks-keyed.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

from campaigns.bench.results import compact
from campaigns.keyed_bench.systems import (
    BATCH,
    COUNTS,
    FLOOR,
    OURS,
    SMALL,
    SMALL_SPARK,
    SPARK,
    STATES,
    WARM_FILLS,
    Case,
)
from support.spark import ROOT

PAGE: Final = ROOT / "docs" / "benchmarks-keyed.md"
RESULTS: Final = Path(__file__).parent / "results"
BEGIN, END = "<!-- keyed-bench:begin -->", "<!-- keyed-bench:end -->"


def rate(found: dict[str, Any], case: Case) -> float:
    """Give the rows a second of one run: of a query of Spark the median over its batches."""
    if "rates" in found:
        return float(found["rates"][0])
    return _median(found, slice(case.warm, None))


def new_rate(found: dict[str, Any], case: Case) -> float:
    """Give the same of the batches of new keys."""
    return _median(found, slice(WARM_FILLS, case.input.fills if case.input else 0))


def _median(found: dict[str, Any], counted: slice) -> float:
    rates = [rows / seconds for rows, seconds in zip(found["rows"], found["seconds"], strict=True)]
    return float(median(rates[counted]))


def lines(run: dict[str, Any]) -> Iterator[str]:
    """Give the tables and the targets as Markdown."""
    rates = {case.name: _rates(run, case) for case in (*COUNTS, *STATES)}
    yield f"- commit {run['commit']}, {run['started']} to {run['ended']}"
    yield f"- {run['machine']}; Spark 4.3, 2 partitions, 2 cores"
    yield "- each figure is the median of the runs, with the smallest and the largest"
    ours = median(rates[OURS]) if rates[OURS] else 0
    yield from ("", "## A count per key, 100,000 keys", "", "| system | rows/s | process is |", "| --- | ---: | ---: |")
    for case in COUNTS:
        if found := rates[case.name]:
            yield f"| {case.name} | {_spread(found)} | {ours / median(found):.2f}x |"
    yield from ("", "## Other states, Keygroups", "", "| what a row does | rows/s |", "| --- | ---: |")
    for case in STATES:
        if found := rates[case.name]:
            yield f"| {case.name} | {_spread(found)} |"
            if case.new:
                yield f"| {case.new} | {_spread([new_rate(of, case) for of in _records(run, case)])} |"
    yield from _limits(run)
    yield from ("", "## Targets", "")
    yield from _targets({name: median(found) for name, found in rates.items() if found})
    yield from (f"- FAILED: {failed['case']}" for failed in run["failed"])


def publish(run: dict[str, Any]) -> None:
    """Keep a full run in the place of the one before, and write the page."""
    RESULTS.mkdir(exist_ok=True)
    for old in RESULTS.glob("*.json"):
        old.unlink()
    path = RESULTS / f"{run['ended'][:10]}-{run['commit']}.json"
    path.write_text(compact(run), encoding="utf-8")
    before = PAGE.read_text(encoding="utf-8")
    head, tail = before[: before.index(BEGIN)], before[before.index(END) :]
    PAGE.write_text(f"{head}{BEGIN}\n" + "\n".join(lines(run)) + f"\n{tail}", encoding="utf-8")


def _rates(run: dict[str, Any], case: Case) -> list[float]:
    return [rate(record, case) for record in _records(run, case)]


def _records(run: dict[str, Any], case: Case) -> list[dict[str, Any]]:
    return [record for record in run["records"] if record["case"] == case.name]


def _limits(run: dict[str, Any]) -> Iterator[str]:
    """Say what limited the memory, and how far the disk read ahead."""
    found = {(record["limited"], record["read_ahead_kb"]) for record in run["records"] if "limited" in record}
    for kind, ahead in sorted(found):
        yield from ("", f"Limit of memory: {kind}; the disk's read-ahead: {ahead} KB.")


def _spread(rates: list[float]) -> str:
    return f"{median(rates):,.0f}" + (f" ({min(rates):,.0f} to {max(rates):,.0f})" if len(rates) > 1 else "")


def _targets(rates: dict[str, float]) -> Iterator[str]:
    def best(part: str) -> float:
        return max((found for name, found in rates.items() if part in name), default=0)

    ours = rates.get(OURS, 0)
    yield _target("process: at least 200,000 rows/s", ours, 200_000)
    yield _target("process: 20 times transformWithState", ours, 20 * rates.get(SPARK, 0))
    small = rates.get(SMALL, 0)
    yield _target("process, 100,000 rows a batch: 20 times transformWithState", small, 20 * rates.get(SMALL_SPARK, 0))
    yield _target("process: 10 times PyFlink's best", ours, 10 * best("PyFlink"))
    yield _target("process: 5 times bytewax with recovery", ours, 5 * best("with its recovery"))
    yield _target("process: ahead of bytewax without recovery", ours, best("without its recovery"))
    yield _target(
        "process_batch: at most 1.5 times the time without state", rates.get(BATCH, 0), rates.get(FLOOR, 0) / 1.5
    )


def _target(what: str, found: float, least: float) -> str:
    if not found or not least:
        return f"- not measured: {what}"
    return f"- {'met' if found >= least else 'MISSED'}: {what} ({found:,.0f} rows/s; the target is {least:,.0f})"
