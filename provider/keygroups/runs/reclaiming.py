"""Which rows to merge so that files have at most twice the bytes that live.

A file stays as long as any of its rows counts. So rows that were merged take space beside rows of other families that
were not, and superseded rows take space until all runs of their family are merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from keygroups.runs.extent import Extents, Size, total
from keygroups.runs.plan import Plan, pieces_of, runs_with
from keygroups.runs.run import Run
from keygroups.runs.tiers import SPARED, superseded_bytes

LEAST_GAIN: Final = 0.5
"""Bytes that a merge frees for each that it writes. If the files have twice what lives, some merge frees as many."""


class _Found(NamedTuple):
    """A merge, and what it frees for each byte that it writes."""

    gain: float
    numbers: tuple[int, ...]
    families: frozenset[int]


def reclaimable(plan: Plan, keys: Mapping[int, int], fanout: int) -> tuple[tuple[int, ...], frozenset[int]] | None:
    """Return the merge that frees most for what it writes, if the files have more than twice the bytes that live.

    Args:
        plan: the runs of a version.
        keys: of each family that has rows the number of its keys.
        fanout: how many of the newest runs may be of single batches.

    Returns:
        Numbers of runs, and the families whose rows in these are to be merged; None if nothing is due.
    """
    sizes = {family: [plan[number].extents[family].size for number in runs_with(plan, family)] for family in keys}
    dead = {family: superseded_bytes(found, keys[family]) for family, found in sizes.items()}
    wasted = _wasted(plan)
    live = sum(total(found).nbytes for found in sizes.values()) - sum(dead.values())
    spared = SPARED * min((_nbytes(run.extents) for run in plan[:fanout]), default=0)
    if sum(dead.values()) + sum(wasted.values()) <= live + spared:
        return None
    whole = (_all_runs(plan, family, dead[family], total(found)) for family, found in sizes.items())
    found = [*(one for one in whole if len(one.numbers) > 1), *_rewritten(plan, wasted)]
    best = max(found, key=lambda one: one.gain)
    return (best.numbers, best.families) if best.gain > LEAST_GAIN else None


def _all_runs(plan: Plan, family: int, dead: int, size: Size) -> _Found:
    """Return the merge of all runs of a family."""
    return _Found(dead / max(size.nbytes - dead, 1), tuple(runs_with(plan, family)), frozenset({family}))


def _rewritten(plan: Plan, wasted: Mapping[str, int]) -> Iterator[_Found]:
    """Yield for each run the merge after which it does not need the segment of which most is wasted."""
    for number, run in enumerate(plan):
        segment = max((piece.segment.id for piece in run.pieces), key=lambda id_: wasted[id_])
        families = _families_in(run, segment)
        written = sum(run.extents[family].size.nbytes for family in families)
        yield _Found(wasted[segment] / max(written, 1), (number,), families)


def _families_in(run: Run, segment: str) -> frozenset[int]:
    return frozenset(family for piece in run.pieces if piece.segment.id == segment for family in piece.extents)


def _wasted(plan: Plan) -> dict[str, int]:
    """Return the bytes of each segment whose rows do not count."""
    wasted: dict[str, int] = {}
    for piece in pieces_of(plan):
        id_ = piece.segment.id
        wasted[id_] = wasted.get(id_, _nbytes(piece.whole)) - _nbytes(piece.extents)
    return wasted


def _nbytes(extents: Extents) -> int:
    return sum(extent.size.nbytes for extent in extents.values())
