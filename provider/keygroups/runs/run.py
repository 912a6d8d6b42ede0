"""Runs and plans: the working state that a session sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TypeAlias

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef
from keygroups.segment.block import Block, has_appends
from keygroups.segment.file import Segment
from keygroups.segment.span import Span


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of a local segment and the durable files that hold the same rows.

    Attributes:
        segment: the rows, mapped.
        span: which of its rows count.
        files: newest first. One file with the rows of the segment in their order, or, of a segment that is not uploaded
            yet, those that its rows are from: of a merged one those it was merged from, of the rows of a file that
            pass its filter that file.
        made_with: of a segment that is not uploaded yet, the column families that it was made with.
    """

    segment: Segment
    span: Span
    files: tuple[FileRef, ...]
    made_with: Catalog | None = None

    @staticmethod
    def restored(segment: Segment, file: FileRef, catalog: Catalog) -> Piece:
        """What was restored of a file, with the column families of a catalog; see ``FileRef.restored``."""
        if file.key_groups is None:
            return Piece(segment, file.counted, (file,))
        return Piece(segment, Span(0, segment.rows), (file,), catalog)

    @property
    def is_durable(self) -> bool:
        """Whether it is one file with the rows of the segment."""
        return self.made_with is None

    @property
    def is_one_file(self) -> bool:
        """Whether one reference stands for just these rows."""
        return self.is_durable or self.files[0].key_groups is not None

    def is_restored_of(self, file: FileRef) -> bool:
        """Whether its segment is what would be restored of a file."""
        return self.files[0].path == file.path and self.is_one_file and self.files[0].restored == file.restored

    def has_families_of(self, catalog: Catalog) -> bool:
        """Whether it was made with these column families, or is a file as it is, whatever families it has."""
        return self.made_with is None or self.made_with.ids == catalog.ids

    @property
    def version(self) -> int:
        """The last version with a row of these."""
        return max(ref.name.version for ref in self.files)

    def blocks(self) -> list[Block]:
        """The rows that count."""
        return list(self.span.of(self.segment.blocks))

    def part(self, start: int, stop: int) -> Piece | None:
        """Some of these rows, counted from the first of them; None if that is none. It has to be durable."""
        span = Span(self.span.start + start, self.span.start + stop)
        (file,) = self.files
        return Piece(self.segment, span, (file.part(span),)) if span.rows else None


@dataclass(frozen=True, eq=False)
class Run:
    """Rows in one order, of which no key comes twice.

    Attributes:
        pieces: one behind another.
    """

    pieces: tuple[Piece, ...]

    @property
    def rows(self) -> int:
        """Number of rows, tombstones included."""
        return sum(piece.span.rows for piece in self.pieces)

    @property
    def is_durable(self) -> bool:
        """Whether each piece is a file."""
        return all(piece.is_durable for piece in self.pieces)

    @property
    def version(self) -> int:
        """The last version with a row of these."""
        return max(piece.version for piece in self.pieces)

    @property
    def shape(self) -> tuple[tuple[str, Span], ...]:
        """Which rows of which segments these are."""
        return tuple((piece.segment.id, piece.span) for piece in self.pieces)

    def blocks(self) -> list[Block]:
        """All rows."""
        return [block for piece in self.pieces for block in piece.blocks()]

    def part(self, start: int, stop: int) -> Run | None:
        """Some of the rows of a durable run; None if that is none."""
        pieces, at = [], 0
        for piece in self.pieces:
            low, high = max(start - at, 0), min(stop - at, piece.span.rows)
            if low < high and (part := piece.part(low, high)) is not None:
                pieces.append(part)
            at += piece.span.rows
        return Run(tuple(pieces)) if pieces else None

    def files(self) -> Iterator[FileRef]:
        """The durable files; where they may have the same keys, newer ones come first."""
        before: Piece | None = None
        for piece in self.pieces:
            follows = before is not None and before.is_one_file and piece.is_one_file
            yield from (ref.following(follows=follows) for ref in piece.files)
            before = piece

    def is_in_order(self) -> bool:
        """Whether each piece lies behind the one before."""
        ends = [(piece.blocks()[0], piece.blocks()[-1]) for piece in self.pieces]
        return all(_precedes(left[1], right[0]) for left, right in pairwise(ends))


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


def advance(plan: Plan, changes: Sequence[Piece], catalog: Catalog) -> Plan:
    """The plan after a commit.

    Args:
        plan: the plan that the session was built on.
        changes: the rows that the session changed, newest first.
        catalog: of the new version.
    """
    changed = tuple(Run((change,)) for change in changes if change.span.rows)
    if len(changed) <= 1 and _has_all_keys([block for run in changed for block in run.blocks()], catalog):
        return changed if catalog.num_keys else ()  # every key was written or removed: no older run is needed
    return (*changed, *plan)


def _has_all_keys(blocks: Sequence[Block], catalog: Catalog) -> bool:
    """Whether rows, of which no key comes twice, are all that a version has, and the removals of others."""
    if any(has_appends(block) or block.family not in catalog.ids for block in blocks):
        return False
    return sum(len(block) - int(block.value.null_count) for block in blocks) == catalog.num_keys


def place_of(plan: Plan, part: Plan) -> slice | None:
    """Where a plan has the rows of these runs next to each other, in whatever files; None if it does not."""
    shapes, wanted = [run.shape for run in plan], [run.shape for run in part]
    starts = range(len(plan) - len(part) + 1)
    start = next((start for start in starts if shapes[start : start + len(part)] == wanted), None)
    return None if start is None else slice(start, start + len(part))


def substitute(plan: Plan, covered: Plan, merged: Callable[[Plan], Plan]) -> Plan:
    """The plan with what is made of some of its runs in their place, if it has them.

    Args:
        plan: of a version.
        covered: the runs. The plan may have other files for them: an upload may have ended meanwhile.
        merged: gets them as the plan has them.
    """
    place = place_of(plan, covered)
    return plan if place is None else (*plan[: place.start], *merged(plan[place]), *plan[place.stop :])


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


def _precedes(block: Block, other: Block) -> bool:
    """Whether all rows of a block come before those of another: by family, locator and key."""
    end, start = (block.family, block.locator[-1]), (other.family, other.locator[0])
    return bool(end < start or (end == start and block.key[-1].as_py() < other.key[0].as_py()))
