"""Sorted runs, and the pieces of segments that they consist of."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef
from keygroups.runs.extent import Extents, extents_of, one_behind_another
from keygroups.segment.block import Block
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

    @cached_property
    def extents(self) -> Extents:
        """Where the rows of each family lie, counted from the first row of these."""
        return extents_of(self.blocks())

    @cached_property
    def whole(self) -> Extents:
        """Where the rows of each family lie in the segment."""
        return self.extents if self.span.rows == self.segment.rows else extents_of(self.segment.blocks)

    def blocks(self) -> list[Block]:
        """The rows that count."""
        return list(self.span.of(self.segment.blocks))

    def part(self, span: Span) -> Piece:
        """Some of these rows, by their numbers in the segment. Unless these are all, it has to be durable."""
        if span == self.span:
            return self
        (file,) = self.files
        return Piece(self.segment, span, (file.part(span),))


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

    @cached_property
    def extents(self) -> Extents:
        """Where the rows of each family lie."""
        return one_behind_another(piece.extents for piece in self.pieces)

    @property
    def families(self) -> AbstractSet[int]:
        """Families that have rows here."""
        return self.extents.keys()

    def shape(self, families: AbstractSet[int]) -> tuple[tuple[str, Span], ...]:
        """Which rows of which segments those of some families are."""
        return tuple((piece.segment.id, span) for piece, span in self._cuts(self._bounds(families)))

    def only(self, families: AbstractSet[int]) -> Run | None:
        """The rows of some families; None if it has none. Unless these are all rows, it has to be durable."""
        return self._run(self._bounds(families))

    def without(self, families: AbstractSet[int]) -> Run | None:
        """The rows of all other families. See ``only``."""
        return self.only(self.families - families)

    def blocks(self) -> list[Block]:
        """All rows."""
        return [block for piece in self.pieces for block in piece.blocks()]

    def part(self, start: int, stop: int) -> Run | None:
        """Rows by their numbers; None if that is none. What is cut has to be durable."""
        return self._run([Span(start, stop)])

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

    def _run(self, bounds: Sequence[Span]) -> Run | None:
        pieces = tuple(piece.part(span) for piece, span in self._cuts(bounds))
        if len(pieces) == len(self.pieces) and all(map(operator.is_, pieces, self.pieces)):
            return self
        return Run(pieces) if pieces else None

    def _bounds(self, families: AbstractSet[int]) -> list[Span]:
        """Where the rows of some families lie; neighbours lie together."""
        bounds: list[Span] = []
        for start, stop, _ in (extent for family, extent in self.extents.items() if family in families):
            is_next = bool(bounds) and bounds[-1].stop == start
            bounds.append(Span(bounds.pop().start if is_next else start, stop))
        return bounds

    def _cuts(self, bounds: Sequence[Span]) -> Iterator[tuple[Piece, Span]]:
        """Pieces that have rows between bounds, and which, by their numbers in the segment."""
        for bound in bounds:
            at = 0
            for piece in self.pieces:
                low, high = max(bound.start - at, 0), min(bound.stop - at, piece.span.rows)
                if low < high:
                    yield piece, Span(piece.span.start + low, piece.span.start + high)
                at += piece.span.rows


def _precedes(block: Block, other: Block) -> bool:
    """Whether all rows of a block come before those of another: by family, locator and key."""
    end, start = (block.family, block.locator[-1]), (other.family, other.locator[0])
    return bool(end < start or (end == start and block.key[-1].as_py() < other.key[0].as_py()))
