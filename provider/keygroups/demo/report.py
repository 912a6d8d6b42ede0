"""The last page of the demo: figures, checks and folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keygroups.demo.progress import size
from keygroups.demo.run import Outcome
from keygroups.demo.tree import tree

_HEADER = (
    f"{'query':<10} {'batches':>7} {'rows in':>8} {'rows out':>8} {'rows/s':>8} {'peak state':>11} {'state rows':>11} "
    f"{'state bytes':>12}  check"
)


def report(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Render the results of the queries.

    Args:
        outcomes: One or more.

    Yields:
        Lines.
    """
    yield _HEADER
    yield from map(_figures, outcomes)
    yield "rows/s: median of the batches; peak state: most rows after a batch; state rows, bytes: after the last batch"
    yield from (f"{outcome.query.name}: {problem}" for outcome in outcomes for problem in outcome.problems)
    for outcome in outcomes:
        yield from ("", f"State of {outcome.query.name}: {outcome.state}", *tree(outcome.state, "  "))


def check(outcome: Outcome) -> str:
    """Render the check of one query: one line, and one more for each problem."""
    found, held = outcome.comparison, outcome.held_back
    verdict = "all equal" if found.ok else "NOT EQUAL"
    line = f"check: {found.found:,} rows of the stream, {found.expected:,} of the batch job, {verdict}"
    rest = f"; {held} row is still held back by the watermark: the sentinel" if held else ""
    return "\n  ".join([line + rest, *outcome.problems])


def _figures(outcome: Outcome) -> str:
    last, rows = outcome.batches[-1], sum(batch.rows for batch in outcome.batches)
    peak = max(batch.state_rows for batch in outcome.batches)
    return (
        f"{outcome.query.name:<10} {len(outcome.batches):>7} {rows:>8,} {outcome.comparison.found:>8,} "
        f"{outcome.rows_per_second:>8,.0f} {peak:>11,} {last.state_rows:>11,} {size(last.state_bytes):>12}  "
        f"{'MISMATCH' if outcome.problems else 'OK'}"
    )
