"""Plans: the runs that a session sees, newest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import groupby
from typing import TypeAlias

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef
from keygroups.runs.extent import Extents
from keygroups.runs.run import Piece, Run
from keygroups.segment.file import Segment

Plan: TypeAlias = tuple[Run, ...]
"""Runs, newest first; together with the overlay they are the state a session sees."""


def plan_of(pieces: Iterable[Piece]) -> Plan:
    """The plan of the pieces of files, as a manifest lists them; a piece without rows is left out."""
    runs: list[list[Piece]] = []
    for piece in pieces:
        if not runs or not piece.files[0].follows:
            runs.append([])
        runs[-1] += [piece] if piece.span.rows else []
    return tuple(Run(tuple(run)) for run in runs if run)


def batches_of(plan: Plan) -> list[Plan]:
    """The runs by the batch that made them, which has several if it spilled writes."""
    return [tuple(runs) for _, runs in groupby(plan, key=lambda run: run.version)]


def pieces_of(plan: Plan) -> Iterator[Piece]:
    """The pieces of a plan."""
    return (piece for run in plan for piece in run.pieces)


def runs_with(plan: Plan, family: int) -> list[int]:
    """Numbers of the runs that have rows of a family."""
    return [number for number, run in enumerate(plan) if family in run.families]


def depth_of(plan: Plan) -> tuple[int, int]:
    """How many runs a lookup visits at most, each by itself, and the runs of one batch as one."""
    families = frozenset().union(*(run.families for run in plan))
    views = [tuple(plan[number] for number in runs_with(plan, family)) for family in families]
    return max(map(len, views), default=0), max((len(batches_of(view)) for view in views), default=0)


def advance(plan: Plan, changes: Sequence[Piece], catalog: Catalog) -> Plan:
    """The plan after a commit.

    Args:
        plan: the plan that the session was built on.
        changes: the rows that the session changed, newest first.
        catalog: of the new version.
    """
    changed = tuple(Run((change,)) for change in changes if change.span.rows)
    extents = [run.extents for run in changed]
    empty = frozenset(family for family, keys in _replaced(extents, catalog).items() if not keys)
    return (*_without(changed, empty), *below(plan, extents, catalog))


def below(plan: Plan, changed: Sequence[Extents], catalog: Catalog) -> Plan:
    """What a version needs of the plan that it was built on.

    Nothing of families of which every key was written or removed, or that do not exist any more.

    Args:
        plan: the plan that the session was built on.
        changed: of what the session changed.
        catalog: of the new version.
    """
    families = frozenset().union(*(run.families for run in plan))
    return _without(plan, _replaced(changed, catalog).keys() | (families - catalog.ids))


def _replaced(changed: Sequence[Extents], catalog: Catalog) -> dict[int, int]:
    """Families of which a batch has all rows, with their keys; if their rows are in several runs, nobody knows."""
    keys = {family.id: family.num_keys for family in catalog.families}
    found = [(family, extent.size) for extents in changed for family, extent in extents.items()]
    times = Counter(family for family, _ in found)
    return {
        family: keys[family]
        for family, size in found
        if times[family] == 1 and not size.appended and size.rows - size.tombstones == keys.get(family, -1)
    }


def _without(plan: Plan, families: AbstractSet[int]) -> Plan:
    """The plan without rows of some families, except where what is not uploaded yet would have to be cut."""
    left = (run.without(families) if run.is_durable or run.families <= families else run for run in plan)
    return tuple(run for run in left if run is not None)


def place_of(plan: Plan, part: Plan, families: AbstractSet[int]) -> list[int] | None:
    """Numbers of the runs of a plan that have the rows of these, next to each other among those of some families.

    Args:
        plan: of a version.
        part: runs with rows of the families alone, in whatever files.
        families: the families.

    Returns:
        None if the plan does not have them so.
    """
    found = [(number, run.shape(families)) for number, run in enumerate(plan) if not families.isdisjoint(run.families)]
    shapes, wanted = [shape for _, shape in found], [run.shape(families) for run in part]
    starts = range(len(found) - len(part) + 1)
    start = next((start for start in starts if shapes[start : start + len(part)] == wanted), None)
    return None if start is None else [number for number, _ in found[start : start + len(part)]]


def substitute(plan: Plan, covered: Plan, families: AbstractSet[int], merged: Callable[[Plan], Plan]) -> Plan:
    """The plan with what is made of rows of some families in the place of the oldest of these, if it has them.

    Args:
        plan: of a version.
        covered: the rows. The plan may have other files for them: an upload may have ended meanwhile.
        families: those of the rows.
        merged: gets them as the plan has them.
    """
    place = place_of(plan, covered, families)
    if place is None or not all(plan[number].is_durable or plan[number].families <= families for number in place):
        return plan
    parts = [part for number in place if (part := plan[number].only(families)) is not None]
    after = merged(tuple(parts))
    older = plan[place[-1] + 1 :]
    newer = (run.without(families) if number in place else run for number, run in enumerate(plan[: place[-1] + 1]))
    return (*(run for run in newer if run is not None), *after, *older)


def uploaded(plan: Plan, segment: Segment, ref: FileRef) -> Plan:
    """The plan with a file in place of those that a segment was merged from."""
    return tuple(Run(tuple(_uploaded(piece, segment, ref) for piece in run.pieces)) for run in plan)


def durable_files(plan: Plan) -> tuple[FileRef, ...]:
    """The files of a plan, newest first."""
    return tuple(ref for run in plan for ref in run.files())


def _uploaded(piece: Piece, segment: Segment, ref: FileRef) -> Piece:
    if piece.segment is not segment or piece.is_durable:
        return piece
    return replace(piece, files=(ref.part(piece.span),), made_with=None)
