"""A merge of adjacent runs in pieces, from the first row to the last; each piece is uploaded by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef
from keygroups.runs.local import LocalRuns
from keygroups.runs.plan import Plan, pieces_of, place_of, substitute
from keygroups.runs.run import Piece, Run
from keygroups.segment.file import Segment
from keygroups.segment.merge import cut_after
from keygroups.segment.span import END, Position, Span, rows_before

BLOCKS_PER_PIECE: Final = 16
"""Of input, about: with blocks of 8 MB below a second of work, and 16 pieces of a partition of 2 GB."""


@dataclass(frozen=True)
class Merge:
    """A merge under way.

    Attributes:
        runs: as plans have them, newest first: what is still to be merged. The oldest begins with what is merged so
            far, which lies before all other rows.
        families: those of the rows.
        bottom: whether no older run lies below these; tombstones are then dropped.
        catalog: the column families of the version.
        merged: rows that are merged so far.
    """

    runs: Plan
    families: frozenset[int]
    bottom: bool
    catalog: Catalog
    merged: int = 0

    def resumed(self) -> Merge:
        """Return the merge that a process before this one has begun with these runs, as it goes on."""
        return replace(self, merged=_merged_before(self.runs))

    @property
    def inputs(self) -> Plan:
        """What is still to be merged."""
        *newer, oldest = self.runs
        left = oldest.part(self.merged, oldest.rows)
        return (*newer, left) if left is not None else tuple(newer)

    @property
    def nbytes(self) -> int:
        """Bytes of what is still to be merged."""
        return sum(extent.size.nbytes for run in self.inputs for extent in run.extents.values())

    def is_in(self, plan: Plan) -> bool:
        """Whether a plan has its runs."""
        return place_of(plan, self.runs, self.families) is not None

    def step(self, local: LocalRuns, piece_bytes: int) -> Step:
        """Merge the next rows, about so many bytes of input, into a segment. Raises CapacityError."""
        inputs = [run.blocks() for run in self.inputs]
        end = cut_after(inputs, piece_bytes)
        taken = [Span(0, rows_before(blocks, end)) for blocks in inputs]
        parts = [list(span.of(blocks)) for span, blocks in zip(taken, inputs, strict=True)]
        segment = local.merge(parts, bottom=self.bottom)
        for piece in pieces_of(self.inputs):
            piece.segment.release_pages()
        return Step(self, segment, tuple(span.rows for span in taken), is_last=end == END)


@dataclass(frozen=True)
class Step:
    """A piece that was merged.

    Attributes:
        merge: of which it is one.
        segment: the rows.
        taken: how many rows of each input.
        is_last: whether nothing is left.
        file: with the same rows in the checkpoint; None if it is still to be uploaded.
    """

    merge: Merge
    segment: Segment
    taken: tuple[int, ...]
    is_last: bool
    file: FileRef | None = None

    def runs_after(self, before: Plan) -> Plan:
        """The merge's runs with this piece in place of its rows in the inputs.

        Args:
            before: the runs as a plan has them, which may have other files than when the merge began. A version whose
                parent had left memory before these were uploaded has others: it keeps them, since what a piece covers
                is counted in rows of files.
        """
        *newer, oldest = before
        done = oldest.part(0, self.merge.merged)
        left = oldest.part(self.merge.merged, oldest.rows)
        inputs = [*newer, left] if left is not None else newer
        if not all(run.is_durable for run in inputs):
            return before
        pairs = list(zip(inputs, self.taken, strict=True))
        pieces = done.pieces if done is not None else ()
        if self.segment.rows:
            files = (ref for run, rows in pairs if (part := run.part(0, rows)) is not None for ref in part.files())
            pieces = (*pieces, self._piece(tuple(files)))
        rest = [part for run, rows in pairs if (part := run.part(rows, run.rows)) is not None]
        last = rest.pop().pieces if rest else ()
        return (*rest, *((Run((*pieces, *last)),) if pieces or last else ()))

    def substituted(self, plan: Plan) -> Plan:
        """Return the plan with this piece in the place of the rows that it covers, if it has them."""
        return substitute(plan, self.merge.runs, self.merge.families, self.runs_after)

    def next(self) -> Merge | None:
        """The merge after this piece; None if it was the last."""
        if self.is_last:
            return None
        merged = self.merge.merged + self.segment.rows
        return replace(self.merge, runs=self.runs_after(self.merge.runs), merged=merged)

    def _piece(self, inputs: tuple[FileRef, ...]) -> Piece:
        span = Span(0, self.segment.rows)
        if self.file is not None:
            return Piece(self.segment, span, (self.file,))
        return Piece(self.segment, span, inputs, self.merge.catalog)


def is_begun(run: Run, family: int) -> bool:
    """Return whether the first rows of a family are missing: they were merged with those of other runs."""
    piece = next(piece for piece in run.pieces if family in piece.extents)
    return piece.span.start + piece.extents[family].start > piece.whole[family].start


def _merged_before(runs: Plan) -> int:
    """Return how many rows of the oldest run lie before all others, in whole files that a merge has left so."""
    *newer, oldest = runs
    if not newer:
        return 0
    starts = [run.blocks()[0] for run in newer]
    first = min(Position(block.family, int(block.locator[0])) for block in starts)
    rows = 0
    for piece in oldest.pieces:
        blocks = piece.blocks()
        is_whole = all(extent.size.rows == piece.whole[family].size.rows for family, extent in piece.extents.items())
        is_merged = piece.is_durable and piece.files[0].name.kind == "segment"
        if not (is_whole and is_merged) or rows_before(blocks[-1:], first) < len(blocks[-1]):
            break
        rows += piece.span.rows
    return rows
