"""Which runs to merge: tiers of similar size, so write amplification stays logarithmic, and a bound on garbage."""

from __future__ import annotations

from collections.abc import Sequence

GARBAGE_RATIO = 2.0
"""Rows per key above which all runs are merged: a batch that rewrites most keys costs a merge every other batch."""
THOROUGH_RATIO = 1.25
"""The same in Spark's maintenance: by 44 bytes a row of 32 that keeps memory under twice the rows' own bytes."""
SMALL = 65_536
"""Rows below which garbage costs less than looking at it."""


def select_runs(rows: Sequence[int], num_keys: int, fanout: int, *, thorough: bool) -> tuple[int, int]:
    """Choose neighbouring runs to merge.

    Args:
        rows: rows of each run, newest first.
        num_keys: keys that live in them.
        fanout: runs of similar size that make a merge.
        thorough: bound garbage to a quarter of the living rows rather than to all of them.

    Returns:
        Start and end (exclusive) in ``rows``; equal if nothing is to be done.
    """
    ratio = THOROUGH_RATIO if thorough else GARBAGE_RATIO
    if len(rows) > 1 and sum(rows) > ratio * num_keys + SMALL:
        return 0, len(rows)
    for start in range(len(rows) - fanout + 1):
        stop = _tier_end(rows, start)
        if stop - start >= fanout:
            return start, stop
    return 0, 0


def _tier_end(rows: Sequence[int], start: int) -> int:
    """The end of the tier from ``start``: each next run is no larger than twice those before it together."""
    total, stop = rows[start], start + 1
    while stop < len(rows) and rows[stop] <= 2 * total:
        total += rows[stop]
        stop += 1
    return stop
