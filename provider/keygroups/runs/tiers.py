"""Which runs of a column family to merge: tiers of similar size keep write amplification logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from keygroups.runs.extent import Size, total

MOST_TIERS: Final = 3
"""Times ``fanout``: the runs that a family may have. A get asks them all; equal batches reach it after 511."""
SPARED: Final = 4
"""Times the smallest of the newest runs: superseded bytes that do not justify a merge, however few live."""


def select_runs(sizes: Sequence[Size], keys: int, fanout: int) -> tuple[int, int]:
    """Choose adjacent runs to merge.

    Args:
        sizes: of the runs of a family, newest first.
        keys: number of its keys.
        fanout: runs of similar size that make a merge.

    Returns:
        Start and end (exclusive) in ``sizes``; equal if no merge is due.
    """
    nbytes = [size.nbytes for size in sizes]
    dead = superseded_bytes(sizes, keys)
    if len(sizes) > 1 and dead > sum(nbytes) - dead + SPARED * min(nbytes[:fanout]):
        return 0, len(sizes)
    for start in range(len(sizes) - fanout + 1):
        stop = _tier_end(nbytes, start)
        if stop - start >= fanout:
            return start, stop
    if len(sizes) > MOST_TIERS * fanout:
        start = min(range(len(sizes) - fanout + 1), key=lambda start: sum(nbytes[start : start + fanout]))
        return start, start + fanout
    return 0, 0


def superseded_bytes(sizes: Sequence[Size], keys: int) -> int:
    """Return about how many bytes a merge of all runs of a family would drop.

    The rows are counted, and their bytes estimated: an overwritten value is as large as those that came later, and a
    removed one as large as any. Appended values live.

    Args:
        sizes: of the runs, newest first.
        keys: number of keys of the family.
    """
    every, newer = total(sizes), total(sizes[:-1])
    superseded = max(every.rows - every.tombstones - every.appended - keys, 0)
    removed = min(superseded, every.tombstones)
    values = removed * _mean_value(every) + (superseded - removed) * _mean_value(newer)
    keys_of_rows = every.keys / max(every.rows, 1) * (superseded + every.tombstones)
    return min(round(values + keys_of_rows), every.nbytes)


def _mean_value(size: Size) -> float:
    return size.values / max(size.rows - size.tombstones, 1)


def _tier_end(nbytes: Sequence[int], start: int) -> int:
    """Return the end of the tier from ``start``: no run in it is larger than twice the largest of the newer ones.

    What a merge has made stays out of its successor's tier, so equal batches are merged once for each power of
    ``fanout``: 2.9 times over 200 batches. Against the sum of the newer ones it would be 4.6 times.
    """
    largest, stop = nbytes[start], start + 1
    while stop < len(nbytes) and nbytes[stop] <= 2 * largest:
        largest = max(largest, nbytes[stop])
        stop += 1
    return stop
