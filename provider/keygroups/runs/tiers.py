"""Which runs to merge: tiers of similar size keep write amplification logarithmic; a ratio bounds obsolete rows."""

from __future__ import annotations

from collections.abc import Sequence

GARBAGE_RATIO = 2.0
"""Rows per key above which all runs are merged: a batch that rewrites most keys costs a merge every other batch."""
THOROUGH_RATIO = 1.25
"""The same in Spark's maintenance: at 44 bytes of memory for a row of 32, memory stays below twice the rows' bytes."""
MOST_TIERS = 3
"""Times ``fanout``: the runs that a store may have. A get asks them all; equal batches reach it after 511."""
SMALL = 65_536
"""Obsolete rows up to this number do not justify a merge."""


def select_runs(rows: Sequence[int], num_keys: int, fanout: int, *, thorough: bool) -> tuple[int, int]:
    """Choose adjacent runs to merge.

    Args:
        rows: rows of each run, newest first.
        num_keys: keys of the version.
        fanout: runs of similar size that make a merge.
        thorough: bound obsolete rows to a quarter of the keys rather than to their number.

    Returns:
        Start and end (exclusive) in ``rows``; equal if no merge is due.
    """
    ratio = THOROUGH_RATIO if thorough else GARBAGE_RATIO
    if len(rows) > 1 and sum(rows) > ratio * num_keys + SMALL:
        return 0, len(rows)
    for start in range(len(rows) - fanout + 1):
        stop = _tier_end(rows, start)
        if stop - start >= fanout:
            return start, stop
    if len(rows) > MOST_TIERS * fanout:
        start = min(range(len(rows) - fanout + 1), key=lambda start: sum(rows[start : start + fanout]))
        return start, start + fanout
    return 0, 0


def _tier_end(rows: Sequence[int], start: int) -> int:
    """The end of the tier from ``start``: no run in it is larger than twice the largest of the newer ones.

    What a merge has made stays out of its successor's tier, so equal batches are merged once for each power of
    ``fanout``: 2.9 times over 200 batches. Against the sum of the newer ones it would be 4.6 times.
    """
    largest, stop = rows[start], start + 1
    while stop < len(rows) and rows[stop] <= 2 * largest:
        largest = max(largest, rows[stop])
        stop += 1
    return stop
